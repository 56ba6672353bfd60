/// The name of a request by which a server tells that it got it twice (draft-ietf-httpapi-idempotency-key-header).
enum IdempotencyKey {
    static let header = "Idempotency-Key"

    /// A random UUID, which nobody can guess.
    static func make() -> String { make(.random(in: .min ... .max), .random(in: .min ... .max)) }

    /// The UUID of these bits (RFC 9562, 5.4).
    static func make(_ high: UInt64, _ low: UInt64) -> String {
        let high = high & ~0xF000 | 0x4000
        let low = low & ~0xC000_0000_0000_0000 | 0x8000_0000_0000_0000
        var text = ""
        for (index, word) in [high, low].enumerated() {
            for digit in 0..<16 {
                if [8, 12, 16, 20].contains(index * 16 + digit) { text += "-" }
                text += String(word >> UInt64(60 - digit * 4) & 0xF, radix: 16)
            }
        }
        return text
    }
}
