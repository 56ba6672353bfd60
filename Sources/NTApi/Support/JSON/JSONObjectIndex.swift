/// The members of one object of a document by their keys: for objects that are large, or have duplicate or escaped keys.
///
/// Of duplicates the last value stands, in the place of the first. Keys are hashed with a seed that no one who writes a
/// text can foresee.
final class JSONObjectIndex: @unchecked Sendable {
    // Safe to share: constant after `init`. Holds no more than places on the tape of the document that holds it.
    private let tape: JSONTape
    private var members: [(key: Int32, value: Int32)] = []
    /// Numbers of members plus one, by hash; 0 is free. At most half of the slots are taken.
    private var slots: [Int32] = []
    /// Keys that have escapes, without them, by their place.
    private var unescaped: [Int32: [UInt8]] = [:]

    init(of index: Int, in tape: JSONTape) {
        self.tape = tape
        let count = tape.count(index)
        members.reserveCapacity(count)
        var size = 4
        while size < 2 * count { size *= 2 }
        slots = Array(repeating: 0, count: size)
        var position = index + 2
        for _ in 0..<count {
            add(key: Int32(truncatingIfNeeded: position))
            position = tape.next(position + 1)
        }
    }

    var count: Int { members.count }

    func member(at number: Int) -> (key: Int, value: Int)? {
        guard members.indices.contains(number) else { return nil }
        return (Int(members[number].key), Int(members[number].value))
    }

    func key(at number: Int) -> Int? { member(at: number)?.key }

    func value(_ key: UnsafeRawBufferPointer) -> Int? {
        let number = slots[slot(of: key)]
        return number == 0 ? nil : Int(members[Int(number) - 1].value)
    }

    private func add(key place: Int32) {
        if tape.kind(Int(place)) == .escapedString {
            let raw = tape.bytes(Int(place))
            unescaped[place] = Array(unsafeUninitializedCapacity: raw.count) { buffer, count in
                count = buffer.baseAddress.map { JSONEscape.decode(raw, into: $0) } ?? 0
            }
        }
        withKey(place) { key in
            let slot = slot(of: key)
            if slots[slot] != 0 {
                members[Int(slots[slot]) - 1].value = place + 1
            } else {
                members.append((place, place + 1))
                slots[slot] = Int32(truncatingIfNeeded: members.count)
            }
        }
    }

    /// The slot of a key, or the free one where it belongs.
    private func slot(of key: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: key)
        var slot = hasher.finalize() & (slots.count - 1)
        while slots[slot] != 0 {
            if withKey(members[Int(slots[slot]) - 1].key, { $0.isEqual(to: key) }) { break }
            slot = (slot + 1) & (slots.count - 1)
        }
        return slot
    }

    private func withKey<Result>(_ place: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let key = unescaped[place] { return key.withUnsafeBytes(body) }
        return body(tape.bytes(Int(place)))
    }
}
