/// Copies a text without its secrets.
///
/// In JSON only the names of members count. In other text (truncated JSON, a log, XML, HTML) a word that names a secret
/// hides what follows it: `token=x`, `"token": "x"`, `'token' => 'x'`, `<token>x</token>`.
struct TextRedactor {
    private let bytes: [UInt8]
    private let names: Set<String>
    private let isJSON: Bool
    private let nesting: Int
    private var output: [UInt8] = []
    private var index = 0
    /// How many more bytes may be scanned after a quote that does not begin a string. It limits the work for a text
    /// that consists only of quotes.
    private var budget: Int

    init(_ text: String, _ names: Set<String>, isJSON: Bool, _ nesting: Int) {
        bytes = Array(text.utf8)
        self.names = names
        self.isJSON = isJSON
        self.nesting = nesting
        budget = 16 * bytes.count + 1024
        output.reserveCapacity(bytes.count)
    }

    mutating func run() -> String {
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                string()
            } else if !isJSON, Self.isOfWord(byte) {
                if let end = URLText.end(bytes, from: index) { url(to: end) } else { word() }
            } else {
                output.append(byte)
                index += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private func isSecret(_ name: String) -> Bool { Secrets.isSecretName(name) || names.contains(name) }

    private mutating func copy(to end: Int) {
        output += bytes[index..<end]
        index = end
    }

    private mutating func url(to end: Int) {
        let url = String(decoding: bytes[index..<end], as: UTF8.self)
        output += Array(Secrets.redactURL(url, alsoNamed: names, nesting: nesting).utf8)
        index = end
    }

    // MARK: JSON

    private mutating func string() {
        guard budget > 0 else { return copy(to: index + 1) }
        let end = endOfString(from: index)
        let text = decoded(min(index + 1, end)..<max(index + 1, end - 1))
        if let value = startOfValue(from: end) {
            let isName = isSecret(text)
            copy(to: value)
            guard isName else { return }
            output += Array("\"\(Secrets.redacted)\"".utf8)
            index = endOfValue(from: value)
        } else if !isJSON, isSecret(text), let value = startOfValue(behindWord: end, isTag: false) {
            copy(to: value)
            hide(to: endOfValue(of: text, value, isPair: false))
        } else if isClosed(end), isJSON || !bytes[index..<end].contains(UInt8(ascii: "\n")) {
            let shown = shown(text)
            if shown == text { return copy(to: end) }
            output += JSON(shown).utf8()
            index = end
        } else {
            budget -= end - index
            copy(to: index + 1)
        }
    }

    /// The text of a string without the secrets inside of it.
    private func shown(_ text: String) -> String {
        if text.hasASCIIPrefix("{") || text.hasASCIIPrefix("[") {
            return Secrets.redact(text, alsoNamed: names, nesting: nesting + 1)
        }
        if isJSON { return Secrets.redactURLs(in: text, alsoNamed: names, nesting: nesting) }
        guard nesting + 1 < Secrets.maximumNesting else { return Secrets.redacted }
        var inner = TextRedactor(text, names, isJSON: false, nesting + 1)
        return inner.run()
    }

    private func isClosed(_ end: Int) -> Bool { end - index >= 2 && bytes[end - 1] == UInt8(ascii: "\"") }

    private func endOfString(from start: Int) -> Int {
        var index = start + 1
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\\") {
                index += 2
            } else if bytes[index] == UInt8(ascii: "\"") {
                return index + 1
            } else {
                index += 1
            }
        }
        return bytes.count
    }

    private func startOfValue(from start: Int) -> Int? {
        var index = afterSpace(start)
        guard index < bytes.count, bytes[index] == UInt8(ascii: ":") else { return nil }
        index = afterSpace(index + 1)
        return index < bytes.count ? index : nil
    }

    private func afterSpace(_ start: Int) -> Int {
        bytes[min(start, bytes.count)...].firstIndex { !JSONParser.isWhiteSpace($0) } ?? bytes.count
    }

    // The end of a string, or of anything else up to the end of the member.
    private func endOfValue(from start: Int) -> Int {
        if bytes[start] == UInt8(ascii: "\"") { return endOfString(from: start) }
        var depth = 0
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index = endOfString(from: index)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return index }
                depth -= 1
                if depth == 0 { return index + 1 }
            case UInt8(ascii: ","):
                if depth == 0 { return index }
            default: break
            }
            index += 1
        }
        return index
    }

    /// Decodes the inside of a string; keeps invalid escapes.
    private func decoded(_ range: Range<Int>) -> String {
        guard bytes[range].contains(UInt8(ascii: "\\")) else { return String(decoding: bytes[range], as: UTF8.self) }
        // The NUL at the end stops every escape.
        let text = Array(bytes[range]) + [0]
        var units: [UInt8] = []
        text.withUnsafeBufferPointer { text in
            guard let start = text.baseAddress else { return }
            var index = 0
            while index < text.count - 1 {
                if text[index] == UInt8(ascii: "\\"), let escape = JSONEscape(start + index) {
                    units += Array(String(Unicode.Scalar(escape.scalar) ?? "\u{FFFD}").utf8)
                    index += escape.length
                } else {
                    units.append(text[index])
                    index += 1
                }
            }
        }
        return String(decoding: units, as: UTF8.self)
    }

    // MARK: Other text

    private static func isOfWord(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte >= 0x80 || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%")
    }

    private mutating func word() {
        let start = index
        copy(to: bytes[start...].firstIndex { !Self.isOfWord($0) } ?? bytes.count)
        let name = PercentEncoding.decode(String(decoding: bytes[start..<index], as: UTF8.self))
        guard isSecret(name) else { return }
        let isTag = isTag(start, index)
        // In the query or fragment of a URL without scheme and host.
        let isPair = start > 0 && "?&#".utf8.contains(bytes[start - 1])
        guard let value = startOfValue(behindWord: index, isTag: isTag) else { return }
        copy(to: value)
        hide(
            to: isTag && bytes[value - 1] == UInt8(ascii: ">")
                ? endOfElement(value) : endOfValue(of: name, value, isPair: isPair))
    }

    /// Whether a word is the name of an XML element, perhaps with a namespace before it.
    private func isTag(_ start: Int, _ end: Int) -> Bool {
        guard end < bytes.count, bytes[end] == UInt8(ascii: ">") || bytes[end] == UInt8(ascii: " ") else {
            return false
        }
        var index = start - 1
        while index > max(0, start - 64), Self.isOfWord(bytes[index]) || bytes[index] == UInt8(ascii: ":") {
            index -= 1
        }
        return index >= 0 && bytes[index] == UInt8(ascii: "<")
    }

    private mutating func hide(to end: Int) {
        guard end > index else { return }
        let quote = bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'") ? [bytes[index]] : []
        output += quote + Array(Secrets.redacted.utf8) + quote
        index = end
    }

    /// The start of the value: after `=`, `:` or `=>`, or after the `>` of a tag. The name may be in quotes or
    /// brackets.
    private func startOfValue(behindWord end: Int, isTag: Bool) -> Int? {
        if isTag, let close = bytes[end...].firstIndex(where: { $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "<") }),
            bytes[close] == UInt8(ascii: ">"), bytes[close - 1] != UInt8(ascii: "/")
        {
            return close + 1
        }
        let around = Array("\\\"'])`".utf8)
        let space = Array(" \t".utf8)
        var index = end
        while index < bytes.count, around.contains(bytes[index]) || space.contains(bytes[index]) { index += 1 }
        guard index < bytes.count, bytes[index] == UInt8(ascii: "=") || bytes[index] == UInt8(ascii: ":") else {
            return nil
        }
        let marks = Array("=:>".utf8)
        while index < bytes.count, marks.contains(bytes[index]) { index += 1 }
        // A value on the next line has quotes or brackets.
        let next = afterSpace(index)
        if next < bytes.count, bytes[index..<next].contains(UInt8(ascii: "\n")), end == index - 1 { return nil }
        // A dump with types: `string(3) "abc"`.
        if bytes[next...].starts(with: "string(".utf8),
            let quote = bytes[next...].firstIndex(of: UInt8(ascii: "\""))
        {
            return quote
        }
        return next < bytes.count ? next : nil
    }

    private func endOfElement(_ start: Int) -> Int {
        bytes[start...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
    }

    private func endOfValue(of name: String, _ start: Int, isPair: Bool) -> Int {
        let rest = bytes[start...]
        if rest.starts(with: Secrets.redacted.utf8) { return start + Secrets.redacted.utf8.count }
        switch bytes[start] {
        case UInt8(ascii: "\""): return endOfString(from: start)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return endOfValue(from: start)
        case UInt8(ascii: "'"), UInt8(ascii: "`"):
            return rest.dropFirst().firstIndex(of: bytes[start]).map { $0 + 1 } ?? bytes.count
        case UInt8(ascii: "\\"):
            // An escaped quote: the value ends at the next one.
            let quote = Array(rest.prefix(2))
            var index = start + 2
            while index < bytes.count, !bytes[index...].starts(with: quote) { index += 1 }
            return min(index + 2, bytes.count)
        default: break
        }
        // Auth schemes and cookies are followed by spaces and pairs.
        let isLine =
            name.lowercasedASCII().containsSubstring("authorization") || beginsWithScheme(rest)
            || name.lowercasedASCII().containsSubstring("cookie")
        let ends = Array((isLine ? "\r\n\"<" : isPair ? " \t\r\n&#\"'<>" : " \t\r\n&,;\"'<>}])\\").utf8)
        return rest.firstIndex { ends.contains($0) } ?? bytes.count
    }

    private func beginsWithScheme(_ value: ArraySlice<UInt8>) -> Bool {
        let word = String(decoding: value.prefix { $0.isASCIILetter }, as: UTF8.self).lowercasedASCII()
        return ["bearer", "basic", "digest", "token", "negotiate"].contains(word)
            && value.dropFirst(word.utf8.count).first == UInt8(ascii: " ")
    }
}
