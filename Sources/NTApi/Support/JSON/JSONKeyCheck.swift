/// Finds out whether an object's keys are plain: few, unique, and without escapes.
///
/// Then a look-up compares one after another and ends at the first that is equal. Where it is not so, for the last of
/// duplicates wins, a `JSONObjectIndex` is made.
enum JSONKeyCheck {
    /// With more members, a look-up by hash is quicker.
    static let most = 64

    static func keys(of index: Int, in tape: JSONTape) -> JSONTape.Keys {
        let count = tape.count(index)
        guard count <= most else { return .indexed }
        // A small hash table of the keys seen, of which at most half is taken. Up to 1 KB is on the stack.
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 4 * most) { buffer in
            guard let table = buffer.baseAddress else { return .indexed }
            // At most 8, since 2 × 64 is below 2^8.
            let bits = Int.bitWidth - (2 * count).leadingZeroBitCount
            let mask = 1 << bits - 1
            table.initialize(repeating: 0, count: mask + 1)
            var comparisons = 0
            var position = index + 2
            for _ in 0..<count {
                guard tape.kind(position) == .plainString else { return .indexed }
                let key = tape.bytes(position)
                var slot = Int(truncatingIfNeeded: hash(key) >> UInt64(64 - bits))
                // No place of a key is 0: the object comes before.
                while table[slot] != 0 {
                    if tape.bytes(Int(table[slot])).isEqual(to: key) { return .indexed }
                    // Keys made to collide must not cost more than the index, whose hash no one can foresee.
                    comparisons += 1
                    guard comparisons <= 4 * most else { return .indexed }
                    slot = (slot + 1) & mask
                }
                table[slot] = UInt32(truncatingIfNeeded: position)
                position = tape.next(position + 1)
            }
            return .plain
        }
    }

    /// Of the length and up to 16 bytes, at both ends, where keys differ most.
    @inline(__always)
    static func hash(_ key: UnsafeRawBufferPointer) -> UInt64 {
        let count = key.count
        let first: UInt64
        let last: UInt64
        if count >= 8 {
            first = key.loadUnaligned(as: UInt64.self)
            last = key.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        } else if count >= 4 {
            first = UInt64(key.loadUnaligned(as: UInt32.self))
            last = UInt64(key.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
        } else if count > 0 {
            first = UInt64(key[0]) << 8 | UInt64(key[count / 2])
            last = UInt64(key[count - 1])
        } else {
            return 0
        }
        let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15
        return ((first ^ UInt64(truncatingIfNeeded: count)) &* multiplier ^ last) &* multiplier
    }
}
