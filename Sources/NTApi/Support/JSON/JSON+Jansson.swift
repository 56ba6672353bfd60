import CJansson

// jansson's trees, which C programs pass in and out, and which jansson's loader makes from text.
extension JSON {
    /// The value as a new `json_t *`. The caller releases it with `json_decref`.
    package func jansson() -> OpaquePointer {
        JSONHashSeed.plant()
        // The open containers, each inside the previous one, with their remaining children.
        var open: [(tree: Tree, rest: JSONCursor)] = []
        let root = Self.tree(of: self)
        if isContainer { open.append((root, JSONCursor(self))) }
        while var container = open.popLast() {
            guard let child = container.rest.next() else { continue }
            open.append(container)
            let tree = container.tree
            let value = Self.tree(of: child.value)
            // The container takes the reference, and releases it when there is no memory.
            let isIn =
                if let key = child.key {
                    key.withUTF8 { key in
                        Self.withChars(key) { json_object_setn_new_nocheck(tree, $0, $1, value) }
                    } == 0
                } else {
                    json_array_append_new(tree, value) == 0
                }
            if isIn, child.value.isContainer { open.append((value, JSONCursor(child.value))) }
        }
        return OpaquePointer(root)
    }

    /// Copies a `json_t *`. It must not change during the call.
    ///
    /// - Returns: nil when it nests deeper than 2,048 levels, or contains itself.
    package init?(jansson root: UnsafeRawPointer) {
        let root = Tree(mutating: root.assumingMemoryBound(to: json_t.self))
        if let scalar = Self.scalar(root) {
            self = scalar
            return
        }
        var open = [JanssonCopy(root)]
        while true {
            let innermost = open.count - 1
            if let container = open[innermost].takeScalars() {
                guard open.count < JSONDepth.limit else { return nil }
                open.append(JanssonCopy(container))
                continue
            }
            let value = open[innermost].value
            open.removeLast()
            if innermost == 0 {
                self = value
                return
            }
            open[innermost - 1].take(value)
        }
    }

    fileprivate typealias Tree = UnsafeMutablePointer<json_t>

    /// A new reference to a scalar or to an empty container. Null when there is no memory.
    private static func tree(of value: JSON) -> Tree {
        let tree: Tree? =
            switch value.kind {
            case .null: json_null()
            case .bool: value.bool == true ? json_true() : json_false()
            case .int: json_integer(json_int_t(value.int64 ?? 0))
            case .double: json_real(value.double ?? 0)
            case .string: value.withUTF8 { withChars($0) { json_stringn_nocheck($0, $1) } } ?? nil
            case .array: json_array()
            case .object: json_object()
            }
        return tree ?? json_null()
    }

    /// Calls the body with bytes that always have an address: jansson treats NULL as an error.
    static func withChars<Result>(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafePointer<CChar>, Int) -> Result
    ) -> Result {
        guard let start = bytes.baseAddress else { return body("", 0) }
        return body(start.assumingMemoryBound(to: CChar.self), bytes.count)
    }

    /// The value of a scalar; nil for a container.
    fileprivate static func scalar(_ tree: Tree) -> JSON? {
        switch tree.pointee.type {
        case JSON_TRUE: return JSON(true)
        case JSON_FALSE: return JSON(false)
        case JSON_INTEGER: return JSON(Int64(json_integer_value(tree)))
        case JSON_REAL: return JSON(json_real_value(tree))
        case JSON_STRING:
            let bytes = UnsafeRawBufferPointer(start: json_string_value(tree), count: json_string_length(tree))
            return JSON(.string(Bytes.copy(bytes) ?? .empty))
        case JSON_ARRAY, JSON_OBJECT: return nil
        default: return .null
        }
    }
}

/// An array or object of jansson that is being copied.
private struct JanssonCopy {
    private let tree: JSON.Tree
    private let isObject: Bool
    private var index = 0
    private var iterator: UnsafeMutableRawPointer?
    private var key = Bytes.empty
    private var elements: [JSON] = []
    private var members: [(key: Bytes, value: JSON)] = []

    init(_ tree: JSON.Tree) {
        self.tree = tree
        isObject = tree.pointee.type == JSON_OBJECT
        iterator = json_object_iter(tree)
        if isObject {
            members.reserveCapacity(json_object_size(tree))
        } else {
            elements.reserveCapacity(json_array_size(tree))
        }
    }

    /// Copies the next scalars. Stops at an array or object and returns it; nil at the end.
    mutating func takeScalars() -> JSON.Tree? {
        while let child = next() {
            guard let scalar = JSON.scalar(child) else { return child }
            take(scalar)
        }
        return nil
    }

    private mutating func next() -> JSON.Tree? {
        guard isObject else {
            defer { index += 1 }
            // NULL after the end.
            return json_array_get(tree, index)
        }
        guard let position = iterator else { return nil }
        iterator = json_object_iter_next(tree, position)
        key =
            Bytes.copy(
                UnsafeRawBufferPointer(start: json_object_iter_key(position), count: json_object_iter_key_len(position))
            ) ?? .empty
        return json_object_iter_value(position)
    }

    mutating func take(_ child: JSON) {
        if isObject { members.append((key, child)) } else { elements.append(child) }
    }

    var value: JSON { isObject ? JSON(.object(JSONObject(members))) : JSON(elements) }
}

/// Seeds jansson's hash tables, once in the process, before the first object is made.
///
/// Otherwise jansson would seed them with the first object, and a second thread would spin until the first has read the
/// system's random numbers. A seed that the host program has set stays.
enum JSONHashSeed {
    private static let planted: Void = json_object_seed(0)

    static func plant() { _ = planted }
}

// JSON text that a C program passes in. The rules are the usual ones; the errors are jansson's.
extension JSON {
    /// Reads text with jansson's loader, whose errors C programs know. For small text that a program writes, such as a
    /// list of args.
    package init(loading text: UnsafeRawBufferPointer) throws(JSONParseError) {
        self = try JanssonLoader.load(text).get()
    }
}

/// Lets jansson judge what it reads by our rules; for other text, jansson has no flags. The value is that of our parser,
/// which keeps all digits of a number.
private enum JanssonLoader {
    /// The deepest nesting for which jansson is used. jansson recurses and needs about 90 bytes of stack for each
    /// level. At its own limit it would overflow the stack of a small thread.
    private static let deepest = 256

    static func load(_ text: UnsafeRawBufferPointer) -> Result<JSON, JSONParseError> {
        // jansson takes a NUL byte after a value for the end of the text.
        guard !text.contains(0), !isDeep(text) else { return JSONParser.parse(copying: text) }
        JSONHashSeed.plant()
        let mark = JSONParser.byteOrderMarkLength(of: text)
        var problem = json_error_t()
        let tree = JSON.withChars(UnsafeRawBufferPointer(rebasing: text[mark...])) {
            json_loadb($0, $1, Int(JSON_DECODE_ANY | JSON_ALLOW_NUL), &problem)
        }
        guard let tree else {
            let theirs = JSONParseError(at: Int(problem.position) + mark, of: text, reason: reason(problem))
            guard json_error_code(&problem) == json_error_numeric_overflow else { return .failure(theirs) }
            // jansson refuses an integer beyond 64 bits, or makes all integers doubles.
            let parsed = JSONParser.parse(copying: text)
            if case .failure(let mine) = parsed, mine.offset == theirs.offset { return .failure(theirs) }
            return parsed
        }
        json_decref(tree)
        return JSONParser.parse(copying: text)
    }

    /// Whether arrays and objects nest deeper than `deepest`, as far as the text is JSON.
    private static func isDeep(_ text: UnsafeRawBufferPointer) -> Bool {
        var depth = 0
        var isInString = false
        var isEscaped = false
        for byte in text {
            if isInString {
                if !isEscaped, byte == UInt8(ascii: "\"") { isInString = false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > deepest { return true }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return false
    }

    private static func reason(_ problem: json_error_t) -> String {
        withUnsafeBytes(of: problem.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

// Pointers for the C ABI. They stay valid as long as the value, or any value or document that contains it. A document
// keeps the texts to which it has given out pointers.
extension JSON {
    /// The string NUL-terminated, with its length in bytes; nil for any other kind.
    ///
    /// The string may contain NUL. The pointer is valid while this value, or a document that contains it, is alive.
    package var cString: (pointer: UnsafePointer<CChar>, length: Int)? {
        switch storage {
        case .string(let bytes): return (bytes.cString, bytes.count)
        case .parsed(let document, let index) where kind == .string:
            let text = document.lend(Int(index))
            return (UnsafePointer(text.pointer), text.length)
        default: return nil
        }
    }

    /// The key of the member at an index in document order, NUL-terminated; nil when there is no such member.
    ///
    /// The pointer is valid while this value, or a document that contains it, is alive.
    package func cKey(at index: Int) -> UnsafePointer<CChar>? {
        switch storage {
        case .object(let object):
            return object.members.indices.contains(index) ? object.members[index].key.cString : nil
        case .parsed(let document, let place) where kind == .object:
            return document.key(at: index, of: Int(place)).map { UnsafePointer(document.lend($0).pointer) }
        default: return nil
        }
    }
}

extension Bytes {
    /// The bytes with their final NUL, valid as long as this object.
    fileprivate var cString: UnsafePointer<CChar> {
        guard let start = buffer.baseAddress else { return Self.noText }
        return start.assumingMemoryBound(to: CChar.self)
    }

    // A literal's bytes are constant and stay for ever.
    private static var noText: UnsafePointer<CChar> {
        let literal: StaticString = ""
        return UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
