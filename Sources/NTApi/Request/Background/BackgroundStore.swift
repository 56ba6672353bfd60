/// The transfers of a background session on disk, which outlive the process.
///
/// Each session is a folder, each transfer a file. A step of a transfer is durable when its call returns, and a file is
/// always complete. So whenever the process ends, the next one finds each transfer as it was before or after a step. An
/// outcome is kept until its handler has returned. If the process ends in between, the next one delivers the outcome
/// again and says so: files alone cannot tell how far a handler came.
///
/// Calls wait for the disk, so the network thread must not make them. Any other thread may, one at a time.
final class BackgroundStore: Sendable {
    /// A file that is malformed or unreadable. It stays in the folder for people to look at.
    struct SetAside: Sendable, Equatable {
        let path: String
        let reason: String
    }

    /// The program's name for the session.
    let sessionIdentifier: String
    /// The files that were set aside when the session was opened.
    let setAside: [SetAside]

    fileprivate struct State {
        let folder: LockedFolder
        var records: [Int64: BackgroundRecord]
        var numbers: BackgroundNumbers
        /// Transfers whose file name says that their handler was called.
        var marked: Set<Int64>
    }

    private let state: Lock<State>

    /// Opens a session, or makes it if there is none of this name.
    ///
    /// - Parameters:
    ///   - identifier: the session's name, of any characters.
    ///   - root: the folder of all sessions; nil is `background` in the state folder.
    ///   - block: how many identifiers are reserved by one write.
    /// - Throws: `invalid request`, with the process, when a session of this name is open already; `generic` for an
    ///   error of the system.
    init(_ identifier: String, root: String? = nil, block: Int64 = 1000) throws(APIError) {
        let name = try FileName.encode(identifier, "the identifier of a background session")
        let parent = if let root { root } else { try StateFolder.path() + "/background" }
        let folder = try LockedFolder("\(parent)/\(name)", isOurs: BackgroundReader.isName)
        var reader = BackgroundReader(folder, block: block)
        try reader.read(identifier)
        sessionIdentifier = identifier
        setAside = reader.setAside
        state = Lock(State(folder: folder, records: reader.records, numbers: reader.numbers, marked: reader.marked))
    }

    /// All records, by priority.
    var records: [BackgroundRecord] {
        state.withLock { $0.records.values.sorted(by: BackgroundRecord.isBefore) }
    }

    /// Lets another process open the session. This store can change nothing afterwards.
    func close() { state.withLock { $0.folder.unlock() } }

    /// An identifier for a new transfer.
    func nextIdentifier() throws(APIError) -> Int64 {
        try state.withLock { state throws(APIError) in try state.numbers.next(in: state.folder, sessionIdentifier) }
    }

    /// Stores a new transfer, whose identifier is from `nextIdentifier`.
    func add(_ record: BackgroundRecord) throws(APIError) {
        try state.withLock { state throws(APIError) in try state.keep(record) }
    }

    /// Stores a new transfer.
    ///
    /// - Parameter make: makes its record with the given identifier. Must not call the store.
    func add(_ make: (Int64) throws(APIError) -> BackgroundRecord) throws(APIError) -> BackgroundRecord {
        try state.withLock { state throws(APIError) in
            let record = try make(state.numbers.next(in: state.folder, sessionIdentifier))
            try state.keep(record)
            return record
        }
    }

    /// Stores a change of a transfer: a step, resume data or a priority. If that fails, nothing has changed.
    ///
    /// - Parameter change: changes the record. Must not call the store.
    /// - Throws: what it throws; `invalid request` when there is no such transfer.
    @discardableResult func update<Value>(
        _ identifier: Int64, _ change: (inout BackgroundRecord) throws(APIError) -> Value
    ) throws(APIError) -> Value {
        try write { state throws(APIError) in
            guard var record = state.records[identifier] else {
                throw .invalidRequest(
                    "the session \(quoted(sessionIdentifier)) has no background transfer \(identifier)")
            }
            let value = try change(&record)
            if record != state.records[identifier] { try state.keep(record) }
            return value
        }
    }

    /// The handler is about to get the outcome.
    ///
    /// - Returns: whether it may have had it before, in a process that ended meanwhile.
    func beginDelivery(_ identifier: Int64) throws(APIError) -> Bool {
        try update(identifier) { (record) throws(APIError) in try record.deliver() }
    }

    /// The handler is about to get the outcome, and that cannot be written: marks the record by renaming its file.
    func markDelivery(_ identifier: Int64) throws(APIError) {
        try write { state throws(APIError) in
            guard state.records[identifier] != nil, !state.marked.contains(identifier) else { return }
            try state.folder.rename(
                BackgroundReader.name(of: identifier), to: BackgroundReader.markedName(of: identifier))
            state.marked.insert(identifier)
        }
    }

    /// Removes a transfer: its handler has returned, or nobody wants the outcome.
    func remove(_ identifier: Int64) throws(APIError) {
        try write { state throws(APIError) in
            if state.marked.contains(identifier) {
                try state.folder.remove(BackgroundReader.markedName(of: identifier))
            }
            state.marked.remove(identifier)
            try state.folder.remove(BackgroundReader.name(of: identifier))
            state.records[identifier] = nil
        }
    }

    /// Waits for the disk.
    private func write<Value>(_ body: (inout State) throws(APIError) -> Value) throws(APIError) -> Value {
        try Runtime.current.workers.whileBlocked { () throws(APIError) in try state.withLock(body) }
    }
}

extension BackgroundStore.State {
    fileprivate mutating func keep(_ record: BackgroundRecord) throws(APIError) {
        try folder.store(record.json.utf8(), as: BackgroundReader.name(of: record.identifier))
        records[record.identifier] = record
        // This file now also says what the other file's name says.
        if marked.remove(record.identifier) != nil {
            try? folder.remove(BackgroundReader.markedName(of: record.identifier))
        }
    }
}
