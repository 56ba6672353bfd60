#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The bytes of a body: filled by one thread, then frozen and shared without copying, with C too.
///
/// A NUL always follows the last byte, so that C may read text from it; it is not counted.
package final class Bytes: @unchecked Sendable {
    // Safe to share: only the filling thread writes, and it hands the object over (through a lock) when it is done.
    @exclusivity(unchecked) private var state = State()

    private struct State {
        var base: UnsafeMutablePointer<UInt8>?
        var capacity = 0
        var count = 0
    }

    package var count: Int { state.count }

    static let empty = Bytes()

    init() {}

    deinit {
        guard let base = state.base, state.capacity + 1 >= BufferCache.leastSize else { return free(state.base) }
        BufferCache.give(base, size: state.capacity + 1)
    }

    /// The bytes; valid as long as this object. `baseAddress` is nil as long as nothing was appended.
    package var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: state.base, count: state.count) }

    /// - Returns: false when there is no memory for so many bytes; nothing is appended then.
    func append(_ source: UnsafeRawBufferPointer) -> Bool {
        guard let from = source.baseAddress, !source.isEmpty else { return true }
        let (needed, overflow) = state.count.addingReportingOverflow(source.count)
        guard !overflow, needed <= state.capacity || grow(to: needed), let base = state.base else { return false }
        memcpy(base + state.count, from, source.count)
        state.count = needed
        base[state.count] = 0
        return true
    }

    /// Makes room at once for a length that was announced.
    func reserve(_ needed: Int) -> Bool { needed <= state.capacity || resize(to: needed) }

    private func grow(to needed: Int) -> Bool {
        let (doubled, overflow) = state.capacity.multipliedReportingOverflow(by: 2)
        return resize(to: max(needed, overflow ? needed : doubled, 4096))
    }

    private func resize(to wanted: Int) -> Bool {
        let (size, overflow) = wanted.addingReportingOverflow(1)
        guard !overflow else { return false }
        if state.base == nil, size >= BufferCache.leastSize, let kept = BufferCache.take(atLeast: size) {
            state.base = kept.start.assumingMemoryBound(to: UInt8.self)
            state.capacity = kept.size - 1
            return true
        }
        guard let moved = realloc(state.base, size) else { return false }
        state.base = moved.assumingMemoryBound(to: UInt8.self)
        state.capacity = wanted
        return true
    }
}
