/// Words of a command line for a POSIX shell.
enum ShellWord {
    /// The longest text of a word: Linux takes 128 KiB, and what is quoted grows.
    static let longest = 65536

    /// A word that the shell passes on as it is: in single quotes, within which nothing has a meaning.
    static func quote(_ text: String) -> String {
        let plain = Array("-_./:=,@%+".utf8)
        let isPlain = text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || plain.contains($0) }
        if isPlain, !text.isEmpty { return text }
        let pieces = text.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + pieces.joined(separator: #"'\''"#) + "'"
    }

    /// Whether bytes are a text that a word can have.
    static func canHold(_ bytes: [UInt8]) -> Bool {
        bytes.count <= longest && !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }

    /// The word by which the shell's `printf` writes these bytes.
    static func format(_ bytes: [UInt8]) -> String {
        var format: [UInt8] = [UInt8(ascii: "'")]
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "%"): format += [byte, byte]
            case UInt8(ascii: "\\"), UInt8(ascii: "'"), 0..<0x20, 0x7F...:
                format.append(UInt8(ascii: "\\"))
                for shift in [6, 3, 0] as [UInt8] { format.append(UInt8(ascii: "0") + (byte >> shift & 7)) }
            default: format.append(byte)
            }
        }
        format.append(UInt8(ascii: "'"))
        return String(decoding: format, as: UTF8.self)
    }
}
