#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The durable part of a request of a background session: a record that outlives the process.
///
/// Each step is on disk before it is taken: first recorded, then sent; first stored, then delivered. Not for the
/// network thread.
final class BackgroundTransfer: Sendable {
    private struct State {
        /// Whether there is a record, so that the session waits for this transfer.
        var isKept = false
        /// Whether the process leaves the transfer, and its record, to the next one.
        var isLeft = false
        /// Whether a server may have received any of it.
        var mayHaveArrived = false
    }

    let session: BackgroundSession
    let identifier: Int64
    /// The record that an earlier process left; nil for a new transfer.
    let found: BackgroundRecord?
    private let state = Lock(State())

    init(_ session: BackgroundSession, _ identifier: Int64, found: BackgroundRecord? = nil) {
        self.session = session
        self.identifier = identifier
        self.found = found
    }

    /// Records the transfer when it begins.
    ///
    /// - Parameter sends: whether it is sent now; false when it has ended already.
    func begin(
        _ built: BuiltRequest?, command: String, priority: Double, description: String?, sends: Bool
    ) throws(APIError) {
        let store = try session.opened()
        try session.enter(found: found?.identifier)
        state.withLock { $0.isKept = true }
        do throws(APIError) {
            if found == nil {
                guard let built else { return }
                var record = BackgroundRecord(identifier, built, command: command)
                record.priority = priority
                record.description = description
                if built.http.mayBeRepeated { try record.run() }
                try store.add(record)
            } else {
                try store.update(identifier) { (record) throws(APIError) in
                    record.priority = priority
                    record.description = description
                    if sends, built?.http.mayBeRepeated == true { try record.run() }
                }
            }
        } catch {
            state.withLock { $0.isKept = false }
            session.leave()
            throw error
        }
    }

    /// Records that a server may receive some of it from now on.
    func send() throws(APIError) {
        try session.opened().update(identifier) { (record) throws(APIError) in try record.run() }
    }

    /// An exchange of it had a connection.
    func hasConnected() { state.withLock { $0.mayHaveArrived = true } }

    /// Records how to resume the download if the process ends now.
    func setResumeData(_ data: ResumeData?) throws(APIError) {
        try session.opened().update(identifier) { (record) throws(APIError) in
            guard record.outcome == nil, case .download(let destination, let file, let known) = record.work,
                known != data
            else { return }
            record.work = .download(destination: destination, temporaryFile: file, resume: data)
        }
    }

    /// The content of the response as the program sees it. Called under the request's lock, so it does not touch the
    /// disk.
    ///
    /// - Parameter hasBegun: whether this process had begun the download.
    func completed(_ content: ResponseContent, hasBegun: Bool) -> ResponseContent {
        var content = content
        if let found, found.outcome != nil {
            if case .delivering = found.state { content.wasDeliveredBefore = true }
            return content
        }
        guard content.error?.domain == .cancelled else { return content }
        if session.isDetached {
            content.error = .detached(session.identifier)
            content.resumeData = nil
            state.withLock { $0.isLeft = true }
        } else if !hasBegun, content.resumeData == nil {
            content.resumeData = found?.resumable
        }
        return content
    }

    /// The outcome is final: stores it until it is delivered.
    func end(_ content: ResponseContent) throws(APIError) {
        let state = state.withLock { $0 }
        guard state.isKept, found?.outcome == nil else { return }
        guard !state.isLeft else {
            // It never had a connection: the next process begins it like a new one.
            guard !state.mayHaveArrived, found?.ambiguity == nil else { return }
            try session.opened().update(identifier) { (record) throws(APIError) in try record.wait() }
            return
        }
        let outcome = BackgroundOutcome(content)
        try session.opened().update(identifier) { (record) throws(APIError) in
            if case .download(let destination, let file, let resume) = record.work {
                record.work = .download(destination: destination, temporaryFile: file, resume: content.resumeData)
                // The download cannot be resumed.
                if content.resumeData == nil { DownloadFile.removeTemporary(file, for: destination, resume) }
            }
            try record.finish(outcome)
        }
    }

    /// The handler is about to be called.
    func beginDelivery() throws(APIError) {
        let state = state.withLock { $0 }
        guard state.isKept, !state.isLeft else { return }
        let store = try session.opened()
        do throws(APIError) {
            _ = try store.beginDelivery(identifier)
        } catch {
            // The disk may be full. Renaming the file needs no space.
            try store.markDelivery(identifier)
            throw error
        }
    }

    /// The handler has returned: removes the record.
    func endDelivery() throws(APIError) {
        let before = state.withLock { state in
            defer { state.isKept = false }
            return state
        }
        guard before.isKept else { return }
        defer { session.leave() }
        if !before.isLeft { try session.opened().remove(identifier) }
    }
}

extension BackgroundRecord {
    /// The resume data, if the temporary file exists.
    var resumable: ResumeData? {
        guard case .download(_, let file, let resume?) = work, DownloadFile.size(of: file) > 0 else { return nil }
        return resume
    }
}
