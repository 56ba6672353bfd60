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

    /// Parses a copy of text that is one JSON value and nothing else.
    static func parse(copying text: UnsafeRawBufferPointer) -> Result<JSON, JSONParseError> {
        guard let bytes = Bytes.copy(text) else {
            return .failure(JSONParseError(at: 0, of: text, reason: "no memory"))
        }
        return parse(bytes)
    }

    /// Parses text that is one JSON value and nothing else. The value shares the bytes.
    static func parse(_ bytes: Bytes) -> Result<JSON, JSONParseError> {
        var loader = JSONLoader(bytes)
        switch loader.loadWhole(from: byteOrderMarkLength(of: bytes.buffer)) {
        case .value(let json, _): return .success(json)
        case .failure(let failure):
            return .failure(JSONParseError(at: failure.offset, of: bytes.buffer, reason: failure.reason))
        }
    }

    /// Parses a body; where that fails, looks for JSON that follows stray text, such as a PHP warning, and ends the body.
    ///
    /// See `JSONRecovery` for which values are taken and for the bound of the work. The value shares the body's bytes.
    static func parseResponse(_ bytes: Bytes) -> ResponseBody {
        let buffer = bytes.buffer
        let start = byteOrderMarkLength(of: buffer)
        guard buffer[start...].contains(where: { !isWhiteSpace($0) }) else { return .none }
        var loader = JSONLoader(bytes)
        switch loader.loadWhole(from: start) {
        case .value(let json, _): return .json(json, prefix: nil)
        case .failure(let failure):
            var recovery = JSONRecovery(bytes, from: start)
            guard let (json, offset) = recovery.run() else {
                return .failure(JSONParseError(at: failure.offset, of: buffer, reason: failure.reason))
            }
            return .json(json, prefix: String(decoding: buffer[start..<offset], as: UTF8.self))
        }
    }

    /// 3 when the text begins with U+FEFF in UTF-8, else 0.
    static func byteOrderMarkLength(of bytes: UnsafeRawBufferPointer) -> Int {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }

    /// White space as RFC 8259 section 2 has it.
    @inline(__always)
    static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}
