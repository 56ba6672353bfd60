import CScan

/// The places of all values of a JSON text, in document order, as 64-bit words. The values stay in the text.
///
///     bits 63…60   59…32                         31…0
///     kind         length of a string or number  offset in the text
///
/// A string is the text between its quotes, with escapes. An array or object takes a second word:
///
///     bits 63…33                                   32…2                              1…0
///     index of the word behind all it contains     elements, or members as written   what is known of the keys
///
/// A member is the word of its key, followed by its value. Values are found by hopping from one to the next, and are
/// read from the text on demand. Everything fits: a text has less than 2^31 bytes, and three bytes make at most two
/// words.
///
/// This is a view, valid as long as its `JSONDocument`.
struct JSONTape {
    enum Kind: UInt64 {
        case null, no, yes, int, double
        /// A string without escapes: its bytes are those of the text.
        case plainString
        case escapedString
        case array, object
    }

    /// What is known about an object's keys. Computed when the object is first read; every thread computes the same.
    enum Keys: UInt64 {
        case unknown
        /// Few, unique and without escapes, so they are compared one by one.
        case plain
        /// Others, which need a `JSONObjectIndex` of the document.
        case indexed
    }

    /// A longer length is measured on demand.
    static let longest = (1 << 28) - 1

    let text: UnsafePointer<UInt8>
    let words: UnsafeMutablePointer<UInt64>

    @inline(__always)
    func kind(_ index: Int) -> Kind { Kind(rawValue: words[index] >> 60) ?? .null }

    @inline(__always)
    func isContainer(_ index: Int) -> Bool { words[index] >> 60 >= Kind.array.rawValue }

    @inline(__always)
    func offset(_ index: Int) -> Int { Int(truncatingIfNeeded: words[index] & 0xFFFF_FFFF) }

    /// The bytes of a string as in the text, or of a number.
    @inline(__always)
    func bytes(_ index: Int) -> UnsafeRawBufferPointer {
        let word = words[index]
        var length = Int(truncatingIfNeeded: word >> 32) & Self.longest
        if length == Self.longest { length = measure(index) }
        return UnsafeRawBufferPointer(start: text + offset(index), count: length)
    }

    /// Whether a plain string is this text, whose length is below `longest`.
    @inline(__always)
    func isPlain(_ index: Int, _ other: UnsafeRawBufferPointer) -> Bool {
        let word = words[index]
        guard Int(truncatingIfNeeded: word >> 32) & Self.longest == other.count else { return false }
        return UnsafeRawBufferPointer(start: text + offset(index), count: other.count).isEqual(to: other)
    }

    /// The index of the word behind a value and all it contains.
    @inline(__always)
    func next(_ index: Int) -> Int {
        isContainer(index) ? Int(truncatingIfNeeded: second(index) >> 33) : index &+ 1
    }

    /// The elements of an array, or the members of an object with duplicates counted.
    @inline(__always)
    func count(_ index: Int) -> Int { Int(truncatingIfNeeded: second(index) >> 2) & 0x7FFF_FFFF }

    func keys(_ index: Int) -> Keys { Keys(rawValue: second(index) & 3) ?? .unknown }

    func setKeys(_ index: Int, _ keys: Keys) {
        ntapi_scan_store(words + (index + 1), second(index) & ~3 | keys.rawValue)
    }

    // Other threads may record what they find out about the keys at the same time.
    @inline(__always)
    private func second(_ index: Int) -> UInt64 { ntapi_scan_load(words + (index &+ 1)) }

    @inline(never)
    private func measure(_ index: Int) -> Int {
        let start = text + offset(index)
        var end = start
        switch kind(index) {
        case .plainString: while end.pointee != UInt8(ascii: "\"") { end += 1 }
        // A quote after a backslash is not the end.
        case .escapedString:
            while end.pointee != UInt8(ascii: "\"") { end += end.pointee == UInt8(ascii: "\\") ? 2 : 1 }
        case .int, .double: while JSONNumber.isPart(end.pointee) { end += 1 }
        default: break
        }
        return end - start
    }
}

// Making words. Offsets and lengths are within the text, and indexes within the tape.
extension JSONTape {
    @inline(__always)
    static func word(_ kind: Kind, offset: Int, length: Int = 0) -> UInt64 {
        kind.rawValue << 60 | UInt64(truncatingIfNeeded: min(length, longest)) << 32
            | UInt64(truncatingIfNeeded: offset)
    }

    /// The second word of an array or object that is complete.
    @inline(__always)
    static func closed(next: Int, count: Int) -> UInt64 {
        UInt64(truncatingIfNeeded: next) << 33 | UInt64(truncatingIfNeeded: count) << 2
    }

    /// The second word of an open container: the index of the container around it, or -1, and the commas seen in that.
    @inline(__always)
    static func open(in outer: Int, commas: Int) -> UInt64 {
        UInt64(truncatingIfNeeded: outer) << 32 | UInt64(truncatingIfNeeded: commas)
    }

    @inline(__always)
    static func outer(ofOpen second: UInt64) -> (index: Int, commas: Int) {
        (Int(Int32(truncatingIfNeeded: second >> 32)), Int(truncatingIfNeeded: second & 0xFFFF_FFFF))
    }
}

/// Walks over the children of an array or object in document order. A scalar has none.
///
/// Loops over a value (writing, comparing, measuring) keep a list of cursors and do not recurse. So deep nesting cannot
/// exhaust the stack of the thread, which may belong to the host program.
struct JSONCursor {
    let container: JSON
    let isObject: Bool
    private var number = 0
    private var walk: Walk

    private enum Walk {
        case none
        case array(JSONArray)
        case object(JSONObject)
        /// The place of the next child, and how many are left.
        case tape(JSONDocument, next: Int, left: Int)
        case index(JSONDocument, JSONObjectIndex)
    }

    struct Child {
        /// Of a member of an object.
        let key: JSONChildKey?
        let value: JSON
    }

    init(_ container: JSON) {
        self.container = container
        var isObject = container.kind == .object
        switch container.storage {
        case .array(let array): walk = .array(array)
        case .object(let object): walk = .object(object)
        case .parsed(let document, let index) where document.tape.isContainer(Int(index)):
            let index = Int(index)
            if isObject, case .indexed(let members) = document.members(of: index) {
                walk = .index(document, members)
            } else {
                walk = .tape(document, next: index + 2, left: document.tape.count(index))
            }
        default:
            walk = .none
            isObject = false
        }
        self.isObject = isObject
    }

    /// The step to the child that came last.
    var step: JSONPath.Step { isObject ? .key(container.keys[number - 1]) : .index(number - 1) }

    mutating func next() -> Child? {
        defer { number += 1 }
        switch walk {
        case .none: return nil
        case .array(let array):
            return array.elements.indices.contains(number) ? Child(key: nil, value: array.elements[number]) : nil
        case .object(let object):
            guard object.members.indices.contains(number) else { return nil }
            return Child(key: .built(object.members[number].key), value: object.members[number].value)
        case .index(let document, let members):
            guard let member = members.member(at: number) else { return nil }
            return Child(key: .parsed(document, member.key), value: JSON(document, member.value))
        case .tape(let document, let place, let left):
            guard left > 0 else { return nil }
            let value = isObject ? place + 1 : place
            walk = .tape(document, next: document.tape.next(value), left: left - 1)
            return Child(key: isObject ? .parsed(document, place) : nil, value: JSON(document, value))
        }
    }
}

/// The key of a member, wherever it stands.
enum JSONChildKey {
    case built(Bytes)
    case parsed(JSONDocument, Int)

    /// Calls the body with the key's bytes, without escapes.
    func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        switch self {
        case .built(let bytes): body(bytes.buffer)
        case .parsed(let document, let index):
            document.withUTF8(at: index, body) ?? body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    var string: String { withUTF8 { String(decoding: $0, as: UTF8.self) } }
}

/// Determines whether an object's keys are plain: few, unique, and without escapes.
///
/// A look-up in plain keys compares them one by one and ends at the first match. Other objects get a `JSONObjectIndex`,
/// because the last of duplicates wins.
enum JSONKeyCheck {
    /// With more members, a look-up by hash is faster.
    static let most = 64

    static func keys(of index: Int, in tape: JSONTape) -> JSONTape.Keys {
        let count = tape.count(index)
        guard count <= most else { return .indexed }
        // A small hash table of the keys seen, at most half full. It takes up to 1 KB of the stack.
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 4 * most) { buffer in
            guard let table = buffer.baseAddress else { return .indexed }
            // At most 8, since 2 × 64 is below 2^8.
            let bits = Int.bitWidth - (2 * count).leadingZeroBitCount
            let mask = 1 << bits - 1
            table.initialize(repeating: 0, count: mask + 1)
            var comparisons = 0
            var position = index + 2
            for _ in 0..<count {
                guard tape.kind(position) == .plainString else { return .indexed }
                let key = tape.bytes(position)
                var slot = Int(truncatingIfNeeded: hash(key) >> UInt64(64 - bits))
                // 0 means free. No key has the place 0, because the object comes before it.
                while table[slot] != 0 {
                    if tape.bytes(Int(table[slot])).isEqual(to: key) { return .indexed }
                    // Keys that were chosen to collide must not cost more than the index, whose hash cannot be
                    // predicted.
                    comparisons += 1
                    guard comparisons <= 4 * most else { return .indexed }
                    slot = (slot + 1) & mask
                }
                table[slot] = UInt32(truncatingIfNeeded: position)
                position = tape.next(position + 1)
            }
            return .plain
        }
    }

    /// Hashes the length and up to 16 bytes at both ends, where keys differ most.
    @inline(__always)
    static func hash(_ key: UnsafeRawBufferPointer) -> UInt64 {
        let count = key.count
        let first: UInt64
        let last: UInt64
        if count >= 8 {
            first = key.loadUnaligned(as: UInt64.self)
            last = key.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        } else if count >= 4 {
            first = UInt64(key.loadUnaligned(as: UInt32.self))
            last = UInt64(key.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
        } else if count > 0 {
            first = UInt64(key[0]) << 8 | UInt64(key[count / 2])
            last = UInt64(key[count - 1])
        } else {
            return 0
        }
        let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15
        return ((first ^ UInt64(truncatingIfNeeded: count)) &* multiplier ^ last) &* multiplier
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are equal. For short texts, where a call of `memcmp` costs more than the comparison.
    ///
    /// The rest after the last whole word is compared as a word that overlaps earlier bytes, not byte by byte.
    @inlinable @inline(__always)
    package func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        if count >= 8 {
            var index = 0
            while index &+ 8 < count {
                guard word(index) == other.word(index) else { return false }
                index &+= 8
            }
            return word(count &- 8) == other.word(count &- 8)
        }
        if count >= 4 { return half(0) == other.half(0) && half(count &- 4) == other.half(count &- 4) }
        var index = 0
        while index < count {
            guard self[index] == other[index] else { return false }
            index &+= 1
        }
        return true
    }

    @inlinable @inline(__always)
    package func word(_ offset: Int) -> UInt64 { loadUnaligned(fromByteOffset: offset, as: UInt64.self) }

    @inlinable @inline(__always)
    package func half(_ offset: Int) -> UInt32 { loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
}
