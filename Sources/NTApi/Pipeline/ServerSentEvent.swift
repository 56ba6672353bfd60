/// One event of a stream of server-sent events (WHATWG HTML, 9.2), as a browser's `EventSource` would dispatch it.
public struct ServerSentEvent: Sendable, Hashable, CustomStringConvertible {
    /// What kind of event it is; "message" where the server did not say.
    public var type: String
    /// Its lines of data, joined by line feeds.
    public var data: String
    /// The identifier of the last event that had one, this or an earlier one: where a new connection goes on. Or "".
    public var lastEventID: String

    public init(type: String = "message", data: String, lastEventID: String = "") {
        self.type = type
        self.data = data
        self.lastEventID = lastEventID
    }

    /// The data as JSON; nil when it is none.
    public var json: JSON? { try? JSON(parsing: data) }

    public var description: String {
        "\(type)\(lastEventID.isEmpty ? "" : " \(quoted(lastEventID))"): \(quoted(data))"
    }
}
