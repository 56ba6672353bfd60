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
    /// Keys are unique. Of duplicate keys in the text the last value won, in the place of the first.
    public var object: [(key: String, value: JSON)]? {
        guard kind == .object else { return nil }
        return children { child in child.key.map { ($0.string, child.value) } }
    }

    /// The member of the object with this key; nil when there is none or this is no object.
    ///
    /// Keys compare by their bytes, as RFC 8259 section 8.3 advises: "é" composed and decomposed are two keys.
    public subscript(key: String) -> JSON? {
        var key = key
        return key.withUTF8 { member(UnsafeRawBufferPointer($0)) }
    }

    /// The element of the array at this index; nil when the index is negative or too large, or this is no array.
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
