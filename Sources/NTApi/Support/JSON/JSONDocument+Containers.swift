// Arrays and objects of a document: how many, which, and where. An object's keys are looked at when it is first read.
extension JSONDocument {
    /// The members of an object.
    enum Members {
        /// As many as the tape says, one behind the other.
        case plain
        case indexed(JSONObjectIndex)
    }

    func members(of index: Int) -> Members {
        var keys = tape.keys(index)
        if keys == .unknown {
            keys = JSONKeyCheck.keys(of: index, in: tape)
            tape.setKeys(index, keys)
        }
        return keys == .plain ? .plain : .indexed(objectIndex(index))
    }

    /// How many elements an array has, or members an object; 0 for a scalar.
    func count(of index: Int) -> Int {
        guard tape.isContainer(index) else { return 0 }
        guard tape.kind(index) == .object, case .indexed(let members) = members(of: index) else {
            return tape.count(index)
        }
        return members.count
    }

    /// The member of an object with this key.
    func member(_ key: UnsafeRawBufferPointer, of index: Int) -> Int? {
        switch members(of: index) {
        case .indexed(let members): return members.value(key)
        case .plain:
            var position = index + 2
            for _ in 0..<tape.count(index) {
                if tape.bytes(position).isEqual(to: key) { return position + 1 }
                position = tape.next(position + 1)
            }
            return nil
        }
    }

    /// The place of an object's key, in document order.
    func key(at number: Int, of index: Int) -> Int? {
        switch members(of: index) {
        case .indexed(let members): return members.key(at: number)
        case .plain:
            guard number >= 0, number < tape.count(index) else { return nil }
            var position = index + 2
            for _ in 0..<number { position = tape.next(position + 1) }
            return position
        }
    }

    /// The place of an element of an array.
    func element(_ number: Int, of index: Int) -> Int? {
        let count = tape.count(index)
        guard number >= 0, number < count else { return nil }
        // Scalars take a word each.
        if tape.next(index) == index + 2 + count { return index + 2 + number }
        if number >= JSONArrayIndex.stride { return arrayIndex(index).element(number, in: tape) }
        var position = index + 2
        for _ in 0..<number { position = tape.next(position) }
        return position
    }
}

/// The places of some elements of an array: of each 16th, so that any is found in a few hops.
final class JSONArrayIndex: Sendable {
    static let stride = 16

    private let places: [Int32]

    init(of index: Int, in tape: JSONTape) {
        var places: [Int32] = []
        let count = tape.count(index)
        places.reserveCapacity(count / Self.stride + 1)
        var position = index + 2
        for number in 0..<count {
            // A tape has less than 2^31 words.
            if number % Self.stride == 0 { places.append(Int32(truncatingIfNeeded: position)) }
            position = tape.next(position)
        }
        self.places = places
    }

    /// - Parameter number: of an element that there is.
    func element(_ number: Int, in tape: JSONTape) -> Int {
        var position = Int(places[number / Self.stride])
        for _ in 0..<(number % Self.stride) { position = tape.next(position) }
        return position
    }
}
