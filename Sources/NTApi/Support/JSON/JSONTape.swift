import CScan

/// What a JSON text holds, in document order, as words of 64 bits: where each value stands, and not the value itself.
///
///     bits 63…60   59…32                         31…0
///     kind         length of a string or number  offset in the text
///
/// A string stands between its quotes, escapes and all. An array or object takes a second word:
///
///     bits 63…33                                   32…2                              1…0
///     index of the word behind all it contains     elements, or members as written   what is known of the keys
///
/// A member is the word of its key, and its value. So values are found by hopping from one to the next, and are read
/// from the text when they are asked for. Everything fits, because a text has less than 2^31 bytes, and three of its
/// bytes make two words at the most.
///
/// This is a view: it is valid as long as the `JSONDocument` it came from.
struct JSONTape {
    enum Kind: UInt64 {
        case null, no, yes, int, double
        /// A string without escapes: its bytes are those of the text.
        case plainString
        case escapedString
        case array, object
    }

    /// What is known of an object's keys. Found out when the object is first read, and the same whoever does it.
    enum Keys: UInt64 {
        case unknown
        /// Few, unique and without escapes: they are compared one by one.
        case plain
        /// Any others: a `JSONObjectIndex` of the document knows them.
        case indexed
    }

    /// A length that does not fit is measured when it is asked for.
    static let longest = (1 << 28) - 1

    let text: UnsafePointer<UInt8>
    let words: UnsafeMutablePointer<UInt64>

    @inline(__always)
    func kind(_ index: Int) -> Kind { Kind(rawValue: words[index] >> 60) ?? .null }

    @inline(__always)
    func isContainer(_ index: Int) -> Bool { words[index] >> 60 >= Kind.array.rawValue }

    @inline(__always)
    func offset(_ index: Int) -> Int { Int(truncatingIfNeeded: words[index] & 0xFFFF_FFFF) }

    /// The bytes of a string as it stands in the text, or of a number.
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

    // Readers of other threads may set what is known of the keys meanwhile.
    @inline(__always)
    private func second(_ index: Int) -> UInt64 { ntapi_scan_load(words + (index &+ 1)) }

    @inline(never)
    private func measure(_ index: Int) -> Int {
        let start = text + offset(index)
        var end = start
        switch kind(index) {
        case .plainString: while end.pointee != UInt8(ascii: "\"") { end += 1 }
        // What follows a backslash is no end.
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

    /// The second word of one that is open: the index of the one around it, or -1, and the commas seen in that one.
    @inline(__always)
    static func open(in outer: Int, commas: Int) -> UInt64 {
        UInt64(truncatingIfNeeded: outer) << 32 | UInt64(truncatingIfNeeded: commas)
    }

    @inline(__always)
    static func outer(ofOpen second: UInt64) -> (index: Int, commas: Int) {
        (Int(Int32(truncatingIfNeeded: second >> 32)), Int(truncatingIfNeeded: second & 0xFFFF_FFFF))
    }
}
