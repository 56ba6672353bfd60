/// A background session in the process that has opened it: its store, and its active transfers.
final class BackgroundSession: Sendable {
    /// A transfer that was found when the session was opened, and has not begun yet.
    private struct Found {
        let record: BackgroundRecord
        /// The program's request for it. Weak, because the request keeps the client, which keeps this session.
        weak var request: APIRequest?
    }

    private struct State {
        var found: [Int64: Found]
        /// How many have begun and are not finished.
        var active = 0
        var isDetached = false
    }

    let identifier: String
    /// Why every request of the session fails, if it could not be opened.
    let problem: APIError?
    private let store: BackgroundStore?
    private let state: ProcessLock<State>

    /// - Parameter root: the folder of all sessions; nil is the user's.
    init(_ identifier: String, root: String?) {
        self.identifier = identifier
        var opened: BackgroundStore?
        var problem: APIError?
        do throws(APIError) {
            opened = try BackgroundStore(identifier, root: root)
        } catch {
            problem = error
            problem?.message = "the background session \(quoted(identifier)) cannot be opened: \(error.message)"
        }
        store = opened
        self.problem = problem
        var found: [Int64: Found] = [:]
        for record in opened?.records ?? [] { found[record.identifier] = Found(record: record) }
        state = ProcessLock(Lock(State(found: found)))
        for file in opened?.setAside ?? [] {
            APILog.warn("background session \(quoted(identifier)): \(file.path) is skipped: \(file.reason)")
        }
    }

    /// The store, while transfers may begin.
    func opened() throws(APIError) -> BackgroundStore {
        if let problem { throw problem }
        guard state.isOfThisProcess else {
            throw .invalidRequest(
                "the background session \(quoted(identifier)) belongs to the process that this one was forked from")
        }
        guard let store else { throw .detached(identifier) }
        return store
    }

    var isDetached: Bool { state.withLock(inChild: true) { $0.isDetached } }

    /// Closes the session once its running transfers have stopped. The next process that opens it finds the unfinished
    /// ones.
    func detach() {
        let isIdle = state.withLock(inChild: false) { state in
            state.isDetached = true
            return state.active == 0
        }
        if isIdle { store?.close() }
    }

    /// A transfer begins. The session stays open until it leaves.
    ///
    /// - Throws: `detached`, or an error when another request has begun the same transfer.
    func enter(found identifier: Int64?) throws(APIError) {
        let problem = state.withLock(inChild: .detached(self.identifier)) { state -> APIError? in
            if state.isDetached { return .detached(self.identifier) }
            if let identifier, state.found.removeValue(forKey: identifier) == nil {
                return .invalidRequest("background transfer \(identifier) has already begun")
            }
            state.active += 1
            return nil
        }
        if let problem { throw problem }
    }

    func leave() {
        let isLast = state.withLock(inChild: false) { state in
            state.active -= 1
            return state.isDetached && state.active == 0
        }
        if isLast { store?.close() }
    }

    /// The transfers that were found and have not begun, by priority, each with a request for it.
    ///
    /// - Parameter make: called for a transfer for which the program holds no request.
    func foundRequests(_ make: (BackgroundRecord) -> APIRequest) -> [APIRequest] {
        let found = state.withLock(inChild: []) { $0.isDetached ? [] : $0.found.values.map { ($0.record, $0.request) } }
        return found.sorted { BackgroundRecord.isBefore($0.0, $1.0) }.compactMap { record, request in
            // A worker releases a cancelled request a moment later.
            if let request { return request.state == .suspended ? request : nil }
            let made = make(record)
            return state.withLock(inChild: nil) { state in
                // Another thread may have made one meanwhile.
                if let other = state.found[record.identifier]?.request { return other }
                guard state.found[record.identifier] != nil else { return nil }
                state.found[record.identifier]?.request = made
                return made
            }
        }
    }

    /// Checks that a request can be recorded, and makes its paths absolute so that they hold in another process.
    static func check(_ built: BuiltRequest) throws(APIError) -> BuiltRequest {
        var http = built.http
        var download = built.download
        switch http.body {
        case .none:
            guard let target = download else { throw .notInBackground }
            guard !target.isTemporary else { throw .noTemporaryFileInBackground }
            download?.temporaryFile =
                target.resumeData?.temporaryFile ?? TemporaryName.part(of: target.destination)
        case .file(let path, let length):
            guard download == nil else { throw .notInBackground }
            http.body = .file(path: try DownloadFile.absolute(path, "file to send"), length: length)
        case .bytes, .multipart, .stream: throw .notInBackground
        }
        return BuiltRequest(
            http: http, options: built.options, secrets: built.secrets, download: download,
            pacing: built.pacing)
    }
}

extension APIError {
    fileprivate static let notInBackground = APIError.invalidRequest(
        "a background session downloads to a file (args download, resume) without a body, and uploads from a file"
            + " (arg file): use a client with another configuration for everything else")

    fileprivate static let noTemporaryFileInBackground = APIError.invalidRequest(
        "a background session's download outlives the process, and a temporary file does not: name a file (arg download)"
    )

    /// The transfer continues in a later process.
    static func detached(_ identifier: String) -> APIError {
        APIError(
            domain: .cancelled, code: .detached,
            message:
                "the background session \(quoted(identifier)) was closed, or its process is ending: the transfer is kept, "
                + "and continues when the session is opened again")
    }
}
