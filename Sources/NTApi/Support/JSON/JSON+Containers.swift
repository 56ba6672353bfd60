extension JSON {
    /// How many elements the array, or members the object, has; 0 for any other kind.
    public var count: Int { node.read { $0.count } }

    /// The keys of the object in document order; empty for any other kind.
    public var keys: [String] {
        kind == .object ? children { key, _ in String(decoding: key, as: UTF8.self) } : []
    }

    /// The elements of the array; nil for any other kind.
    public var array: [JSON]? {
        kind == .array ? children { _, value in value } : nil
    }

    /// The members of the object in document order; nil for any other kind.
    ///
    /// Keys are unique. Of duplicate keys in the text the last value won, in the place of the first.
    public var object: [(key: String, value: JSON)]? {
        kind == .object ? children { key, value in (String(decoding: key, as: UTF8.self), value) } : nil
    }

    /// The member of the object with this key; nil when there is none or this is no object.
    ///
    /// Keys compare by their bytes, as RFC 8259 section 8.3 advises: "é" composed and decomposed are two keys.
    public subscript(key: String) -> JSON? {
        node.read { ref in ref.member(key).map { JSON(child: $0, of: self) } }
    }

    /// The element of the array at this index; nil when the index is negative or too large, or this is no array.
    public subscript(index: Int) -> JSON? {
        node.read { ref in ref.element(index).map { JSON(child: $0, of: self) } }
    }

    /// The value at a path such as `list[0].name` or `headers["X-Y"]`; nil when nothing is there.
    ///
    /// Keys are separated by dots and indexes stand in brackets. A key that is empty or contains any of `.[]"` stands in
    /// brackets and quotes, where `\"` and `\\` are the quote and the backslash. The empty path is the value itself. A
    /// malformed path is nil too.
    public subscript(path path: String) -> JSON? {
        guard let path = JSONPath(path) else { return nil }
        return self[path]
    }

    subscript(path: JSONPath) -> JSON? {
        // The values between are only passed through, so they get no JSONNode: this one keeps the whole tree alive.
        node.read { ref in
            var ref = ref
            for step in path.steps {
                let next =
                    switch step {
                    case .key(let key): ref.member(key)
                    case .index(let index): ref.element(index)
                    }
                guard let next else { return nil }
                ref = next
            }
            return path.steps.isEmpty ? self : JSON(child: ref, of: self)
        }
    }

    private func children<T>(_ transform: (UnsafeRawBufferPointer, JSON) -> T) -> [T] {
        node.read { ref in
            var result: [T] = []
            result.reserveCapacity(ref.count)
            var cursor = JSONCursor(ref)
            while let child = cursor.next() { result.append(transform(child.key, JSON(child: child.ref, of: self))) }
            return result
        }
    }

    /// A value inside `parent`.
    private init(child: JSONRef, of parent: JSON) {
        node = JSONNode(sharing: child, heightBound: max(0, parent.node.heightBound - 1))
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
