import Synchronization

/// Records the exchanges of clients: for a ``Stub`` to replay, or for a browser to show.
///
///     let recorder = Recorder(path: "Tests/find.json")
///     client.recorder = recorder
///     _ = try await client.send("find", args: [.url("q", "London")])
///     try recorder.save()
///
/// A path that ends with `.har` makes a HAR 1.2, which browsers import, with times and sizes. Every other path makes a
/// recording, which is the same in each run. Both can be replayed.
///
/// There is one entry for each exchange, including redirects and retries, so that a replay takes the same path. Secrets
/// are not written to the file: Authorization, values of cookies and of headers with secret names, values that args
/// marked as secret, and values with secret names in queries, forms, multipart parts and JSON, also in answers. Secrets
/// elsewhere, for example in plain text, are not found: check the file before you share it. Bodies stay in memory until
/// `save`. Safe to use from any thread.
///
/// With a ``RecordMode`` the recorder also replays, so that one test records in its first run and needs no server later.
public final class Recorder: Sendable, RedactedMirror {
    /// How much it keeps in memory.
    struct Limits: Sendable {
        /// Bytes of one body, and of all bodies.
        var body = Int.max
        var bodies = Int.max
        var exchanges = Int.max
    }

    private struct State {
        var names: Set<String>
        var entries: [RecordedEntry?] = []
        /// Bytes of all bodies.
        var bodyBytes = 0
        /// Exchanges that it had no room for.
        var missing = 0
    }

    /// The file that the recording is saved to.
    public let path: String
    let limits: Limits
    private let isHAR: Bool
    private let mode: RecordMode
    private let answers: Answers
    private let state: Lock<State>

    /// - Parameters:
    ///   - path: the file, which is written by `save`: a HAR if it ends with `.har`.
    ///   - secrets: additional secret names of headers, pairs, parts and JSON members.
    public convenience init(path: String, secrets: [String] = []) {
        self.init(path, secrets, isHAR: Self.isHAR(path), Limits())
    }

    /// A recorder that also replays, except with the mode `all`.
    ///
    /// A client whose recorder only replays uses neither the network nor its own stub. A request that is not in the file
    /// then fails with the code `no stub`, and the message says how to record it. In the mode `newEpisodes`, what the
    /// file has is not written anew, and a body from a stream is read to its end before it is sent.
    ///
    /// - Parameters:
    ///   - path: the file. A new one is a HAR if it ends with `.har`.
    ///   - mode: whether the recorder replays the file, records, or both.
    ///   - secrets: additional secret names of headers, pairs, parts and JSON members.
    /// - Throws: an error that says which exchange of the file is wrong, and why.
    public convenience init(path: String, mode: RecordMode, secrets: [String] = []) throws(APIError) {
        let answers = try Answers(path, mode)
        self.init(path, secrets, isHAR: answers.text?.isHAR ?? Self.isHAR(path), Limits(), mode, answers)
    }

    /// A recorder whose clients are first answered by a stub. The file gets what servers have answered.
    package convenience init(path: String, replaying stub: Stub) {
        self.init(path, isHAR: Self.isHAR(path), Limits(), .newEpisodes, .fileAndServers(stub, nil))
    }

    init(
        _ path: String, _ secrets: [String] = [], isHAR: Bool, _ limits: Limits, _ mode: RecordMode = .all,
        _ answers: Answers = .servers
    ) {
        self.path = path
        self.isHAR = isHAR
        self.limits = limits
        self.mode = mode
        self.answers = answers
        state = Lock(State(names: Set(secrets)), sharing: .clients)
    }

    private static func isHAR(_ path: String) -> Bool { path.lowercasedASCII().hasSuffix(".har") }

    /// What answers its clients in place of the network and of their own stubs; nil when the recorder records.
    var onlyReplayed: Stub? {
        if case .file(let stub) = answers { stub } else { nil }
    }

    /// What is asked before the network and the clients' own stubs; nil when nothing is.
    var replayedFirst: Stub? {
        if case .fileAndServers(let stub, _) = answers { stub } else { nil }
    }

    /// Adds the name of a secret header, query pair, form field, part or JSON member.
    public func addSecret(_ name: String) { state.withLock { _ = $0.names.insert(name) } }

    /// The number of completed exchanges that were recorded. Replayed ones do not count.
    public var count: Int { state.withLock { $0.entries.count { $0 != nil } } }

    /// Writes the file atomically. May be called again.
    ///
    /// A recorder that only replays writes nothing, and neither does one that has recorded nothing, except in the mode
    /// `all`.
    public func save() throws(APIError) {
        let state = state.withLock { $0 }
        let entries = state.entries.compactMap(\.self)
        guard onlyReplayed == nil, mode == .all || !entries.isEmpty else { return }
        let json: JSON
        if isHAR {
            json = HARWriter(secrets: state.names).json(of: entries, missing: state.missing)
        } else {
            var recording = Recording()
            recording.exchanges = entries.map { $0.recorded(state.names) }
            json = recording.json
        }
        var bytes = IndentedJSON.text(json)
        if let old = answers.text { bytes = old.adding(try RecordingText(bytes, of: path)) }
        do {
            try SystemFile.replace(path, with: bytes)
        } catch {
            throw .invalidRequest("the recording \(quoted(path)) was not written: \(error)")
        }
    }

    /// Writes the file if anything was recorded. Makes its folder.
    package func saveIfUsed() throws(APIError) {
        guard count > 0 else { return }
        if let end = path.lastIndex(of: "/"), end > path.startIndex {
            do {
                try SystemFile.makeFolder(String(path[..<end]))
            } catch {
                throw .invalidRequest("the recording \(quoted(path)) was not written: \(error)")
            }
        }
        try save()
    }

    // MARK: For the observers of exchanges

    /// Takes the place of an exchange that is about to begin; nil when there is no room.
    func place() -> Int? {
        state.withLock { state in
            guard state.entries.count < limits.exchanges else {
                state.missing += 1
                return nil
            }
            state.entries.append(nil)
            return state.entries.count - 1
        }
    }

    func keep(_ entry: RecordedEntry, at place: Int) {
        state.withLock { state in
            let room = min(limits.body, limits.bodies - state.bodyBytes)
            let kept = limits.bodies == .max ? entry : entry.limited(to: room)
            state.bodyBytes += limits.bodies == .max ? 0 : kept.bodyBytes
            state.entries[place] = kept
        }
    }

    // MARK: All clients

    private static let ofAll = Lock<[Recorder]>(leaf: [], survivesFork: true)
    private static let anyOfAll = Atomic<Bool>(false)

    /// Whether a recorder records all clients. A request asks, and need not take a lock to know.
    static var anyRecordsAll: Bool { anyOfAll.load(ordering: .acquiring) }

    /// The recorders of a client's exchange.
    ///
    /// - Parameter own: the client's recorder.
    static func all(with own: Recorder?) -> [Recorder] {
        let all = anyRecordsAll ? ofAll.withLock { $0 } : []
        guard let own else { return all }
        return [own] + all.filter { $0 !== own }
    }

    /// Whether it records the exchanges of every client in the process, in addition to the clients' own recorders;
    /// initially false.
    ///
    /// Applies to exchanges that begin from now on. The process keeps the recorder while this is true. Those clients get
    /// no answers from its file, and a recorder that only replays records nothing.
    public var recordsAllClients: Bool {
        get { Self.anyRecordsAll && Self.ofAll.withLock { $0.contains { $0 === self } } }
        set {
            Self.ofAll.withLock { all in
                // The caller has a reference, so nothing is released under the lock.
                all.removeAll { $0 === self }
                if newValue { all.append(self) }
                Self.anyOfAll.store(!all.isEmpty, ordering: .releasing)
            }
        }
    }
}
