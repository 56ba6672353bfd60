extension JSON: Equatable {
    /// Whether two values are the same: numbers by value (1 equals 1.0), strings by bytes, objects in any order.
    public static func == (left: JSON, right: JSON) -> Bool {
        var pairs = [(left, right)]
        while let (left, right) = pairs.popLast() {
            if left.isSame(as: right) { continue }
            guard left.kind == .array || left.kind == .object else {
                guard areEqualScalars(left, right) else { return false }
                continue
            }
            // Keys are unique, so with equal counts it is enough that each key of the left is on the right.
            guard left.kind == right.kind, left.count == right.count else { return false }
            var leftCursor = JSONCursor(left)
            var rightCursor = JSONCursor(right)
            while let child = leftCursor.next() {
                // Most often it stands at the same place.
                let other = rightCursor.next()
                guard let key = child.key else {
                    guard let other else { return false }
                    pairs.append((child.value, other.value))
                    continue
                }
                let value = key.withUTF8 { key in
                    other?.key?.withUTF8({ $0.isEqual(to: key) }) == true ? other?.value : right.member(key)
                }
                guard let value else { return false }
                pairs.append((child.value, value))
            }
        }
        return true
    }

    /// Whether this is one value in one place: no look at what it contains is needed.
    private func isSame(as other: JSON) -> Bool {
        switch (storage, other.storage) {
        case (.array(let left), .array(let right)): left === right
        case (.object(let left), .object(let right)): left === right
        case (.parsed(let left, let leftIndex), .parsed(let right, let rightIndex)):
            left === right && leftIndex == rightIndex
        default: false
        }
    }

    private static func areEqualScalars(_ left: JSON, _ right: JSON) -> Bool {
        switch (left.kind, right.kind) {
        case (.null, .null): true
        case (.bool, .bool): left.bool == right.bool
        case (.string, .string): left.withUTF8 { left in right.withUTF8 { $0.isEqual(to: left) } } == true
        case (.int, .int): left.int64 == right.int64
        case (.double, .double): left.double == right.double
        // Swift compares an integer and a double by their exact values: 2^53 + 1 does not equal 2^53 as a double.
        case (.int, .double), (.double, .int): left.int64 != nil && left.int64 == right.int64
        default: false
        }
    }

    /// Lends the bytes of a string, without escapes; nil for any other kind.
    func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        switch storage {
        case .string(let bytes): body(bytes.buffer)
        case .parsed(let document, let index): document.withUTF8(at: Int(index), body)
        default: nil
        }
    }
}
