extension Secrets {
    /// A URL with the values of secret query pairs redacted, and a user:password before the host.
    static func redactURL(_ url: String, alsoNamed names: Set<String> = []) -> String {
        let withoutUser = redactUser(url)
        // The fragment may be pairs as well: that is how OAuth's implicit grant hands over its token.
        let marks: [Character] = ["?", "#"]
        return marks.reduce(withoutUser) { text, mark in
            guard let start = text.firstIndex(of: mark) else { return text }
            let pairs = text[text.index(after: start)...].split(
                separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            return text[...start] + redactPairs(pairs[0], alsoNamed: names)
                + pairs.dropFirst().map { "#\($0)" }.joined()
        }
    }

    /// The names of the pairs in a URL's query.
    static func queryNames(of url: String) -> [String] {
        guard let mark = url.firstIndex(of: "?") else { return [] }
        let query = url[url.index(after: mark)...].prefix { $0 != "#" }
        return query.split(separator: "&").map { pair in
            PercentEncoding.decode(pair.prefix { $0 != "=" }, plusIsSpace: true)
        }
    }

    /// name=value pairs with the values of secret ones redacted.
    static func redactPairs(_ pairs: some StringProtocol, alsoNamed names: Set<String> = []) -> String {
        pairs.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            guard let equals = pair.firstIndex(of: "=") else { return String(pair) }
            let name = PercentEncoding.decode(pair[..<equals], plusIsSpace: true)
            return isSecretName(name) || names.contains(name) ? "\(pair[...equals])\(redacted)" : String(pair)
        }.joined(separator: "&")
    }

    /// JSON text with the values of secret members redacted. Works on text that is cut off or is no JSON, too.
    static func redactJSON(_ text: String, alsoNamed names: Set<String> = []) -> String {
        var output: [UInt8] = []
        let bytes = Array(text.utf8)
        output.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\"") else {
                output.append(bytes[index])
                index += 1
                continue
            }
            let end = endOfString(bytes, from: index)
            output += bytes[index..<end]
            let name = String(decoding: bytes[min(index + 1, end)..<max(index + 1, end - 1)], as: UTF8.self)
            index = end
            guard isSecretName(name) || names.contains(name), let value = startOfValue(bytes, from: end) else {
                continue
            }
            output += bytes[end..<value]
            output += Array("\"\(redacted)\"".utf8)
            index = endOfValue(bytes, from: value)
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func redactUser(_ url: String) -> String {
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else { return url }
        let start = url.index(colon, offsetBy: 3)
        let authority = url[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return url }
        return "\(url[..<start])\(redacted)\(url[at...])"
    }

    private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
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

    private static func startOfValue(_ bytes: [UInt8], from start: Int) -> Int? {
        var index = start
        while index < bytes.count, isJSONSpace(bytes[index]) { index += 1 }
        guard index < bytes.count, bytes[index] == UInt8(ascii: ":") else { return nil }
        index += 1
        while index < bytes.count, isJSONSpace(bytes[index]) { index += 1 }
        return index < bytes.count ? index : nil
    }

    // A string, or anything up to the end of the member; the inside of a container is scanned as everything else.
    private static func endOfValue(_ bytes: [UInt8], from start: Int) -> Int {
        if bytes[start] == UInt8(ascii: "\"") { return endOfString(bytes, from: start) }
        var depth = 0
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index = endOfString(bytes, from: index)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return index }
                depth -= 1
            case UInt8(ascii: ","):
                if depth == 0 { return index }
            default: break
            }
            index += 1
        }
        return index
    }

    private static func isJSONSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\t")
    }
}
