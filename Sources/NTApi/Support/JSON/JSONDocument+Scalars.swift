// What a place on the tape reads as; nil where it holds another kind.
extension JSONDocument {
    func bool(at index: Int) -> Bool? {
        switch tape.kind(index) {
        case .yes: true
        case .no: false
        default: nil
        }
    }

    func int64(at index: Int) -> Int64? {
        switch tape.kind(index) {
        case .int: JSONNumber.int64(tape.bytes(index))
        case .double: JSONNumber.integral(JSONNumber.double(tape.bytes(index)))
        default: nil
        }
    }

    func double(at index: Int) -> Double? {
        switch tape.kind(index) {
        case .int: Double(JSONNumber.int64(tape.bytes(index)))
        case .double: JSONNumber.double(tape.bytes(index))
        default: nil
        }
    }

    func string(at index: Int) -> String? {
        switch tape.kind(index) {
        case .plainString: String(decoding: tape.bytes(index), as: UTF8.self)
        case .escapedString: JSONEscape.decode(tape.bytes(index))
        default: nil
        }
    }

    /// Lends the bytes of a string or key, without escapes; nil for other kinds.
    func withUTF8<Result>(at index: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        switch tape.kind(index) {
        case .plainString: return body(tape.bytes(index))
        case .escapedString:
            let raw = tape.bytes(index)
            return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: raw.count) { buffer in
                let count = buffer.baseAddress.map { JSONEscape.decode(raw, into: $0) } ?? 0
                return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            }
        default: return nil
        }
    }
}
