/// The threads that wait until a count is large enough. Belongs to the state of what counts, under its lock.
struct CountWatchers {
    /// A thread that waits.
    final class Watcher: Sendable {
        fileprivate let count: Int
        private let isThere = Monitor(false)

        fileprivate init(_ count: Int) { self.count = count }

        func tell() {
            isThere.withLock(inChild: ()) { $0 = true }
            isThere.broadcast()
        }

        /// - Parameter timeout: seconds of the system's time; nil waits for ever.
        /// - Returns: false when the timeout has passed before it was told.
        func wait(timeout: Double?) -> Bool {
            let deadline = timeout.map { MonotonicTime.now().advanced(bySeconds: $0) } ?? .distantFuture
            return DeliveryRuntime.current.workers.whileBlocked {
                isThere.wait(until: deadline) { $0 ? true : nil } ?? false
            }
        }
    }

    private var watchers: [Watcher] = []

    mutating func add(_ count: Int) -> Watcher {
        let watcher = Watcher(count)
        watchers.append(watcher)
        return watcher
    }

    mutating func remove(_ watcher: Watcher) { watchers.removeAll { $0 === watcher } }

    /// - Returns: those that are to be told, which are removed.
    mutating func reached(_ count: Int) -> [Watcher] {
        guard !watchers.isEmpty else { return [] }
        defer { watchers.removeAll { $0.count <= count } }
        return watchers.filter { $0.count <= count }
    }
}
