/// One event of a stream of server-sent events (WHATWG HTML, 9.2), as a browser's `EventSource` would dispatch it.
public struct ServerSentEvent: Sendable, Hashable, CustomStringConvertible {
    /// The type of the event; "message" if the server named none.
    public var type: String
    /// The lines of data, joined by line feeds.
    public var data: String
    /// The identifier of the last event that had one, this one or an earlier one, or "". A new connection continues
    /// after it.
    public var lastEventID: String

    /// An event, for a test.
    public init(type: String = "message", data: String, lastEventID: String = "") {
        self.type = type
        self.data = data
        self.lastEventID = lastEventID
    }

    /// The data as JSON; nil when it is not JSON.
    public var json: JSON? { try? JSON(parsing: data) }

    public var description: String {
        "\(printable(type))\(lastEventID.isEmpty ? "" : " \(quoted(lastEventID))"): \(quoted(data))"
    }
}
