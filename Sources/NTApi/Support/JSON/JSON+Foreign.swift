/// The functions by which another language makes its own values, such as those of an interpreter with counted references.
package struct JSONForeignValues {
    package typealias Value = UnsafeMutableRawPointer

    /// For the functions that take a context.
    package let context: UnsafeMutableRawPointer
    package let null: Value
    package let yes: Value
    package let no: Value
    package let retain: @convention(c) (Value?) -> Void
    package let release: @convention(c) (Value?) -> Void
    package let int: @convention(c) (Int64) -> Value?
    package let float: @convention(c) (Double) -> Value?
    /// An integer beyond 64 bits, of the digits of JSON.
    package let digits: @convention(c) (_ context: UnsafeMutableRawPointer, UnsafeRawPointer?, Int) -> Value?
    /// A string of UTF-8, where half of a surrogate pair may stand alone.
    package let text: @convention(c) (_ context: UnsafeMutableRawPointer, UnsafeRawPointer?, Int) -> Value?
    /// A key without escapes, of at most `longestKey` bytes, and its hash. Keeps the value, and lends it until the next
    /// key.
    package let key: @convention(c) (_ context: UnsafeMutableRawPointer, UnsafeRawPointer?, Int, UInt64) -> Value?
    package let longestKey: Int
    /// A list with so many free places.
    package let list: @convention(c) (Int) -> Value?
    /// Takes over the item, also when it fails; 0 is success.
    package let setItem: @convention(c) (Value?, Int, Value?) -> CInt
    package let dictionary: @convention(c) () -> Value?
    /// Takes over nothing; 0 is success.
    package let setMember: @convention(c) (Value?, Value?, Value?) -> CInt

    package init(
        context: UnsafeMutableRawPointer, null: Value, yes: Value, no: Value,
        retain: @escaping @convention(c) (Value?) -> Void, release: @escaping @convention(c) (Value?) -> Void,
        int: @escaping @convention(c) (Int64) -> Value?, float: @escaping @convention(c) (Double) -> Value?,
        digits: @escaping @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer?, Int) -> Value?,
        text: @escaping @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer?, Int) -> Value?,
        key: @escaping @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer?, Int, UInt64) -> Value?,
        longestKey: Int,
        list: @escaping @convention(c) (Int) -> Value?,
        setItem: @escaping @convention(c) (Value?, Int, Value?) -> CInt,
        dictionary: @escaping @convention(c) () -> Value?,
        setMember: @escaping @convention(c) (Value?, Value?, Value?) -> CInt
    ) {
        self.context = context
        self.null = null
        self.yes = yes
        self.no = no
        self.retain = retain
        self.release = release
        self.int = int
        self.float = float
        self.digits = digits
        self.text = text
        self.key = key
        self.longestKey = longestKey
        self.list = list
        self.setItem = setItem
        self.dictionary = dictionary
        self.setMember = setMember
    }
}

extension JSON {
    /// The values of another language for a document, made by its own functions: nothing is written for it to parse.
    ///
    /// Integers keep every digit. The last of duplicate keys wins.
    ///
    /// - Returns: a new reference; nil for a value that was not parsed from text, and when a function has failed.
    package func foreignValue(_ functions: JSONForeignValues) -> JSONForeignValues.Value? {
        guard case .parsed(let document, let index) = storage else { return nil }
        return withExtendedLifetime(document) {
            withUnsafePointer(to: functions) { JSONForeignMaker(document.tape, $0).make(Int(index)) }
        }
    }
}

/// Makes another language's values of what a tape holds, in its order.
///
/// Each array and object is put where it belongs before it is filled, so that the outermost value owns everything.
private struct JSONForeignMaker {
    typealias Value = JSONForeignValues.Value

    /// An array or object that is being filled.
    private struct Open {
        let value: Value
        let isObject: Bool
        /// The index of the word behind all it contains.
        let end: Int
        /// The place of its next element.
        var position = 0

        @inline(__always)
        init(_ value: Value, _ tape: JSONTape, _ index: Int) {
            self.value = value
            isObject = tape.kind(index) == .object
            end = tape.next(index)
        }
    }

    private let tape: JSONTape
    /// By their address: there are many, and each call of a method would copy them.
    private let functions: UnsafePointer<JSONForeignValues>

    init(_ tape: JSONTape, _ functions: UnsafePointer<JSONForeignValues>) {
        self.tape = tape
        self.functions = functions
    }

    func make(_ start: Int) -> Value? {
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
                functions.pointee.release(root)
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
    private func put(_ value: Value, _ index: Int, into open: inout Open) -> Bool {
        guard open.isObject else {
            defer { open.position &+= 1 }
            return functions.pointee.setItem(open.value, open.position, value) == 0
        }
        defer { functions.pointee.release(value) }
        // Call this only when the value exists. Making a container may collect garbage and so run the program's code.
        // That code may make values of another document and put another key in the place of this one.
        let bytes = tape.bytes(index)
        let isKept = tape.kind(index) == .plainString && bytes.count <= functions.pointee.longestKey
        guard isKept else { return put(value, otherKey: index, into: open.value) }
        let hash = JSONKeyCheck.hash(bytes)
        guard let key = functions.pointee.key(functions.pointee.context, bytes.baseAddress, bytes.count, hash) else {
            return false
        }
        return functions.pointee.setMember(open.value, key, value) == 0
    }

    @inline(never)
    private func put(_ value: Value, otherKey index: Int, into object: Value) -> Bool {
        guard let key = text(index) else { return false }
        defer { functions.pointee.release(key) }
        return functions.pointee.setMember(object, key, value) == 0
    }

    /// A new reference; to an empty array or object where it is one.
    @inline(__always)
    private func value(_ index: Int) -> Value? {
        switch tape.kind(index) {
        case .null: kept(functions.pointee.null)
        case .yes: kept(functions.pointee.yes)
        case .no: kept(functions.pointee.no)
        case .int: functions.pointee.int(JSONNumber.int64(tape.bytes(index)))
        case .double: number(tape.bytes(index))
        case .plainString: made(tape.bytes(index))
        case .escapedString: text(index)
        case .array: functions.pointee.list(tape.count(index))
        case .object: functions.pointee.dictionary()
        }
    }

    @inline(__always)
    private func kept(_ object: Value) -> Value {
        functions.pointee.retain(object)
        return object
    }

    private func number(_ text: UnsafeRawBufferPointer) -> Value? {
        let isInteger = text.allSatisfy { $0 == UInt8(ascii: "-") || $0.isASCIIDigit }
        guard isInteger else { return functions.pointee.float(JSONNumber.double(text)) }
        // Minus zero, or beyond 64 bits.
        guard text.count > 2 else { return functions.pointee.int(0) }
        return functions.pointee.digits(functions.pointee.context, text.baseAddress, text.count)
    }

    @inline(__always)
    private func made(_ text: UnsafeRawBufferPointer) -> Value? {
        functions.pointee.text(functions.pointee.context, text.baseAddress, text.count)
    }

    /// A string of any kind.
    @inline(never)
    private func text(_ index: Int) -> Value? {
        let bytes = tape.bytes(index)
        guard tape.kind(index) == .escapedString else { return made(bytes) }
        return withUnsafeTemporaryAllocation(byteCount: max(1, bytes.count), alignment: 1) { room in
            let start = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let count = start.map { JSONEscape.decode(bytes, into: $0) } ?? 0
            return made(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<count]))
        }
    }
}
