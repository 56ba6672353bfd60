/// Parses JSON text, and response bodies that ought to be JSON text.
enum JSONParser {
    /// What the body of a response turned out to be.
    enum ResponseBody: Sendable, Equatable {
        /// Nothing but white space.
        case none
        /// JSON, with the stray text that came before it, if any did.
        case json(JSON, prefix: String?)
        /// Not JSON; the error is that of the whole body.
        case failure(JSONParseError)
    }

    /// Parses text that is one JSON value and nothing else.
    static func parse(_ bytes: UnsafeRawBufferPointer) -> Result<JSON, JSONParseError> {
        let start = byteOrderMarkLength(of: bytes)
        var loader = JSONLoader()
        return switch loader.loadWhole(slice(bytes, start..<bytes.count)) {
        case .value(let json, _): .success(json)
        case .failure(let failure):
            .failure(JSONParseError(at: start + failure.offset, of: bytes, reason: failure.reason))
        }
    }

    /// Parses a body; where that fails, looks for JSON that follows stray text, such as a PHP warning, and ends the body.
    ///
    /// See `JSONRecovery` for which values are taken and for the bound of the work.
    static func parseResponse(_ bytes: UnsafeRawBufferPointer) -> ResponseBody {
        let start = byteOrderMarkLength(of: bytes)
        guard bytes[start...].contains(where: { !isWhiteSpace($0) }) else { return .none }
        var loader = JSONLoader()
        switch loader.loadWhole(slice(bytes, start..<bytes.count)) {
        case .value(let json, _): return .json(json, prefix: nil)
        case .failure(let failure):
            var recovery = JSONRecovery(bytes, from: start, whole: failure)
            guard let (json, offset) = recovery.run() else {
                return .failure(JSONParseError(at: start + failure.offset, of: bytes, reason: failure.reason))
            }
            return .json(json, prefix: String(decoding: bytes[start..<offset], as: UTF8.self))
        }
    }

    /// 3 when the text begins with U+FEFF in UTF-8, else 0.
    static func byteOrderMarkLength(of bytes: UnsafeRawBufferPointer) -> Int {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }

    /// White space as RFC 8259 section 2 has it.
    static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    static func slice(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[range])
    }
}
