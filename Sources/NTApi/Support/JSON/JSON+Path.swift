extension JSON {
    /// The value at a path such as `list[0].name` or `headers["X-Y"]`; nil when nothing is there.
    ///
    /// Keys are separated by dots and indexes stand in brackets. A key that is empty or contains any of `.[]"` stands in
    /// brackets and quotes, where `\"` and `\\` are the quote and the backslash. The empty path is the value itself. A
    /// malformed path is nil too.
    public subscript(path path: String) -> JSON? {
        var path = path
        return path.withUTF8 { value(atPath: UnsafeRawBufferPointer($0)) }
    }

    /// The value at a path in UTF-8.
    package func value(atPath path: UnsafeRawBufferPointer) -> JSON? {
        guard case .parsed(let document, let start) = storage else {
            var value: JSON? = self
            let isFound = JSONPathReader.read(path) { step in
                switch step {
                case .key(let key): value = value?.member(key)
                case .index(let index): value = value?[index]
                }
                return value != nil
            }
            return isFound ? value : nil
        }
        return document.place(atPath: path, from: Int(start)).map { JSON(document, $0) }
    }
}

extension JSONDocument {
    /// Where the value at a path from a place is. The values between are only passed through.
    func place(atPath path: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var place = start
        let isFound = JSONPathReader.read(path) { step in
            let next: Int? =
                switch (step, tape.kind(place)) {
                case (.key(let key), .object): member(key, of: place)
                case (.index(let index), .array): element(index, of: place)
                default: nil
                }
            place = next ?? place
            return next != nil
        }
        return isFound ? place : nil
    }
}
