/// Records what a client and its servers say to each other, to be given again by a ``Stub``.
///
///     let recorder = Recorder(path: "Tests/find.json")
///     client.recorder = recorder
///     _ = try await client.send("find", args: [.url("q", "London")])
///     try recorder.save()
///
/// One entry for each exchange, redirects and attempts too, so that a replay takes the same way. Secrets do not get into the
/// file: Authorization, the values of cookies and of headers with secret names, what args marked as secret, and what has a
/// secret name in a query, a form, the parts of a multipart body or JSON, in answers too. What stands elsewhere, in text say,
/// is not found: look at the file before you share it. Bodies are kept in memory until then. Safe to use from any thread.
public final class Recorder: Sendable {
    public let path: String
    private struct State {
        var names: Set<String>
        var entries: [RecordingObserver.Entry?] = []
    }

    private let state: Lock<State>

    /// - Parameters:
    ///   - path: the file, which is written by `save`.
    ///   - secrets: names of headers, pairs, parts and JSON members that are secret, too.
    public init(path: String, secrets: [String] = []) {
        self.path = path
        state = Lock(State(names: Set(secrets)), sharing: .clients)
    }

    /// Names a header, query pair, form field, part or JSON member that is secret, too.
    public func addSecret(_ name: String) { state.withLock { _ = $0.names.insert(name) } }

    /// How many exchanges are whole.
    public var count: Int { state.withLock { $0.entries.count { $0 != nil } } }

    /// Writes the file, in one step: it is the old one or the new one. May be called again.
    public func save() throws(APIError) {
        let (entries, names) = state.withLock { ($0.entries.compactMap(\.self), $0.names) }
        var recording = Recording()
        for entry in entries { recording.exchanges.append(entry.recorded(names)) }
        do {
            try SystemFile.replace(path, with: IndentedJSON.text(recording.json))
        } catch {
            throw .invalidRequest("the recording \(quoted(path)) was not written: \(error)")
        }
    }

    /// Listens to an exchange that is about to begin. Reads its file, if it sends one.
    func observe(_ http: HTTPRequest, _ secrets: MarkedSecrets, for observer: any ExchangeObserver) -> RecordingObserver
    {
        let index = state.withLock { state in
            state.entries.append(nil)
            return state.entries.count - 1
        }
        return RecordingObserver(http, secrets, for: observer) { entry in
            self.state.withLock { $0.entries[index] = entry }
        }
    }
}
