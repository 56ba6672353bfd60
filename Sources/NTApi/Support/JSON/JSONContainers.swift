/// An array made by the program.
final class JSONArray: Sendable {
    let elements: [JSON]
    /// See `JSONDepth`.
    let heightBound: Int

    init(_ elements: [JSON]) {
        var height = 0
        self.elements = elements.map { element in
            let (child, bound) = JSONDepth.fit(element)
            height = max(height, bound)
            return child
        }
        heightBound = height + 1
    }
}

/// An object made by the program. Keys are unique: the last of duplicates stands, in the place of the first.
final class JSONObject: Sendable {
    let members: [(key: Bytes, value: JSON)]
    /// See `JSONDepth`.
    let heightBound: Int
    /// The members' numbers; nil where they are so few that comparing one by one is quicker.
    private let numbers: [JSONKey: Int]?

    init(_ given: [(key: Bytes, value: JSON)]) {
        var members: [(key: Bytes, value: JSON)] = []
        members.reserveCapacity(given.count)
        var numbers: [JSONKey: Int]? = given.count > 16 ? [:] : nil
        var height = 0
        for (key, value) in given {
            let (child, bound) = JSONDepth.fit(value)
            height = max(height, bound)
            let known =
                numbers.map { $0[JSONKey(bytes: key)] } ?? members.firstIndex { $0.key.buffer.isEqual(to: key.buffer) }
            if let known {
                members[known].value = child
            } else {
                numbers?[JSONKey(bytes: key)] = members.count
                members.append((key, child))
            }
        }
        self.members = members
        self.numbers = numbers
        heightBound = height + 1
    }

    func member(_ key: UnsafeRawBufferPointer) -> JSON? {
        guard let numbers else { return members.first { $0.key.buffer.isEqual(to: key) }?.value }
        return numbers[JSONKey(bytes: Bytes.copy(key) ?? .empty)].map { members[$0].value }
    }
}

/// A key in a hash table. Compares by bytes, where `String` takes "é" composed and decomposed for the same.
private struct JSONKey: Hashable {
    let bytes: Bytes

    static func == (left: Self, right: Self) -> Bool { left.bytes.buffer.isEqual(to: right.bytes.buffer) }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes: bytes.buffer) }
}

extension Bytes {
    /// Bytes of its own; nil when there is no memory.
    static func copy(_ source: UnsafeRawBufferPointer) -> Bytes? {
        let bytes = Bytes()
        return bytes.reserve(source.count) && bytes.append(source) ? bytes : nil
    }

    /// The UTF-8 of a text; empty when there is no memory.
    static func copy(_ text: String) -> Bytes {
        var text = text
        return text.withUTF8 { copy(UnsafeRawBufferPointer($0)) } ?? .empty
    }
}
