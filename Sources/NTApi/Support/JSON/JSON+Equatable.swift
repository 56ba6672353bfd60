extension JSON: Equatable {
    /// Whether two values are the same: numbers by value (1 equals 1.0), strings by bytes, objects in any order.
    public static func == (left: JSON, right: JSON) -> Bool {
        left.node.read { left in right.node.read { right in areEqual(left, right) } }
    }

    private static func areEqual(_ left: JSONRef, _ right: JSONRef) -> Bool {
        var pairs = [(left, right)]
        while let (left, right) = pairs.popLast() {
            if left == right { continue }
            guard left.isContainer else {
                guard areEqualScalars(left, right) else { return false }
                continue
            }
            guard left.kind == right.kind, left.count == right.count else { return false }
            // Keys are unique, so with equal counts it is enough that each key of the left is on the right.
            let isObject = left.kind == .object
            var cursor = JSONCursor(left)
            var index = 0
            while let child = cursor.next() {
                guard let other = isObject ? right.member(child.key) : right.element(index) else { return false }
                pairs.append((child.ref, other))
                index += 1
            }
        }
        return true
    }

    private static func areEqualScalars(_ left: JSONRef, _ right: JSONRef) -> Bool {
        switch (left.kind, right.kind) {
        case (.null, .null): true
        case (.bool, .bool): left.bool == right.bool
        case (.string, .string): left.utf8?.elementsEqual(right.utf8 ?? .init(start: nil, count: 0)) ?? false
        case (.int, .int): left.integer == right.integer
        case (.double, .double): left.real == right.real
        // Swift compares an integer and a double by their exact values: 2^53 + 1 does not equal 2^53 as a double.
        case (.int, .double): left.integer == right.integralReal
        case (.double, .int): left.integralReal == right.integer
        default: false
        }
    }
}
