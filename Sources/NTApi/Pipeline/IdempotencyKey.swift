/// The name of a request by which a server tells that it got it twice (draft-ietf-httpapi-idempotency-key-header).
enum IdempotencyKey {
    static let header = "Idempotency-Key"

    /// A random UUID (RFC 9562, 5.4).
    ///
    /// - Parameter random: the system's, as a rule: nobody can guess what it gives.
    static func make(using random: inout some RandomNumberGenerator) -> String {
        var bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += String(byte >> 4, radix: 16) + String(byte & 0x0F, radix: 16)
        }
        return text
    }
}
