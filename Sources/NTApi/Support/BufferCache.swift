#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Buffers of bodies that are gone, kept for the next ones.
///
/// Freed at the end of the heap, a large buffer goes back to the system, and the next body gets it again page by page:
/// for 100 KB that costs more than to receive them. A few are kept, never more than 2 MB in all.
enum BufferCache {
    /// From this size on it is worth it.
    static let leastSize = 32 * 1024
    private static let mostBytes = 2 << 20

    private struct State: @unchecked Sendable {
        // Safe to share: nobody else has the pointers, and they leave the list before somebody has them.
        var buffers: [(start: UnsafeMutableRawPointer, size: Int)] = []
        var bytes = 0
    }

    private static let state = Lock(State(), survivesFork: true)

    /// A buffer of at least this size, and not of more than twice as much; its content is anything.
    static func take(atLeast size: Int) -> (start: UnsafeMutableRawPointer, size: Int)? {
        state.withLock { state in
            let index = state.buffers.lastIndex { $0.size >= size && $0.size / 2 <= size }
            guard let index else { return nil }
            let buffer = state.buffers.remove(at: index)
            state.bytes -= buffer.size
            return buffer
        }
    }

    /// Takes a buffer over; frees it when there are enough.
    static func give(_ start: UnsafeMutableRawPointer, size: Int) {
        let isKept = state.withLock { state in
            guard state.bytes + size <= mostBytes else { return false }
            state.buffers.append((start, size))
            state.bytes += size
            return true
        }
        if !isKept { free(start) }
    }
}
