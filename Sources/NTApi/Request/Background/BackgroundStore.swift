/// The transfers of a background session, on disk: what a process that is killed leaves to the next.
///
/// A folder for each session, a file for each transfer. Each step of a transfer is durable when the call that takes it returns,
/// and a file is whole or not there, so that at whatever moment the process ends, the next finds every transfer as it was
/// before a step or after it. An outcome is kept until its handler has returned. Should the process end between, the next
/// delivers it once more, and says so: with files alone nobody can know how far a handler came.
///
/// Calls wait for the disk: not for the network thread. They may be made from any other, one after the other.
final class BackgroundStore: Sendable {
    /// A file that makes no sense, or that cannot be read. It stays beside the others, for people to look at.
    struct SetAside: Sendable, Equatable {
        let path: String
        let reason: String
    }

    /// What the session is called by the program.
    let sessionIdentifier: String
    /// What was found when the session was opened.
    let setAside: [SetAside]

    fileprivate struct State {
        let folder: LockedFolder
        var records: [Int64: BackgroundRecord]
        var numbers: BackgroundNumbers
        /// Those whose file has the name that says that their handler was called.
        var marked: Set<Int64>
    }

    private let state: Lock<State>

    /// Opens a session, which is made when there is none of this name.
    ///
    /// - Parameters:
    ///   - identifier: the session's name, of any characters.
    ///   - root: the folder of all sessions; by default `background` in the state folder.
    ///   - block: for how many transfers the count of identifiers is written at once.
    /// - Throws: `invalid request` when a session of this name is open already, with the process that has it; `generic` when the
    ///   system refuses something.
    init(_ identifier: String, root: String? = nil, block: Int64 = 1000) throws(APIError) {
        let name = try FileName.encode(identifier, "the identifier of a background session")
        let parent = if let root { root } else { try StateFolder.path() + "/background" }
        let folder = try LockedFolder("\(parent)/\(name)")
        var reader = BackgroundReader(folder, block: block)
        try reader.read(identifier)
        sessionIdentifier = identifier
        setAside = reader.setAside
        state = Lock(State(folder: folder, records: reader.records, numbers: reader.numbers, marked: reader.marked))
    }

    /// All that is kept, in the order of their priority.
    var records: [BackgroundRecord] {
        state.withLock { $0.records.values.sorted(by: BackgroundRecord.isBefore) }
    }

    /// Lets another open the session. Nothing can be changed from here afterwards.
    func close() { state.withLock { $0.folder.unlock() } }

    /// The identifier of a transfer that may come to be.
    func nextIdentifier() throws(APIError) -> Int64 {
        try state.withLock { state throws(APIError) in try state.numbers.next(in: state.folder, sessionIdentifier) }
    }

    /// Keeps a new transfer, whose identifier is one of `nextIdentifier`.
    func add(_ record: BackgroundRecord) throws(APIError) {
        try state.withLock { state throws(APIError) in try state.keep(record) }
    }

    /// Keeps a new transfer.
    ///
    /// - Parameter make: makes its record with the identifier given. Must not call the store.
    func add(_ make: (Int64) throws(APIError) -> BackgroundRecord) throws(APIError) -> BackgroundRecord {
        try state.withLock { state throws(APIError) in
            let record = try make(state.numbers.next(in: state.folder, sessionIdentifier))
            try state.keep(record)
            return record
        }
    }

    /// Keeps a change of a transfer: a step of its life, resume data, a priority. Should that fail, all is as it was.
    ///
    /// - Parameter change: changes the record. Must not call the store.
    /// - Throws: what it throws; `invalid request` when there is no such transfer.
    @discardableResult func update<Value>(
        _ identifier: Int64, _ change: (inout BackgroundRecord) throws(APIError) -> Value
    ) throws(APIError) -> Value {
        try state.withLock { state throws(APIError) in
            guard var record = state.records[identifier] else {
                throw .invalidRequest(
                    "the session \(quoted(sessionIdentifier)) has no background transfer \(identifier)")
            }
            let value = try change(&record)
            if record != state.records[identifier] { try state.keep(record) }
            return value
        }
    }

    /// The handler is going to have the outcome.
    ///
    /// - Returns: whether it may have had it before, in a process that ended meanwhile.
    func beginDelivery(_ identifier: Int64) throws(APIError) -> Bool {
        try update(identifier) { (record) throws(APIError) in try record.deliver() }
    }

    /// The handler is going to have the outcome, and that cannot be written: the record says so by its name.
    func markDelivery(_ identifier: Int64) throws(APIError) {
        try state.withLock { state throws(APIError) in
            guard state.records[identifier] != nil, !state.marked.contains(identifier) else { return }
            try state.folder.rename(
                BackgroundReader.name(of: identifier), to: BackgroundReader.markedName(of: identifier))
            state.marked.insert(identifier)
        }
    }

    /// Forgets a transfer: its handler has returned, or nobody wants to hear of it.
    func remove(_ identifier: Int64) throws(APIError) {
        try state.withLock { state throws(APIError) in
            if state.marked.contains(identifier) {
                try state.folder.remove(BackgroundReader.markedName(of: identifier))
            }
            state.marked.remove(identifier)
            try state.folder.remove(BackgroundReader.name(of: identifier))
            state.records[identifier] = nil
        }
    }
}

extension BackgroundStore.State {
    fileprivate mutating func keep(_ record: BackgroundRecord) throws(APIError) {
        try folder.store(record.json.utf8(), as: BackgroundReader.name(of: record.identifier))
        records[record.identifier] = record
        // What the name of the other one says is in this one by now.
        if marked.remove(record.identifier) != nil {
            try? folder.remove(BackgroundReader.markedName(of: record.identifier))
        }
    }
}
