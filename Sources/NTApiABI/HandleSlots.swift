import Synchronization

/// The slots of all handles, in chunks of growing size that are never freed, so that a slot's address is for ever.
enum HandleSlots {
    private typealias Chunk = UnsafeMutablePointer<HandleSlot>

    private static let firstChunk = 256
    /// Chunks of 256, 512, 1,024 and so on; with these all numbers that fit into a handle are covered.
    private static let chunkCount = UInt.bitWidth / 2 - 9
    private static let capacity = firstChunk << chunkCount - firstChunk

    // Safe to share: made once and never freed, and what is in it is atomic.
    nonisolated(unsafe) private static let chunks: UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>> = {
        let chunks = UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>>.allocate(capacity: chunkCount)
        for number in 0..<chunkCount { (chunks + number).initialize(to: Atomic(nil)) }
        return chunks
    }()

    /// How many slots were ever used.
    private static let used = Atomic<Int>(0)

    /// The empty slots among them, as a stack: number of the first one plus 1 (0 is none), and above it a count of the
    /// changes. The count is for a thread that has looked at the first slot and its next one when others take both and
    /// give the first one back: the first one is the same then, but its next one is not.
    private static let empty = Atomic<UInt64>(0)

    /// The slot of a number that a handle may have made up.
    static func slot(_ index: Int) -> UnsafeMutablePointer<HandleSlot>? {
        guard index < capacity else { return nil }
        let (number, offset) = place(index)
        return chunks[number].load(ordering: .acquiring).map {
            $0.assumingMemoryBound(to: HandleSlot.self) + offset
        }
    }

    /// An empty slot that nobody else has; nil when there is none to be had.
    static func take() -> (index: Int, slot: UnsafeMutablePointer<HandleSlot>)? {
        var first = empty.load(ordering: .acquiring)
        while first & 0xFFFF_FFFF != 0 {
            let index = Int(first & 0xFFFF_FFFF) - 1
            guard let slot = slot(index) else { return nil }
            let next = UInt64(slot.pointee.nextEmpty.load(ordering: .relaxed))
            let (done, now) = empty.compareExchange(
                expected: first, desired: changed(first, to: next), ordering: .acquiringAndReleasing)
            if done { return (index, slot) }
            first = now
        }
        let index = used.add(1, ordering: .relaxed).oldValue
        guard index < capacity else {
            used.subtract(1, ordering: .relaxed)
            return nil
        }
        return slot(index, addingChunk: true).map { (index, $0) }
    }

    static func giveBack(_ index: Int, _ slot: UnsafeMutablePointer<HandleSlot>) {
        var first = empty.load(ordering: .relaxed)
        while true {
            slot.pointee.nextEmpty.store(UInt32(truncatingIfNeeded: first), ordering: .relaxed)
            let (done, now) = empty.compareExchange(
                expected: first, desired: changed(first, to: UInt64(index + 1)), ordering: .acquiringAndReleasing)
            if done { return }
            first = now
        }
    }

    private static func changed(_ word: UInt64, to first: UInt64) -> UInt64 { (word >> 32 &+ 1) << 32 | first }

    /// Which chunk, and where in it.
    private static func place(_ index: Int) -> (chunk: Int, offset: Int) {
        let number = index + firstChunk
        let chunk = Int.bitWidth - 1 - number.leadingZeroBitCount
        return (chunk - firstChunk.trailingZeroBitCount, number - 1 << chunk)
    }

    private static func slot(_ index: Int, addingChunk: Bool) -> UnsafeMutablePointer<HandleSlot>? {
        if let slot = slot(index) { return slot }
        let number = place(index).chunk
        let count = firstChunk << number
        let made = Chunk.allocate(capacity: count)
        for offset in 0..<count { (made + offset).initialize(to: HandleSlot()) }
        let (done, _) = chunks[number].compareExchange(
            expected: nil, desired: UnsafeMutableRawPointer(made), ordering: .acquiringAndReleasing)
        if !done {
            made.deinitialize(count: count)
            made.deallocate()
        }
        return slot(index)
    }
}
