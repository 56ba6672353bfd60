/// The hash function SHA-256 (FIPS 180-4). It identifies things whose text must not be stored.
package struct SHA256 {
    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    private var block: [UInt8] = []
    private var count: UInt64 = 0

    /// The hash of a text in UTF-8, in 64 hexadecimal digits.
    package static func hex(_ text: String) -> String { hex(bytes: text.utf8) }

    static func hex(bytes: some Sequence<UInt8>) -> String {
        var hash = SHA256()
        for byte in bytes { hash.append(byte) }
        return hash.finish()
    }

    private mutating func append(_ byte: UInt8) {
        block.append(byte)
        count &+= 8
        guard block.count == 64 else { return }
        compress()
        block.removeAll(keepingCapacity: true)
    }

    private mutating func finish() -> String {
        let length = count
        append(0x80)
        while block.count != 56 { append(0) }
        for shift in stride(from: UInt64(56), through: 0, by: -8) { append(UInt8(truncatingIfNeeded: length >> shift)) }
        return String(
            hexadecimal: state.flatMap { word in
                stride(from: UInt32(24), through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
            })
    }

    private mutating func compress() {
        var words = stride(from: 0, to: 64, by: 4).map { index in
            block[index..<index + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<64 {
            let (old, new) = (words[index - 15], words[index - 2])
            let low = Self.rotate(old, 7) ^ Self.rotate(old, 18) ^ (old >> 3)
            let high = Self.rotate(new, 17) ^ Self.rotate(new, 19) ^ (new >> 10)
            words.append(words[index - 16] &+ low &+ words[index - 7] &+ high)
        }
        var hash = state
        for index in 0..<64 {
            let mixed = Self.rotate(hash[4], 6) ^ Self.rotate(hash[4], 11) ^ Self.rotate(hash[4], 25)
            let choice = (hash[4] & hash[5]) ^ (~hash[4] & hash[6])
            let first = hash[7] &+ mixed &+ choice &+ Self.constants[index] &+ words[index]
            let turned = Self.rotate(hash[0], 2) ^ Self.rotate(hash[0], 13) ^ Self.rotate(hash[0], 22)
            let majority = (hash[0] & hash[1]) ^ (hash[0] & hash[2]) ^ (hash[1] & hash[2])
            hash = [
                first &+ turned &+ majority, hash[0], hash[1], hash[2], hash[3] &+ first, hash[4], hash[5], hash[6],
            ]
        }
        for index in 0..<8 { state[index] &+= hash[index] }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}
