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
        // A small hash table of the keys seen, of which at most a quarter is taken. It is on the stack.
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 4 * most) { table in
            let bits = Int.bitWidth - (4 * count).leadingZeroBitCount
            let slots = min(1 << bits, table.count)
            table[..<slots].initialize(repeating: 0)
            var comparisons = 0
            var position = index + 2
            for _ in 0..<count {
                guard tape.kind(position) == .plainString else { return .indexed }
                let key = tape.bytes(position)
                var slot = Int(truncatingIfNeeded: hash(key) >> UInt64(64 - bits)) & (slots - 1)
                // No place of a key is 0: the object comes before.
                while table[slot] != 0 {
                    if tape.bytes(Int(table[slot])).isEqual(to: key) { return .indexed }
                    // Keys made to collide must not cost more than the index, whose hash no one can foresee.
                    comparisons += 1
                    guard comparisons <= 4 * most else { return .indexed }
                    slot = (slot + 1) & (slots - 1)
                }
                table[slot] = UInt32(truncatingIfNeeded: position)
                position = tape.next(position + 1)
            }
            return .plain
        }
    }

    private static func hash(_ key: UnsafeRawBufferPointer) -> UInt64 {
        var hash = UInt64(truncatingIfNeeded: key.count)
        if key.count >= 8 {
            hash ^= key.loadUnaligned(as: UInt64.self)
            hash &*= 0x9E37_79B9_7F4A_7C15
            hash ^= key.loadUnaligned(fromByteOffset: key.count - 8, as: UInt64.self)
        } else {
            for byte in key { hash = hash << 8 ^ UInt64(byte) ^ hash >> 56 }
        }
        return hash &* 0x9E37_79B9_7F4A_7C15
    }
}
