#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Responses on disk. A worker writes changes soon; until then they are read from memory.
final class DiskCache: Sendable {
    /// A pending change for a URL. An empty change records a use.
    private struct Change {
        /// Whether to remove what is on disk.
        var removes = false
        /// The stored variants, the newest last.
        var variants: [CachedResponse] = []

        var size: Int { variants.reduce(0) { $0 + $1.size } }
    }

    private struct State {
        var changes: [CacheKey: Change] = [:]
        /// How many bytes of memory `changes` take.
        var waitingSize = 0
        /// The keys of `changes`, in order.
        var order = Queue<CacheKey>()
        /// The change that is being written.
        var current: (key: CacheKey, change: Change)?
        var removesAll = false
        /// Whether a worker has been asked to write.
        var isScheduled = false
        var isWriting = false
        /// Why a write failed, until it is reported.
        var failure: SystemError?
        /// Nil until it was measured.
        var usage: Int64?
        var hasWarned = false

        /// The variants not yet on disk, newest first, and whether those on disk are void.
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

    init(_ path: String, capacity: Int64, clock: @escaping @Sendable () -> Double) {
        folder = CacheFolder(path: path)
        self.capacity = capacity
        self.clock = clock
    }

    // A child does not use the disk: pending changes belong to the parent.

    // MARK: Reading. Waits for the disk

    /// The response that `select` chooses, with its body.
    func read(_ key: CacheKey, _ select: ([CachedResponse]) -> CachedResponse?) -> CachedResponse? {
        let digest = key.digest
        guard state.isOfThisProcess else { return nil }
        let (waiting, isOver) = state.withLock(inChild: ([], true)) { $0.waiting(key) }
        // A pending variant has its body in memory.
        if !waiting.isEmpty, let found = select(waiting) { return found }
        guard !isOver, let record = folder.record(digest), var found = select(record.variants),
            let file = found.file
        else { return nil }
        guard let body = folder.body(file) else {
            // The record refers to a body that is missing or damaged.
            if found.responseTime < clock() - 1 { folder.remove(CacheFileName.record(digest)) }
            return nil
        }
        found.body = body
        folder.touch(CacheFileName.record(digest))
        return found
    }

    /// The size of all files in bytes, including those of other processes.
    var usage: Int64 { state.isOfThisProcess ? folder.files().reduce(0) { $0 + $1.size } : 0 }

    // MARK: Changes. Do not wait

    func put(_ response: CachedResponse, _ key: CacheKey) {
        let isTooLarge = response.size > Int(clamping: capacity) / MemoryCache.largestPart
        // The stored response is older and must not be used instead.
        guard !isTooLarge, state.withLock(inChild: 0, { $0.waitingSize }) <= Self.mostWaiting else {
            return remove(key)
        }
        change(key) { change in
            change.variants.removeAll { response.replaces($0) }
            change.variants.append(response)
        }
    }

    /// The most bytes that may wait for the disk, so that a slow disk does not fill the memory.
    private static let mostWaiting = 32 << 20

    func remove(_ key: CacheKey) { change(key) { $0 = Change(removes: true) } }

    /// Records that the memory cache answered for this URL.
    func use(_ key: CacheKey) { change(key) { _ in } }

    private func change(_ key: CacheKey, _ body: (inout Change) -> Void) {
        let isFirst = state.withLock(inChild: false) { state in
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
        guard isFirst else { return }
        let workers = DeliveryRuntime.current.workers
        workers.run { _ = workers.whileBlocked(self.write) }
    }

    /// Removes every file. Waits for the disk.
    func removeAll() {
        let isMine = state.withLock(inChild: false) { state in
            state.changes = [:]
            state.waitingSize = 0
            _ = state.order.removeAll()
            state.removesAll = true
            return true
        }
        guard isMine else { return }
        wait()
        for file in folder.files() { folder.remove(file.name) }
        state.withLock(inChild: ()) { state in
            state.removesAll = false
            state.usage = nil
        }
    }

    /// Removes the responses for a URL in all partitions. Waits for the disk.
    func removeAll(named prefix: String) {
        guard state.isOfThisProcess else { return }
        wait()
        for file in folder.files() where file.name.hasASCIIPrefix(prefix) { folder.remove(file.name) }
    }

    /// Waits until all changes are written.
    ///
    /// - Returns: why a write since the last call failed.
    func save() -> SystemError? {
        wait()
        return state.withLock(inChild: nil) { $0.failure.take() }
    }

    /// Waits until all changes are written. The calling thread writes them, unless another thread is writing.
    func wait() {
        guard !write() else { return }
        _ = state.wait { $0.isWriting ? nil : true }
    }

    // MARK: Writing, on one thread at a time

    /// - Returns: false when another thread is writing.
    private func write() -> Bool {
        let begins = state.withLock(inChild: false) { !exchange(&$0.isWriting, with: true) }
        guard begins else { return false }
        while let (key, change) = next() {
            do throws(SystemError) {
                try write(change, key)
            } catch  where error.number == ENOENT {
                // Another process clears the cache, and has removed a file while it was written. Written a moment
                // earlier, the response would be gone as well.
                folder.remove(CacheFileName.record(key.digest))
            } catch {
                // The disk is full, for example. The stored response is older and must not be used instead.
                folder.remove(CacheFileName.record(key.digest))
                let isFirst = state.withLock(inChild: false) { state in
                    defer { state.hasWarned = true }
                    state.failure = error
                    return !state.hasWarned
                }
                if isFirst { APILog.warn("the cache is not written to disk: \(error)") }
            }
        }
        state.broadcast()
        return true
    }

    private func next() -> (key: CacheKey, change: Change)? {
        let next = state.withLock(inChild: nil) { state in
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
            // When only the head was updated, the body is already on disk.
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

    /// Tidies up when the files may be too large. Other processes may have written as well.
    private func tidy(after written: Int64) {
        let usage = state.withLock(inChild: nil) { state in
            state.usage = state.usage.map { $0 &+ written }
            return state.usage
        }
        guard usage ?? .max > capacity else { return }
        let tidying = CacheTidying(folder.files(), capacity: capacity, now: clock())
        for name in tidying.gone { folder.remove(name) }
        // Measure again after another eighth has been written.
        state.withLock(inChild: ()) { $0.usage = max(tidying.usage, capacity - capacity / 8) }
    }

    // MARK: At exit

    /// Caches with pending changes, which are written before the process ends.
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

/// Decides which files of a cache to remove so that the rest fits. Pure.
struct CacheTidying: Sendable {
    /// The names of the files to remove, in order.
    private(set) var gone: [String] = []
    /// The size of the remaining files in bytes.
    private(set) var usage: Int64 = 0

    /// A body without a record, or a temporary file, may belong to another process that is still writing. It is kept
    /// for this many seconds.
    private static let patience = 600.0

    /// - Parameters:
    ///   - files: all files.
    ///   - now: seconds since 1970.
    init(_ files: [CacheFolder.File], capacity: Int64, now: Double) {
        var groups: [String: Group] = [:]
        for file in files {
            if file.name.hasSuffix(CacheFileName.temporaryEnding) {
                // A time in the future is a mistake.
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
        // Leave some room, so that the next response does not start tidying again.
        let wanted = capacity - capacity / 10
        for group in groups.values.sorted(by: { ($0.used, $0.size) < ($1.used, $1.size) }) where usage > wanted {
            drop(group)
        }
    }

    private mutating func drop(_ group: Group) {
        // Remove the record first: the bodies that a record names must exist.
        gone += group.names.sorted {
            $0.hasSuffix(CacheFileName.recordEnding) && !$1.hasSuffix(CacheFileName.recordEnding)
        }
        usage -= group.size
    }

    /// The files of one URL, which are removed together.
    private struct Group {
        var names: [String] = []
        var size: Int64 = 0
        /// When its record was last used; nil without a record.
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
