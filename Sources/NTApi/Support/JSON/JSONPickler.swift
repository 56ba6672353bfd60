#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes what a tape holds as a pickle; the bytes are for whoever takes `base`, and frees it.
struct JSONPickler {
    private enum Opcode {
        static let proto: UInt8 = 0x80
        static let frame: UInt8 = 0x95
        static let stop = UInt8(ascii: ".")
        static let none = UInt8(ascii: "N")
        static let newTrue: UInt8 = 0x88
        static let newFalse: UInt8 = 0x89
        static let byteInt = UInt8(ascii: "K")
        static let shortInt = UInt8(ascii: "M")
        static let int = UInt8(ascii: "J")
        static let long: UInt8 = 0x8A
        static let decimalInt = UInt8(ascii: "I")
        static let float = UInt8(ascii: "G")
        static let shortString: UInt8 = 0x8C
        static let string = UInt8(ascii: "X")
        static let put = UInt8(ascii: "q")
        static let get = UInt8(ascii: "h")
        static let mark = UInt8(ascii: "(")
        static let emptyList = UInt8(ascii: "]")
        static let appends = UInt8(ascii: "e")
        static let emptyDictionary = UInt8(ascii: "}")
        static let setItems = UInt8(ascii: "u")
    }

    /// Room that is there before each value, beside that for the bytes of its text.
    private static let margin = 32

    private(set) var base: UnsafeMutablePointer<UInt8>?
    private(set) var count = 0
    private let tape: JSONTape
    private var capacity = 0

    init(_ tape: JSONTape) { self.tape = tape }

    /// - Returns: false without memory.
    mutating func write(_ start: Int) -> Bool {
        var open: [(end: Int, isObject: Bool)] = []
        var keys = JSONPickledKeys()
        var index = start
        var expectsKey = false
        // Most values take less.
        guard reserve((tape.next(start) &- start) &* 8) else { return false }
        append(Opcode.proto)
        append(4)
        // One frame for all: a reader that is given no buffer, but something to read from, takes it as a whole.
        append(Opcode.frame)
        let lengthOffset = count
        append(littleEndian: UInt64(0))
        let frameStart = count
        repeat {
            if expectsKey {
                guard writeKey(index, &keys) else { return false }
                index &+= 1
            }
            guard reserve(0) else { return false }
            let kind = tape.kind(index)
            switch kind {
            case .null: append(Opcode.none)
            case .yes: append(Opcode.newTrue)
            case .no: append(Opcode.newFalse)
            case .int: writeInt(JSONNumber.int64(tape.bytes(index)))
            case .double: guard writeNumber(tape.bytes(index)) else { return false }
            case .plainString, .escapedString: guard writeString(index) else { return false }
            case .array, .object:
                let isObject = kind == .object
                append(isObject ? Opcode.emptyDictionary : Opcode.emptyList)
                guard tape.count(index) > 0 else { break }
                append(Opcode.mark)
                open.append((tape.next(index), isObject))
                expectsKey = isObject
                index &+= 2
                continue
            }
            index = tape.next(index)
            expectsKey = false
            while let last = open.last {
                guard index >= last.end else {
                    expectsKey = last.isObject
                    break
                }
                guard reserve(0) else { return false }
                append(last.isObject ? Opcode.setItems : Opcode.appends)
                open.removeLast()
            }
        } while !open.isEmpty
        append(Opcode.stop)
        let length = UInt64(count &- frameStart).littleEndian
        // The eight bytes were appended above.
        if let base { UnsafeMutableRawPointer(base + lengthOffset).storeBytes(of: length, as: UInt64.self) }
        return true
    }

    // MARK: Values

    private mutating func writeInt(_ value: Int64) {
        switch value {
        case 0..<0x100:
            append(Opcode.byteInt)
            append(UInt8(truncatingIfNeeded: value))
        case 0..<0x1_0000:
            append(Opcode.shortInt)
            append(littleEndian: UInt16(truncatingIfNeeded: value))
        case Int64(Int32.min)...Int64(Int32.max):
            append(Opcode.int)
            append(littleEndian: Int32(truncatingIfNeeded: value))
        default:
            append(Opcode.long)
            append(8)
            append(littleEndian: value)
        }
    }

    private mutating func writeNumber(_ text: UnsafeRawBufferPointer) -> Bool {
        let isInteger = text.allSatisfy { $0 == UInt8(ascii: "-") || $0.isASCIIDigit }
        guard isInteger else {
            append(Opcode.float)
            append(littleEndian: JSONNumber.double(text).bitPattern.byteSwapped)
            return true
        }
        guard text.count > 2 else {
            // Minus zero, which Python's own parser reads as zero.
            writeInt(0)
            return true
        }
        // Beyond 64 bits.
        guard reserve(text.count) else { return false }
        append(Opcode.decimalInt)
        append(text)
        append(UInt8(ascii: "\n"))
        return true
    }

    private mutating func writeString(_ index: Int) -> Bool {
        let text = tape.bytes(index)
        guard reserve(text.count), let base else { return false }
        // Without its escapes it is shorter, and so the length is written when it is known.
        let isShort = text.count < 0x100
        append(isShort ? Opcode.shortString : Opcode.string)
        let place = count
        count &+= isShort ? 1 : 4
        let begin = count
        if tape.kind(index) == .plainString {
            append(text)
        } else {
            count &+= JSONEscape.decode(text, into: base + count)
        }
        let length = UInt32(truncatingIfNeeded: count &- begin)
        if isShort {
            base[place] = UInt8(truncatingIfNeeded: length)
        } else {
            UnsafeMutableRawPointer(base).storeBytes(of: length.littleEndian, toByteOffset: place, as: UInt32.self)
        }
        return true
    }

    /// A key is written once and then referred to, so that Python makes one string of it, as its own parser does.
    private mutating func writeKey(_ index: Int, _ keys: inout JSONPickledKeys) -> Bool {
        guard tape.kind(index) == .plainString else { return writeString(index) }
        switch keys.find(tape.bytes(index)) {
        case .known(let number):
            guard reserve(0) else { return false }
            append(Opcode.get)
            append(number)
        case .new(let number):
            guard writeString(index), reserve(0) else { return false }
            append(Opcode.put)
            append(number)
        case .tooMany: return writeString(index)
        }
        return true
    }

    // MARK: Bytes

    /// Makes room for so many bytes and the margin.
    @inline(__always)
    private mutating func reserve(_ more: Int) -> Bool {
        capacity &- count >= more &+ Self.margin || grow(more)
    }

    @inline(never)
    private mutating func grow(_ more: Int) -> Bool {
        let (wanted, overflow) = (count + more + 2 * Self.margin).multipliedReportingOverflow(by: 2)
        guard !overflow, let moved = realloc(base, wanted) else { return false }
        base = moved.assumingMemoryBound(to: UInt8.self)
        capacity = wanted
        return true
    }

    @inline(__always)
    private mutating func append(_ byte: UInt8) {
        base.unsafelyUnwrapped[count] = byte
        count &+= 1
    }

    @inline(__always)
    private mutating func append(_ text: UnsafeRawBufferPointer) {
        guard let from = text.baseAddress else { return }
        memcpy(base.unsafelyUnwrapped + count, from, text.count)
        count &+= text.count
    }

    @inline(__always)
    private mutating func append<Integer: FixedWidthInteger>(littleEndian value: Integer) {
        UnsafeMutableRawPointer(base.unsafelyUnwrapped).storeBytes(
            of: value.littleEndian, toByteOffset: count, as: Integer.self)
        count &+= MemoryLayout<Integer>.size
    }
}

/// The keys that a pickle has so far: as many as one byte can number.
struct JSONPickledKeys {
    enum Answer {
        case known(UInt8)
        case new(UInt8)
        case tooMany
    }

    private static let slots = 512
    /// The number of a key and one, by its hash; 0 is free.
    private var table = [UInt16](repeating: 0, count: slots)
    private var keys: [UnsafeRawBufferPointer] = []

    init() { keys.reserveCapacity(32) }

    mutating func find(_ key: UnsafeRawBufferPointer) -> Answer {
        var slot = Self.hash(key) & (Self.slots - 1)
        while table[slot] != 0 {
            let number = Int(table[slot]) &- 1
            if keys[number].isEqual(to: key) { return .known(UInt8(truncatingIfNeeded: number)) }
            slot = (slot &+ 1) & (Self.slots - 1)
        }
        // The table is never more than half full.
        guard keys.count < 256 else { return .tooMany }
        keys.append(key)
        table[slot] = UInt16(truncatingIfNeeded: keys.count)
        return .new(UInt8(truncatingIfNeeded: keys.count &- 1))
    }

    // Length and three letters tell most keys of a document apart; among 256 the others are found soon enough.
    @inline(__always)
    private static func hash(_ key: UnsafeRawBufferPointer) -> Int {
        let count = key.count
        guard count > 0 else { return 0 }
        let letters = Int(key[0]) &* 37 &+ Int(key[count &- 1]) &* 131 &+ Int(key[count / 2]) &* 17
        return letters &+ count &* 7
    }
}
