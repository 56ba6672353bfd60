/// How a coding key is spelled in a service's JSON.
enum JSONKeySpelling {
    /// Lends the key in snake_case: `tempMin` as `temp_min`, `avatarURL` as `avatar_url`, `URLPath` as `url_path`.
    static func withSnakeCase<Result>(
        _ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        guard key.contains(where: isCapital) else { return body(key) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: key.count * 2) { spelled in
            var count = 0
            for (index, byte) in key.enumerated() {
                if index > 0, beginsWord(key, index) {
                    spelled[count] = UInt8(ascii: "_")
                    count += 1
                }
                spelled[count] = byte.lowercasedASCII
                count += 1
            }
            return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(spelled)[..<count]))
        }
    }

    /// The key in snake_case.
    static func snakeCase(_ key: String) -> String {
        key.withBytes { bytes in
            withSnakeCase(UnsafeRawBufferPointer(bytes)) { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// A capital does behind a small letter or a digit, and when it is the last of several, before a small letter.
    private static func beginsWord(_ key: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        guard isCapital(key[index]), key[index - 1] != UInt8(ascii: "_") else { return false }
        if !isCapital(key[index - 1]) { return true }
        let next = index + 1
        return next < key.count && key[next].isASCIILetter && !isCapital(key[next])
    }

    private static func isCapital(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") }

    /// The coding key that snake_case may have come from: `temp_min` from `tempMin`.
    static func camelCase(_ key: String) -> String {
        var isNext = false
        var bytes: [UInt8] = []
        for byte in key.utf8 {
            if byte == UInt8(ascii: "_"), !bytes.isEmpty {
                isNext = true
            } else {
                bytes.append(isNext && byte.isASCIILetter ? byte & ~0x20 : byte)
                isNext = false
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A dictionary whose keys are data, and are never spelled in another way.
protocol StringKeyed {}

extension Dictionary: StringKeyed where Key == String {}
