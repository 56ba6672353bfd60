/// A member of a C struct, and where its value is in the JSON.
package struct JSONField: Sendable {
    package enum Kind: Sendable {
        case bool
        case int
        case uint
        case double
        case string
        case url
        case date([DateFormat])
        indirect case object(JSONFieldTable)
        /// A pointer to the first element, with the count in another member.
        indirect case array(of: Kind, size: Int, countOffset: Int)
    }

    let path: String
    let kind: Kind
    let offset: Int
    /// The size of the member in bytes.
    let size: Int
    let isOptional: Bool
    let takesStrings: Bool
    let takesLooseBooleans: Bool

    /// - Parameters:
    ///   - takesStrings: whether a string such as "5.0" counts as a number.
    ///   - takesLooseBooleans: whether 1, "1" and "true" count as a boolean.
    package init(
        path: String, kind: Kind, offset: Int, size: Int, isOptional: Bool, takesStrings: Bool,
        takesLooseBooleans: Bool
    ) {
        self.path = path
        self.kind = kind
        self.offset = offset
        self.size = size
        self.isOptional = isOptional
        self.takesStrings = takesStrings
        self.takesLooseBooleans = takesLooseBooleans
    }

    /// What is wrong with the field in a struct of this many bytes; nil when nothing is.
    package func problem(inStructOf total: Int) -> String? {
        guard fits(offset, size, total) else {
            return "the member of \(size) bytes at offset \(offset) is not in the struct of \(total) bytes"
        }
        guard JSONPath(path) != nil else { return "the path is malformed" }
        if case .array(let element, let size, let countOffset) = kind {
            guard fits(countOffset, MemoryLayout<Int>.size, total) else {
                return "the count at offset \(countOffset) is not in the struct of \(total) bytes"
            }
            return Self.sizes(of: element).contains(size) ? nil : "an element cannot have \(size) bytes"
        }
        return Self.sizes(of: kind).contains(size) ? nil : "a member of this kind cannot have \(size) bytes"
    }

    private func fits(_ offset: Int, _ size: Int, _ total: Int) -> Bool {
        offset >= 0 && size > 0 && size <= total && offset <= total - size
    }

    /// The sizes that a member of this kind may have.
    private static func sizes(of kind: Kind) -> [Int] {
        switch kind {
        case .bool: [MemoryLayout<Bool>.size]
        case .int, .uint: [1, 2, 4, 8]
        case .double: [4, 8]
        case .string, .url, .array: [MemoryLayout<UnsafeRawPointer>.size]
        case .date: [MemoryLayout<Double>.size]
        case .object(let table): [table.size]
        }
    }
}

/// The fields of a struct. A class, because the elements of a struct may have the struct's own type.
package final class JSONFieldTable: @unchecked Sendable {
    // Safe to share: set once, before anyone else has it.
    package var fields: [JSONField] = []
    /// The size of the struct in bytes.
    package let size: Int

    package init(size: Int) { self.size = size }
}
