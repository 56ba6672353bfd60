/// Responses on disk. What is stored is written by a worker, soon; until then it is read from here.
final class DiskCache: Sendable {
    /// What is to be done about a URL; when there is nothing, it was used.
    private struct Change {
        /// Whether what is on disk goes.
        var removes = false
        /// The newest last.
        var variants: [CachedResponse] = []

        var size: Int { variants.reduce(0) { $0 + $1.size } }
    }

    private struct State {
        var changes: [CacheKey: Change] = [:]
        /// How much memory `changes` take.
        var waitingSize = 0
        /// The keys of `changes`, in order.
        var order = Queue<CacheKey>()
        /// What a writer has taken, until it is on disk.
        var current: (key: CacheKey, change: Change)?
        var removesAll = false
        /// Whether a worker has been told.
        var isScheduled = false
        var isWriting = false
        /// Why something could not be written, until somebody is told.
        var failure: SystemError?
        /// Nil until it was looked.
        var usage: Int64?
        var hasWarned = false

        /// What is not on disk yet, the newest in front, and whether what is there is not to be looked at.
        func waiting(_ key: CacheKey) -> ([CachedResponse], Bool) {
            var variants: [CachedResponse] = []
            for change in [changes[key], current?.key == key ? current?.change : nil].compactMap({ $0 }) {
                variants += change.variants.reversed()
                if change.removes { return (variants, true) }
            }
            return (variants, removesAll)
        }
    }

    let capacity: Int64
    let folder: CacheFolder
    private let clock: @Sendable () -> Double
    private let state = Monitor(State())
    private let generation = Fork.generation

    init(_ path: String, capacity: Int64, clock: @escaping @Sendable () -> Double) {
        folder = CacheFolder(path: path)
        self.capacity = capacity
        self.clock = clock
    }

    /// A forked child leaves what waits to its parent, whose threads may have the lock: it has no disk.
    private var isMine: Bool { generation == Fork.generation }

    // MARK: Reading. Waits for the disk

    /// The response that `select` chooses, with its body.
    func read(_ key: CacheKey, _ select: ([CachedResponse]) -> CachedResponse?) -> CachedResponse? {
        guard isMine else { return nil }
        let digest = key.digest
        let (waiting, isOver) = state.withLock { $0.waiting(key) }
        // What waits to be written has its body with it.
        if !waiting.isEmpty, let found = select(waiting) { return found }
        guard !isOver, let record = folder.record(digest), var found = select(record.variants),
            let file = found.file
        else { return nil }
        guard let body = folder.body(file) else {
            // The record tells of something that is not there, or not whole.
            if found.responseTime < clock() - 1 { folder.remove(CacheFileName.record(digest)) }
            return nil
        }
        found.body = body
        folder.touch(CacheFileName.record(digest))
        return found
    }

    /// How many bytes all files take, those of other processes included.
    var usage: Int64 { isMine ? folder.files().reduce(0) { $0 + $1.size } : 0 }

    // MARK: Changes. Do not wait

    func put(_ response: CachedResponse, _ key: CacheKey) {
        let isTooLarge = response.size > Int(clamping: capacity) / MemoryCache.largestPart
        // What is there is older, and must not answer in its place.
        guard !isTooLarge, state.withLock({ $0.waitingSize }) <= Self.mostWaiting else { return remove(key) }
        change(key) { change in
            change.variants.removeAll { response.replaces($0) }
            change.variants.append(response)
        }
    }

    /// A disk that is slower than the network must not fill the memory, in bytes.
    private static let mostWaiting = 32 << 20

    func remove(_ key: CacheKey) { change(key) { $0 = Change(removes: true) } }

    /// What is kept for the URL answered from memory.
    func use(_ key: CacheKey) { change(key) { _ in } }

    private func change(_ key: CacheKey, _ body: (inout Change) -> Void) {
        guard isMine else { return }
        let isFirst = state.withLock { state in
            if state.changes[key] == nil { state.order.append(key) }
            var change = state.changes[key] ?? Change()
            state.waitingSize -= change.size
            body(&change)
            state.waitingSize += change.size
            state.changes[key] = change
            guard !state.isScheduled, !state.isWriting else { return false }
            state.isScheduled = true
            Self.remember(self)
            return true
        }
        if isFirst { DeliveryRuntime.current.workers.run { _ = self.write() } }
    }

    /// Removes every file. Waits for the disk.
    func removeAll() {
        guard isMine else { return }
        state.withLock { state in
            state.changes = [:]
            state.waitingSize = 0
            _ = state.order.removeAll()
            state.removesAll = true
        }
        wait()
        for file in folder.files() { folder.remove(file.name) }
        state.withLock { state in
            state.removesAll = false
            state.usage = nil
        }
    }

    /// Removes what is kept for a URL, whoever it is for. Waits for the disk.
    func removeAll(named prefix: String) {
        guard isMine else { return }
        wait()
        for file in folder.files() where file.name.hasASCIIPrefix(prefix) { folder.remove(file.name) }
    }

    /// Waits until what was stored is written.
    ///
    /// - Returns: why something that was stored since the last call is not.
    func save() -> SystemError? {
        wait()
        return state.withLock { $0.failure.take() }
    }

    /// Waits until what was stored is written; the calling thread does it unless another one is at it.
    func wait() {
        guard isMine, !write() else { return }
        _ = state.wait { $0.isWriting ? nil : true }
    }

    // MARK: Writing, on one thread at a time

    /// - Returns: false when another thread is at it.
    private func write() -> Bool {
        let isMine = state.withLock { state in
            defer { state.isWriting = true }
            return !state.isWriting
        }
        guard isMine else { return false }
        while let (key, change) = next() {
            do throws(SystemError) {
                try write(change, key)
            } catch {
                // The disk is full, say. What is there is older, and must not answer in its place.
                folder.remove(CacheFileName.record(key.digest))
                let isFirst = state.withLock { state in
                    defer { state.hasWarned = true }
                    state.failure = error
                    return !state.hasWarned
                }
                if isFirst { APILog.warn("the cache is not kept on disk: \(error)") }
            }
        }
        state.broadcast()
        return true
    }

    private func next() -> (key: CacheKey, change: Change)? {
        let next = state.withLock { state in
            state.current = state.order.popFirst().flatMap { key in
                state.changes.removeValue(forKey: key).map { (key, $0) }
            }
            state.waitingSize -= state.current?.change.size ?? 0
            if state.current == nil {
                Self.forget(self)
                state.isWriting = false
                state.isScheduled = false
            }
            return state.current
        }
        return next
    }

    private func write(_ change: Change, _ key: CacheKey) throws(SystemError) {
        let digest = key.digest
        if change.variants.isEmpty, !change.removes { return folder.touch(CacheFileName.record(digest)) }
        let old = folder.record(digest)?.variants ?? []
        var variants = change.removes ? [] : old
        guard !change.variants.isEmpty else {
            folder.remove(CacheFileName.record(digest))
            return removeBodies(of: old, but: [])
        }
        try folder.make()
        var written: Int64 = 0
        for var response in change.variants {
            // Of one that is only brought up to date the body is there.
            let (file, count) = try folder.write(response.body, of: digest, unlessIn: old)
            response.file = file
            written += count
            variants.put(response)
        }
        try folder.write(CacheRecord(digest: digest, variants: variants))
        removeBodies(of: old, but: variants)
        tidy(after: written + Int64(variants.reduce(0) { $0 + $1.size - $1.body.count }))
    }

    private func removeBodies(of old: [CachedResponse], but kept: [CachedResponse]) {
        let names = Set(kept.compactMap(\.file?.name))
        for file in old.compactMap(\.file) where !names.contains(file.name) { folder.remove(file.name) }
    }

    /// Looks at all files once there may be too much in them; others may have written as well.
    private func tidy(after written: Int64) {
        let usage = state.withLock { state in
            state.usage = state.usage.map { $0 &+ written }
            return state.usage
        }
        guard usage ?? .max > capacity else { return }
        let tidying = CacheTidying(folder.files(), capacity: capacity, now: clock())
        for name in tidying.gone { folder.remove(name) }
        // Nobody writes more than an eighth before it is looked at again.
        state.withLock { $0.usage = max(tidying.usage, capacity - capacity / 8) }
    }

    // MARK: At the end

    /// Those that have something to write, which is done before the process ends.
    private static let busy = Lock<[ObjectIdentifier: DiskCache]>([:], survivesFork: true)
    private static let exitJob: Void = ExitJobs.add { DiskCache.saveAll() }

    private static func remember(_ cache: DiskCache) {
        exitJob
        busy.withLock { $0[ObjectIdentifier(cache)] = cache }
    }

    private static func forget(_ cache: DiskCache) {
        busy.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(cache)) }
    }

    static func saveAll() {
        for cache in busy.withLock({ Array($0.values) }) { cache.wait() }
    }
}

/// Which files of a cache go, so that the rest fits: a pure decision.
struct CacheTidying: Sendable {
    /// Names of files, in the order in which they are to go.
    private(set) var gone: [String] = []
    /// How many bytes are left.
    private(set) var usage: Int64 = 0

    /// A body without a record, or a file without its name, may be one that another process is about to finish.
    private static let patience = 600.0

    /// - Parameters:
    ///   - files: all that there are.
    ///   - now: seconds since 1970.
    init(_ files: [CacheFolder.File], capacity: Int64, now: Double) {
        var groups: [String: Group] = [:]
        for file in files {
            if file.name.hasSuffix(CacheFileName.temporaryEnding) {
                // The time of a file that seems to come from the future is a mistake.
                if abs(now - file.used) > Self.patience { gone.append(file.name) } else { usage += file.size }
                continue
            }
            groups[CacheFileName.digest(file.name), default: Group()].add(file)
        }
        usage += groups.values.reduce(0) { $0 + $1.size }
        for (digest, group) in groups where group.recordUsed == nil && abs(now - group.newest) > Self.patience {
            drop(group)
            groups[digest] = nil
        }
        guard usage > capacity else { return }
        // Some room, so that the next response does not need all of this again.
        let wanted = capacity - capacity / 10
        for group in groups.values.sorted(by: { ($0.used, $0.size) < ($1.used, $1.size) }) where usage > wanted {
            drop(group)
        }
    }

    private mutating func drop(_ group: Group) {
        // The record first: what it tells of must be there.
        gone += group.names.sorted {
            $0.hasSuffix(CacheFileName.recordEnding) && !$1.hasSuffix(CacheFileName.recordEnding)
        }
        usage -= group.size
    }

    /// What belongs to one URL: it goes together.
    private struct Group {
        var names: [String] = []
        var size: Int64 = 0
        /// When its record was used last; nil without one.
        var recordUsed: Double?
        var newest = 0.0

        var used: Double { recordUsed ?? newest }

        mutating func add(_ file: CacheFolder.File) {
            names.append(file.name)
            size += file.size
            newest = max(newest, file.used)
            if file.name.hasSuffix(CacheFileName.recordEnding) { recordUsed = file.used }
        }
    }
}
