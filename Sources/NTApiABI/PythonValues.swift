import CNTApi
import NTApi

/// Makes Python's values of a document with the functions of CPython.
///
/// The core calls those of them directly that fit. This is the context of the others, which are here.
struct PythonValues {
    typealias Object = JSONForeignValues.Value

    private let python: UnsafePointer<ntapi_python>
    private let keys: PythonKeys

    /// On a thread that holds Python's lock.
    ///
    /// - Returns: a new reference. Nil without a document, when a function is missing, and when one has failed, which then
    ///   has set Python's exception.
    static func make(_ json: JSON?, _ python: UnsafePointer<ntapi_python>?) -> Object? {
        guard let json, let python, let release = python.pointee.release else { return nil }
        let keys = PythonKeys(python.pointee.keys)
        defer { keys.end(release) }
        return withUnsafePointer(to: PythonValues(python: python, keys: keys)) { values in
            functions(values).flatMap { json.foreignValue($0) }
        }
    }

    /// - Returns: nil when one is missing.
    private static func functions(_ values: UnsafePointer<PythonValues>) -> JSONForeignValues? {
        let python = values.pointee.python.pointee
        guard let none = python.none, let yes = python.yes, let no = python.no, let retain = python.retain,
            let release = python.release, let int = python.make_int, python.parse_int != nil,
            let float = python.make_float, python.make_text != nil, let list = python.make_list,
            let setItem = python.set_item, let dictionary = python.make_dict, let setMember = python.set_member
        else { return nil }
        return JSONForeignValues(
            context: UnsafeMutableRawPointer(mutating: values), null: none, yes: yes, no: no, retain: retain,
            release: release, int: int, float: float,
            digits: { PythonValues($0).int(UnsafeRawBufferPointer(start: $1, count: $2)) },
            text: { PythonValues($0).text(UnsafeRawBufferPointer(start: $1, count: $2)) },
            key: { PythonValues($0).key(UnsafeRawBufferPointer(start: $1, count: $2), $3) },
            longestKey: PythonKeys.longest, list: list, setItem: setItem, dictionary: dictionary, setMember: setMember)
    }

    private init(python: UnsafePointer<ntapi_python>, keys: PythonKeys) {
        self.python = python
        self.keys = keys
    }

    @inline(__always)
    private init(_ context: UnsafeMutableRawPointer) { self = context.load(as: PythonValues.self) }

    private func int(_ digits: UnsafeRawBufferPointer) -> Object? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: digits.count + 1) { text in
            text.withMemoryRebound(to: UInt8.self) { _ = $0.initialize(from: digits) }
            text[digits.count] = 0
            return python.pointee.parse_int(text.baseAddress, nil, 10)
        }
    }

    @inline(__always)
    private func key(_ bytes: UnsafeRawBufferPointer, _ hash: UInt64) -> Object? {
        if let known = keys.find(bytes, hash) { return known }
        guard let made = text(bytes) else { return nil }
        if let gone = keys.remember(made, bytes, hash) { python.pointee.release(gone) }
        return made
    }

    /// A new string of UTF-8.
    @inline(__always)
    private func text(_ bytes: UnsafeRawBufferPointer) -> Object? {
        // Python has one of each string that is empty or has one letter.
        guard bytes.count > 1, let start = bytes.baseAddress, let new = python.pointee.new_text,
            case let offset = python.pointee.text_offset, offset > 0, bytes.isASCII
        else { return decoded(bytes) }
        guard let made = new(bytes.count, 127) else { return nil }
        let letters = made + offset
        letters.copyMemory(from: start, byteCount: bytes.count)
        letters.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
        return made
    }

    @inline(never)
    private func decoded(_ bytes: UnsafeRawBufferPointer) -> Object? {
        // Half of a surrogate pair may stand alone in JSON, as it may in Python.
        let passing: StaticString = "surrogatepass"
        let how = UnsafeRawPointer(passing.utf8Start).assumingMemoryBound(to: CChar.self)
        return python.pointee.make_text(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, how)
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    fileprivate var isASCII: Bool {
        var index = 0
        var seen: UInt64 = 0
        while index &+ 8 <= count {
            seen |= loadUnaligned(fromByteOffset: index, as: UInt64.self)
            index &+= 8
        }
        while index < count {
            seen |= UInt64(self[index])
            index &+= 1
        }
        return seen & 0x8080_8080_8080_8080 == 0
    }
}
