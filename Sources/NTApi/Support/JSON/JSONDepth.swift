/// The limit of nesting: jansson parses 2,048 levels, and frees and copies by recursion, so nothing deeper may be built.
///
/// The height of a value is 0 for a scalar, 1 for `[]`, 2 for `[[]]`. Measuring it takes a walk over the whole value, which
/// building in a loop (`a = [a]`) would turn quadratic. So each `JSONNode` carries an upper bound, which building adds
/// up at no cost, and a walk is taken only where the bound alone would forbid what is asked.
enum JSONDepth {
    static let limit = 2048

    /// A new reference to put into an array or object, with a bound of its height: null where the limit would be passed.
    static func fit(_ node: JSONNode) -> (JSONRef, heightBound: Int) {
        node.read { ref in
            let bound = node.heightBound < limit ? node.heightBound : height(of: ref, limit: limit - 1)
            guard let bound else { return (JSONRef.null(), 0) }
            ref.retain()
            return (ref, bound)
        }
    }

    /// The exact height; nil when it is more than `limit`, which is also how a tree that contains itself ends.
    static func height(of ref: JSONRef, limit: Int) -> Int? {
        var height = 0
        var open: [JSONCursor] = ref.isContainer ? [JSONCursor(ref)] : []
        while var cursor = open.popLast() {
            height = max(height, open.count + 1)
            guard height <= limit else { return nil }
            guard let child = cursor.next() else { continue }
            open.append(cursor)
            if child.ref.isContainer { open.append(JSONCursor(child.ref)) }
        }
        return height
    }

    /// A bound for a value that was parsed: each level takes two bytes.
    static func heightBound(ofParsedBytes count: Int) -> Int { min(limit, count / 2) }
}
