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
            withUnsafePointer(to: python) { python in
                let keys = JSONPythonKeys(python)
                defer { keys.end() }
                return JSONPythonMaker(document.tape, python, keys).make(Int(index))
            }
        }
    }
}

/// Makes Python's values of what a tape holds, in its order.
///
/// Each array and object is put where it belongs before it is filled, so that the outermost value owns everything.
private struct JSONPythonMaker {
    typealias Object = PythonFunctions.Object

    /// An array or object that is being filled.
    private struct Open {
        let object: Object
        let isObject: Bool
        /// The index of the word behind all it contains.
        let end: Int
        /// The place of its next element.
        var position = 0

        @inline(__always)
        init(_ object: Object, _ tape: JSONTape, _ index: Int) {
            self.object = object
            isObject = tape.kind(index) == .object
            end = tape.next(index)
        }
    }

    private let tape: JSONTape
    /// By their address: there are many, and each call of a method would copy them.
    private let python: UnsafePointer<PythonFunctions>
    private let keys: JSONPythonKeys

    init(_ tape: JSONTape, _ python: UnsafePointer<PythonFunctions>, _ keys: JSONPythonKeys) {
        self.tape = tape
        self.python = python
        self.keys = keys
    }

    func make(_ start: Int) -> Object? {
        guard let root = value(start) else { return nil }
        guard tape.isContainer(start) else { return root }
        var outer: [Open] = []
        outer.reserveCapacity(8)
        var open = Open(root, tape, start)
        var index = start &+ 2
        while true {
            guard index < open.end else {
                guard let next = outer.popLast() else { return root }
                open = next
                continue
            }
            let place = open.isObject ? index &+ 1 : index
            guard let made = value(place), put(made, index, into: &open) else {
                python.pointee.release(root)
                return nil
            }
            index = place &+ 1
            guard tape.isContainer(place) else { continue }
            outer.append(open)
            open = Open(made, tape, place)
            index &+= 1
        }
    }

    /// Puts a member, whose key is at the index, or the next element into its object or array, which owns it then.
    @inline(__always)
    private func put(_ value: Object, _ index: Int, into open: inout Open) -> Bool {
        guard open.isObject else {
            defer { open.position &+= 1 }
            return python.pointee.setItem(open.object, open.position, value) == 0
        }
        defer { python.pointee.release(value) }
        // Call this only when the value exists. Making a container may collect garbage and so run the program's code.
        // That code may make values of another document and put another key in the place of this one.
        let isShared = tape.kind(index) == .plainString && tape.bytes(index).count <= JSONPythonKeys.longest
        guard isShared else { return put(value, unsharedKey: index, into: open.object) }
        guard let key = keys.find(tape.bytes(index)) else { return false }
        return python.pointee.setMember(open.object, key, value) == 0
    }

    @inline(never)
    private func put(_ value: Object, unsharedKey index: Int, into object: Object) -> Bool {
        guard let key = text(index) else { return false }
        defer { python.pointee.release(key) }
        return python.pointee.setMember(object, key, value) == 0
    }

    /// A new reference; to an empty array or object where it is one.
    @inline(__always)
    private func value(_ index: Int) -> Object? {
        switch tape.kind(index) {
        case .null: kept(python.pointee.none)
        case .yes: kept(python.pointee.yes)
        case .no: kept(python.pointee.no)
        case .int: python.pointee.int(JSONNumber.int64(tape.bytes(index)))
        case .double: number(tape.bytes(index))
        case .plainString: python.pointee.text(tape.bytes(index))
        case .escapedString: text(index)
        case .array: python.pointee.list(tape.count(index))
        case .object: python.pointee.dictionary()
        }
    }

    @inline(__always)
    private func kept(_ object: Object) -> Object {
        python.pointee.retain(object)
        return object
    }

    private func number(_ text: UnsafeRawBufferPointer) -> Object? {
        let isInteger = text.allSatisfy { $0 == UInt8(ascii: "-") || $0.isASCIIDigit }
        guard isInteger else { return python.pointee.float(JSONNumber.double(text)) }
        // Minus zero, which Python's own parser reads as zero, or beyond 64 bits.
        guard text.count > 2 else { return python.pointee.int(0) }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: text.count + 1) { digits in
            digits.withMemoryRebound(to: UInt8.self) { _ = $0.initialize(from: text) }
            digits[text.count] = 0
            return python.pointee.intOfText(digits.baseAddress, nil, 10)
        }
    }

    /// A string of any kind.
    @inline(never)
    private func text(_ index: Int) -> Object? {
        let bytes = tape.bytes(index)
        guard tape.kind(index) == .escapedString else { return python.pointee.text(bytes) }
        return withUnsafeTemporaryAllocation(byteCount: max(1, bytes.count), alignment: 1) { room in
            let start = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let count = start.map { JSONEscape.decode(bytes, into: $0) } ?? 0
            return python.pointee.text(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<count]))
        }
    }
}
