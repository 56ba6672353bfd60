/// Makes names of files of texts that people chose.
enum FileName {
    /// The longest name in bytes: file systems have 255, of which some are left for endings.
    static let maximumLength = 200

    /// A text as the name of a file: letters, digits, `-`, `_` and `.` stay, save a `.` in front; other bytes become `%XX`.
    ///
    /// Different texts have different names, and none leads out of its folder.
    /// - Parameter what: the text in a message.
    /// - Throws: `invalid request` when it is empty or too long.
    static func encode(_ text: String, _ what: String) throws(APIError) -> String {
        guard !text.isEmpty else { throw .invalidRequest("\(what) is empty: name it, as com.example.app.photos") }
        var name = ""
        for (index, byte) in text.utf8.enumerated() {
            let isPlain =
                byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            if isPlain || byte == UInt8(ascii: ".") && index > 0 {
                name.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                name += byte < 16 ? "%0" : "%"
                name += String(byte, radix: 16, uppercase: true)
            }
        }
        guard name.utf8.count <= maximumLength else {
            throw .invalidRequest(
                "\(what) is too long: as the name of a file it has \(name.utf8.count) bytes, of \(maximumLength)")
        }
        return name
    }
}
