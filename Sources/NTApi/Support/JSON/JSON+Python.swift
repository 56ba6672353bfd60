extension JSON {
    /// Python's values of a document, made by Python's own functions: nothing is written for Python to read.
    ///
    /// On a thread that holds Python's lock. Integers keep every digit. The last of duplicate keys wins.
    ///
    /// - Returns: a new reference; nil for a value that was not parsed from text, and when a function has failed, which
    ///   then has set Python's exception.
    package func pythonValue(_ python: PythonFunctions) -> PythonFunctions.Object? {
        guard case .parsed(let document, let index) = storage else { return nil }
        return withExtendedLifetime(document) {
            var maker = JSONPythonMaker(document.tape, python)
            defer { maker.forgetKeys() }
            return maker.make(Int(index))
        }
    }
}

/// Makes Python's values of what a tape holds, in its order.
///
/// Each array and object is put where it belongs before it is filled, so that the outermost value owns everything.
private struct JSONPythonMaker {
    typealias Object = PythonFunctions.Object

    private struct Open {
        let object: Object
        let isObject: Bool
        /// The index of the word behind all it contains.
        let end: Int
        /// The place of its next element.
        var position = 0
    }

    private let tape: JSONTape
    private let python: PythonFunctions
    private var keys = JSONPickledKeys()
    /// The strings of `keys`: Python makes one of each, as its own parser does.
    private var keyTexts: [Object] = []
    private var open: [Open] = []

    init(_ tape: JSONTape, _ python: PythonFunctions) {
        self.tape = tape
        self.python = python
        keyTexts.reserveCapacity(32)
        open.reserveCapacity(8)
    }

    mutating func make(_ start: Int) -> Object? {
        guard let root = value(start) else { return nil }
        var index = enter(start, root)
        while let last = open.last {
            if index >= last.end {
                open.removeLast()
            } else if last.isObject {
                guard let member = member(index, of: last.object) else { return fail(root) }
                index = enter(index &+ 1, member)
            } else {
                guard let element = value(index) else { return fail(root) }
                open[open.count &- 1].position &+= 1
                guard python.setItem(last.object, last.position, element) == 0 else { return fail(root) }
                index = enter(index, element)
            }
        }
        return root
    }

    func forgetKeys() {
        for text in keyTexts { python.release(text) }
    }

    private func fail(_ root: Object) -> Object? {
        python.release(root)
        return nil
    }

    /// An array or object is filled next.
    ///
    /// - Returns: where its contents begin, or what follows another value.
    @inline(__always)
    private mutating func enter(_ index: Int, _ object: Object) -> Int {
        guard tape.isContainer(index) else { return index &+ 1 }
        open.append(Open(object: object, isObject: tape.kind(index) == .object, end: tape.next(index)))
        return index &+ 2
    }

    /// Makes a member and puts it into its object, which owns it then.
    @inline(__always)
    private mutating func member(_ index: Int, of object: Object) -> Object? {
        guard let (key, isKept) = key(index) else { return nil }
        defer { if !isKept { python.release(key) } }
        guard let value = value(index &+ 1) else { return nil }
        defer { python.release(value) }
        return python.setMember(object, key, value) == 0 ? value : nil
    }

    private mutating func key(_ index: Int) -> (Object, isKept: Bool)? {
        guard tape.kind(index) == .plainString else { return text(index).map { ($0, false) } }
        switch keys.find(tape.bytes(index)) {
        case .known(let number): return (keyTexts[Int(number)], true)
        case .new:
            guard let made = text(index) else { return nil }
            keyTexts.append(made)
            return (made, true)
        case .tooMany: return text(index).map { ($0, false) }
        }
    }

    /// A new reference; to an empty array or object where it is one.
    @inline(__always)
    private func value(_ index: Int) -> Object? {
        switch tape.kind(index) {
        case .null: kept(python.none)
        case .yes: kept(python.yes)
        case .no: kept(python.no)
        case .int: python.int(JSONNumber.int64(tape.bytes(index)))
        case .double: number(tape.bytes(index))
        case .plainString, .escapedString: text(index)
        case .array: python.list(tape.count(index))
        case .object: python.dictionary()
        }
    }

    @inline(__always)
    private func kept(_ object: Object) -> Object {
        python.retain(object)
        return object
    }

    private func number(_ text: UnsafeRawBufferPointer) -> Object? {
        let isInteger = text.allSatisfy { $0 == UInt8(ascii: "-") || $0.isASCIIDigit }
        guard isInteger else { return python.float(JSONNumber.double(text)) }
        // Minus zero, which Python's own parser reads as zero, or beyond 64 bits.
        guard text.count > 2 else { return python.int(0) }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: text.count + 1) { digits in
            digits.withMemoryRebound(to: UInt8.self) { _ = $0.initialize(from: text) }
            digits[text.count] = 0
            return python.intOfText(digits.baseAddress, nil, 10)
        }
    }

    @inline(__always)
    private func text(_ index: Int) -> Object? {
        let bytes = tape.bytes(index)
        guard tape.kind(index) == .escapedString else { return text(bytes.baseAddress, bytes.count) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(1, bytes.count)) { room in
            let count = room.baseAddress.map { JSONEscape.decode(bytes, into: $0) } ?? 0
            return text(room.baseAddress.map { UnsafeRawPointer($0) }, count)
        }
    }

    @inline(__always)
    private func text(_ bytes: UnsafeRawPointer?, _ count: Int) -> Object? {
        // Half of a surrogate pair may stand alone in JSON, as it may in Python.
        let how = UnsafeRawPointer(Self.passing.utf8Start).assumingMemoryBound(to: CChar.self)
        return python.text(bytes?.assumingMemoryBound(to: CChar.self), count, how)
    }

    private static let passing: StaticString = "surrogatepass"
}
