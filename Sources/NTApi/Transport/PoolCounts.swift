/// How many exchanges to one host run in each of the loop's pools of connections. A pure value.
///
/// An exchange goes to the first pool that has room. So later pools are used only while the ones before are full, and all
/// together never open more connections than exchanges ran at once, of those with the same limit.
struct PoolCounts {
    /// How many exchanges to one host a pool has room for.
    static let capacity = 256

    private var first = 0
    private var others: [Int] = []

    /// An exchange starts.
    ///
    /// - Parameters:
    ///   - maySpread: whether any pool will do; otherwise it is the first, full or not.
    ///   - skipsFirst: whether it may be any but the first.
    /// - Returns: the number of its pool.
    mutating func enter(maySpread: Bool, skipsFirst: Bool = false) -> Int {
        if !skipsFirst, first < Self.capacity || !maySpread {
            first += 1
            return 0
        }
        guard let index = others.firstIndex(where: { $0 < Self.capacity }) else {
            others.append(1)
            return others.count
        }
        others[index] += 1
        return index + 1
    }

    /// An exchange that was in this pool is over.
    mutating func leave(_ pool: Int) {
        if pool == 0 { first -= 1 } else { others[pool - 1] -= 1 }
    }
}
