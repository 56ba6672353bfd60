/// The limit of nesting: RFC 8259 section 9 allows one, and freeing a value that was built, or a tree of jansson, recurses.
///
/// The height of a value is 0 for a scalar, 1 for `[]`, 2 for `[[]]`. Measuring it takes a walk over the whole value, which
/// building in a loop (`a = [a]`) would turn quadratic. So each array and object carries an upper bound, which building
/// adds up at no cost, and a walk is taken only where the bound alone would forbid what is asked.
enum JSONDepth {
    static let limit = 2048

    /// A value to put into an array or object, with a bound of its height: null where the limit would be passed.
    static func fit(_ value: JSON) -> (JSON, heightBound: Int) {
        let bound = heightBound(value)
        if bound < limit { return (value, bound) }
        guard let height = height(of: value, limit: limit - 1) else { return (.null, 0) }
        return (value, height)
    }

    /// The exact height; nil when it is more than `limit`.
    static func height(of value: JSON, limit: Int) -> Int? {
        var height = 0
        var open: [JSONCursor] = value.isContainer ? [JSONCursor(value)] : []
        while var cursor = open.popLast() {
            height = max(height, open.count + 1)
            guard height <= limit else { return nil }
            guard let child = cursor.next() else { continue }
            open.append(cursor)
            if child.value.isContainer { open.append(JSONCursor(child.value)) }
        }
        return height
    }

    private static func heightBound(_ value: JSON) -> Int {
        switch value.storage {
        case .array(let array): array.heightBound
        case .object(let object): object.heightBound
        // That of the whole document, if this is no scalar.
        case .parsed(let document, let index): document.tape.isContainer(Int(index)) ? document.height : 0
        default: 0
        }
    }
}

extension JSON {
    var isContainer: Bool { kind == .array || kind == .object }
}
