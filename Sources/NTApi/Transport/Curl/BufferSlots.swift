/// Which places for receive buffers are taken. A pure value.
///
/// What came back last is given out first: it is in the processor's caches, and its memory is there. Once a crowd has gone,
/// the memory of all but a few goes back to the system.
struct BufferSlots {
    /// How many places that are free may keep their memory, whatever happens.
    static let kept = 64
    /// With so many taken it is a crowd.
    static let crowd = 128

    private let capacity: Int
    private var free: [UInt16] = []
    /// How many of `free`, from its beginning, have no memory.
    private var emptied = 0
    /// Places from here on were never taken.
    private var unused = 0
    private(set) var taken = 0
    /// The most that were taken since the system got memory back.
    private var peak = 0

    /// - Parameter capacity: how many places there are, at most 65,536.
    init(capacity: Int) { self.capacity = capacity }

    /// - Returns: nil when all are taken.
    mutating func take() -> Int? {
        let slot: Int
        if let last = free.popLast() {
            slot = Int(last)
            emptied = min(emptied, free.count)
        } else {
            guard unused < capacity else { return nil }
            slot = unused
            unused += 1
        }
        taken += 1
        peak = max(peak, taken)
        return slot
    }

    /// - Returns: whether a crowd has gone, so that `empty` is to follow.
    mutating func giveBack(_ slot: Int) -> Bool {
        free.append(UInt16(truncatingIfNeeded: slot))
        taken -= 1
        return peak >= Self.crowd && taken < peak / 4
    }

    /// - Returns: places whose memory the system is to get back.
    mutating func empty() -> ArraySlice<UInt16> {
        peak = taken
        let end = max(emptied, free.count - Self.kept)
        defer { emptied = end }
        return free[emptied..<end]
    }
}
