extension JSON {
    /// The value at a path such as `list[0].name` or `headers["X-Y"]`; nil when nothing is there.
    ///
    /// Keys are separated by dots and indexes stand in brackets. A key that is empty or contains any of `.[]"` stands in
    /// brackets and quotes, where `\"` and `\\` are the quote and the backslash. The empty path is the value itself. A
    /// malformed path is nil too.
    public subscript(path path: String) -> JSON? {
        guard let path = JSONPath(path) else { return nil }
        var value = self
        for step in path.steps {
            let next =
                switch step {
                case .key(let key): value[key]
                case .index(let index): value[index]
                }
            guard let next else { return nil }
            value = next
        }
        return value
    }
}
