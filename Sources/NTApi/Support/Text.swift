#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A number for messages, with at most three decimals and no trailing zeros.
func decimal(_ number: Double) -> String {
    guard let thousandths = Int64(exactly: (number * 1000).rounded()), thousandths >= 0 else { return "\(number)" }
    let fraction = thousandths % 1000
    guard fraction > 0 else { return "\(thousandths / 1000)" }
    var digits = String(fraction + 1000).dropFirst()
    while digits.last == "0" { digits = digits.dropLast() }
    return "\(thousandths / 1000).\(digits)"
}

/// Finds the name that somebody probably meant.
enum SimilarName {
    /// The first known name that differs in case, in `_` and `-`, or in one or two letters; nil when none does.
    static func nearest(to name: String, among known: [String]) -> String? {
        let letters = letters(of: name)
        return known.first { candidate in
            let wanted = Self.letters(of: candidate)
            // A program's own short name easily resembles a built-in one.
            let limit = wanted.count < 7 ? 0 : wanted.count < 11 ? 1 : 2
            return abs(wanted.count - letters.count) <= limit && distance(wanted, letters) <= limit
        }
    }

    /// The only known name of which this one is the beginning, or whose words begin with its words, of three letters at
    /// least: `bypass_auth`, `max_redirects`. A name without `_`, such as `raw`, may be a word of the program's own.
    static func longer(than name: String, among known: [String]) -> String? {
        let words = words(of: name)
        guard words.count > 1 else { return nil }
        let found = known.filter { candidate in
            let wanted = Self.words(of: candidate)
            let isShort =
                words.count == wanted.count && zip(wanted, words).allSatisfy { $0.hasPrefix($1) && $1.utf8.count > 2 }
            return isShort || candidate.hasPrefix(name)
        }
        return found.count == 1 ? found[0] : nil
    }

    private static func words(of name: String) -> [Substring] {
        name.split(separator: "_", omittingEmptySubsequences: false)
    }

    private static func letters(of name: String) -> [UInt8] {
        name.lowercasedASCII().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }
    }

    /// The number of letters to add, remove or change to get from one to the other (Levenshtein).
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var row = Array(0...other.count)
        for (i, letter) in one.enumerated() {
            var diagonal = i
            row[0] = i + 1
            for j in other.indices {
                let changed = diagonal + (letter == other[j] ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(changed, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[other.count]
    }
}

/// Words of a command line for a POSIX shell.
enum ShellWord {
    /// The longest text of a word. Linux accepts 128 KiB, and quoting makes it longer.
    static let longest = 65536

    /// Quotes a word so that the shell passes it on unchanged. Nothing is special inside single quotes.
    static func quote(_ text: String) -> String {
        let plain = Array("-_./:=,@%+".utf8)
        let isPlain = text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || plain.contains($0) }
        if isPlain, !text.isEmpty { return text }
        let pieces = text.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + pieces.joined(separator: #"'\''"#) + "'"
    }

    /// Whether the bytes can be the text of a word.
    static func canHold(_ bytes: [UInt8]) -> Bool {
        bytes.count <= longest && !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }

    /// The format with which the shell's `printf` writes these bytes.
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

/// Puts text in quotes, and escapes quotes, backslashes and control characters.
func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": result += "\\\(scalar)"
        case "\n": result += "\\n"
        case "\r": result += "\\r"
        case "\t": result += "\\t"
        case _ where scalar.isInvisibleControl: result += scalar.escaped
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

/// Escapes what a terminal or an editor would act on: control characters, line separators, bidirectional controls.
///
/// Text of a server must not move the cursor, change colors, or show a line in another order than it has. Line feeds and
/// tabs stay. A text without such characters is returned unchanged.
func printable(_ text: String) -> String {
    // Each of them begins with one of these bytes.
    let mayHave = text.utf8.contains { byte in
        switch byte {
        case UInt8(ascii: "\n"), UInt8(ascii: "\t"): false
        case 0..<0x20, 0x7F, 0xC2, 0xD8, 0xE2: true
        default: false
        }
    }
    guard mayHave else { return text }
    var result = String.UnicodeScalarView()
    let scalars = text.unicodeScalars
    for index in scalars.indices {
        let scalar = scalars[index]
        if scalar == "\n" || scalar == "\t" || !scalar.isInvisibleControl {
            result.append(scalar)
        } else if scalar == "\r" {
            // Before a line feed it is a part of the line's end.
            let next = scalars.index(after: index)
            if next == scalars.endIndex || scalars[next] != "\n" { result.append(contentsOf: "\\r".unicodeScalars) }
        } else {
            result.append(contentsOf: scalar.escaped.unicodeScalars)
        }
    }
    return String(result)
}

/// A printable text on one line.
package func printableLine(_ text: String) -> String {
    let text = printable(text)
    guard text.utf8.contains(UInt8(ascii: "\n")) else { return text }
    return text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\\n")
}

/// A printable text whose further lines are indented, so that none of them looks like a line of a log.
func printableLines(_ text: String) -> String {
    let text = printable(text)
    guard text.utf8.contains(UInt8(ascii: "\n")) else { return text }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.dropFirst().reduce(into: String(lines[0])) { $0 += $1.hasPrefix("  ") ? "\n\($1)" : "\n  \($1)" }
}

extension Unicode.Scalar {
    /// Whether it is not shown but acted on: C0 and C1 controls, DEL, line separators, bidirectional controls (UAX 9).
    var isInvisibleControl: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    var escaped: String { "\\u{\(String(value, radix: 16))}" }
}

/// The system's description of an error number.
func systemErrorText(_ number: Int32) -> String {
    var text = [CChar](repeating: 0, count: 128)
    guard strerror_r(number, &text, text.count) == 0 else { return "error \(number)" }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

extension String {
    /// The pieces between the occurrences of a text. Swift's own `split` for that would bring its regular expressions
    /// along: 1.4 MB.
    func components(between separator: String) -> [String] {
        Array(utf8).components(between: Array(separator.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension [UInt8] {
    /// - Parameter mark: not empty.
    func components(between mark: [UInt8]) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var (start, index) = (0, 0)
        while index + mark.count <= count {
            if self[index] == mark[0], self[index..<(index + mark.count)].elementsEqual(mark) {
                pieces.append(self[start..<index])
                index += mark.count
                start = index
            } else {
                index += 1
            }
        }
        return pieces + [self[start...]]
    }
}
