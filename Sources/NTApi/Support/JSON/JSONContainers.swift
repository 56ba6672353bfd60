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

/// An object made by the program. Keys are unique: of duplicates the last value counts, at the position of the first.
final class JSONObject: Sendable {
    let members: [(key: Bytes, value: JSON)]
    /// See `JSONDepth`.
    let heightBound: Int
    /// The members' numbers by key; nil for few members, where comparing one by one is faster.
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

/// A key in a hash table. Compares bytes, whereas `String` treats "é" composed and decomposed as equal.
private struct JSONKey: Hashable {
    let bytes: Bytes

    static func == (left: Self, right: Self) -> Bool { left.bytes.buffer.isEqual(to: right.bytes.buffer) }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes: bytes.buffer) }
}

extension Bytes {
    /// A copy of the bytes; nil when there is no memory.
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

extension JSON {
    /// How many elements the array, or members the object, has; 0 for any other kind.
    public var count: Int {
        switch storage {
        case .array(let array): array.elements.count
        case .object(let object): object.members.count
        case .parsed(let document, let index): document.count(of: Int(index))
        default: 0
        }
    }

    /// The keys of the object in document order; empty for any other kind.
    public var keys: [String] {
        children { $0.key?.string }
    }

    /// The elements of the array; nil for any other kind.
    public var array: [JSON]? {
        kind == .array ? children { $0.value } : nil
    }

    /// The members of the object in document order; nil for any other kind.
    ///
    /// Keys are unique. Of duplicate keys in the text the last value wins, at the position of the first.
    public var object: [(key: String, value: JSON)]? {
        guard kind == .object else { return nil }
        return children { child in child.key.map { ($0.string, child.value) } }
    }

    /// The member of the object with this key; nil when there is none or this is not an object.
    ///
    /// Keys compare by their bytes, as RFC 8259, 8.3 advises: "é" composed and decomposed are two keys.
    public subscript(key: String) -> JSON? {
        var key = key
        return key.withUTF8 { member(UnsafeRawBufferPointer($0)) }
    }

    /// The element of the array at this index; nil when the index is negative or too large, or this is not an array.
    public subscript(index: Int) -> JSON? {
        switch storage {
        case .array(let array):
            return array.elements.indices.contains(index) ? array.elements[index] : nil
        case .parsed(let document, let place) where document.tape.kind(Int(place)) == .array:
            return document.element(index, of: Int(place)).map { JSON(document, $0) }
        default: return nil
        }
    }

    func member(_ key: UnsafeRawBufferPointer) -> JSON? {
        switch storage {
        case .object(let object): object.member(key)
        case .parsed(let document, let place) where document.tape.kind(Int(place)) == .object:
            document.member(key, of: Int(place)).map { JSON(document, $0) }
        default: nil
        }
    }

    private func children<T>(_ transform: (JSONCursor.Child) -> T?) -> [T] {
        var result: [T] = []
        var cursor = JSONCursor(self)
        result.reserveCapacity(count)
        while let child = cursor.next() {
            if let value = transform(child) { result.append(value) }
        }
        return result
    }
}

/// Lets optional chains read naturally: `response.json?["list"]?[0]?["name"]?.string`, or without the question marks.
extension Optional where Wrapped == JSON {
    /// The member with this key of the wrapped object; nil when anything is missing.
    public subscript(key: String) -> JSON? {
        self.flatMap { $0[key] }
    }

    /// The element at this index of the wrapped array; nil when anything is missing.
    public subscript(index: Int) -> JSON? {
        self.flatMap { $0[index] }
    }
}
