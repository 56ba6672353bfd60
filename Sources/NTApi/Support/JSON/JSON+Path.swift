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
        // On the tape the values between are only passed through.
        var place = Int(start)
        let isFound = JSONPathReader.read(path) { step in
            let next: Int? =
                switch (step, document.tape.kind(place)) {
                case (.key(let key), .object): document.member(key, of: place)
                case (.index(let index), .array): document.element(index, of: place)
                default: nil
                }
            place = next ?? place
            return next != nil
        }
        return isFound ? JSON(document, place) : nil
    }
}
