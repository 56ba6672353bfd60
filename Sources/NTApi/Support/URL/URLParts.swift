/// The parts of an absolute http or https URL. libcurl parses it, so that the host is the one it will connect to.
struct URLParts: Sendable, Equatable {
    /// The whole normalized URL, with the fragment.
    private(set) var text: String
    private(set) var scheme: String
    /// In lower case and punycode; an IPv6 address in brackets.
    private(set) var host: String
    private(set) var port: Int
    private(set) var path: String
    private(set) var query: String?
    private(set) var fragment: String?

    /// Parses an absolute URL. Every place that takes a URL comes here.
    ///
    /// After the host, spaces and bytes beyond ASCII are percent-encoded, and the dot segments of the path are resolved
    /// (RFC 3986, 5.2.4): a server or a proxy would resolve them, so the cache and the cookies must not see another
    /// path. The rest of the path is not changed: it is sent as it was built.
    init(_ text: String) throws(APIError) {
        try Self.rejectControls(text)
        let url = try CurlURL()
        try url.set(try Self.written(text), named: text)
        try self.init(url, named: text)
    }

    /// Resolves a Location header against the requested URL (RFC 3986, 5.2).
    ///
    /// Without a fragment it inherits the base's (RFC 9110, 10.2.2).
    init(_ reference: String, relativeTo base: String) throws(APIError) {
        try Self.rejectControls(reference)
        let original = try URLParts(base)
        if reference.isEmpty || reference.utf8.first == UInt8(ascii: "#") {
            self = original
            if !reference.isEmpty { setFragment(String(reference.dropFirst())) }
            return
        }
        self = try URLParts(original.absolute(reference))
        if fragment == nil, let inherited = original.fragment { setFragment(inherited) }
    }

    private init(_ url: CurlURL, named name: String) throws(APIError) {
        guard let scheme = url.scheme?.lowercasedASCII(), scheme == "http" || scheme == "https" else {
            throw .invalidRequest("URL \(Self.quoted(name)): only http and https are supported")
        }
        if url.hasUser {
            throw .invalidRequest(
                "URL \(Self.quoted(name)): a URL must not have a user or password; pass a basic auth arg instead")
        }
        guard let host = url.host?.lowercasedASCII(), Self.isHost(host) else {
            throw .invalidRequest(
                "URL \(Self.quoted(name)): the host is missing or not a valid name; letters beyond ASCII can be written "
                    + "in punycode (xn--...)")
        }
        guard let port = url.port,
            (1...65535).contains(port), let text = url.text
        else { throw .invalidRequest("URL \(Self.quoted(name)): the port must be from 1 to 65535") }
        self.text = text
        self.scheme = scheme
        self.host = host
        self.port = port
        path = url.path ?? "/"
        query = url.query
        fragment = url.fragment
    }

    /// Whether the host ends where the text's does. Punycode can make a slash or a colon of other characters, such as ℀.
    private static func isHost(_ host: String) -> Bool {
        !host.isEmpty && (host.hasPrefix("[") || !host.utf8.contains { "/?#@:\\".utf8.contains($0) })
    }

    /// The target of a request to a normalized URL: its path and query (RFC 9112, 3.2.1).
    static func target(of url: String) -> String {
        let rest = url.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst(3).drop { !endsAuthority($0) }
        let target = String(decoding: rest.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
        return target.hasPrefix("/") ? target : "/\(target)"
    }

    /// Whether scheme, host and port are equal, so that secrets may be sent there.
    func isSameOrigin(as other: URLParts) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }

    private mutating func setFragment(_ value: String) {
        let withoutFragment = text.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(text[..<$0]) } ?? text
        let value = String(decoding: Self.percentEncoded(value.utf8), as: UTF8.self)
        fragment = value.isEmpty ? nil : value
        text = value.isEmpty ? withoutFragment : "\(withoutFragment)#\(value)"
    }

    private static func rejectControls(_ text: String) throws(APIError) {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else { return }
        throw .invalidRequest("URL \(quoted(text)): it contains a control character")
    }

    /// A reference as an absolute URL (RFC 3986, 5.2.2). Its dot segments stay: they are resolved after the host is known,
    /// so that nothing of a path becomes a host.
    private func absolute(_ reference: String) -> String {
        if Self.hasScheme(reference) { return reference }
        if reference.hasASCIIPrefix("//") { return "\(scheme):\(reference)" }
        let target = text.utf8.dropFirst(scheme.utf8.count + 3).firstIndex { Self.endsAuthority($0) }
        let origin = text[..<(target ?? text.endIndex)]
        switch reference.utf8.first {
        case UInt8(ascii: "/"): return "\(origin)\(reference)"
        case UInt8(ascii: "?"): return "\(origin)\(path)\(reference)"
        default:
            let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? "/"
            return "\(origin)\(folder)\(reference)"
        }
    }

    /// Whether a reference begins with a scheme (RFC 3986, 3.1).
    private static func hasScheme(_ reference: String) -> Bool {
        guard let first = reference.utf8.first, first.isASCIILetter else { return false }
        let rest = reference.utf8.drop { $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) }
        return rest.first == UInt8(ascii: ":")
    }

    /// The text for libcurl: percent-encoded and without dot segments after the host. IDN handles a host beyond ASCII.
    private static func written(_ text: String) throws(APIError) -> String {
        let bytes = Array(text.utf8)
        let start = try endOfAuthority(bytes, of: text)
        let end = bytes[start...].firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.count
        let hasDots = DotSegments.mayBe(in: bytes[start..<end])
        guard hasDots || bytes.contains(where: { $0 >= 0x80 || $0 == 0x20 }) else { return text }
        guard !bytes[..<start].contains(0x20) else {
            throw .invalidRequest("URL \(quoted(text)): the host contains a space")
        }
        let path = hasDots ? DotSegments.resolve(bytes[start..<end]) : Array(bytes[start..<end])
        let target = percentEncoded(path) + percentEncoded(bytes[end...])
        return String(decoding: bytes[..<start] + target, as: UTF8.self)
    }

    /// Where path, query or fragment begins.
    ///
    /// The host must be there (RFC 9110, 4.2.1). libcurl would take the host of `http:///a` and `http:/a` from the path.
    private static func endOfAuthority(_ bytes: [UInt8], of text: String) throws(APIError) -> Int {
        guard let start = bytes.withUnsafeBufferPointer(\.endOfScheme) else {
            throw .invalidRequest("URL \(quoted(text)): it must begin with http:// or https://")
        }
        let end = bytes[start...].firstIndex(where: endsAuthority) ?? bytes.count
        let host = bytes[start..<end].split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false).last
        guard let first = host?.first, first != UInt8(ascii: ":") else {
            throw .invalidRequest("URL \(quoted(text)): the host is missing")
        }
        return end
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    private static func percentEncoded(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in bytes {
            if byte >= 0x80 || byte == 0x20 {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            } else {
                encoded.append(byte)
            }
        }
        return encoded
    }

    /// The URL for messages: without control characters, and without the text before an @.
    static func quoted(_ text: String) -> String {
        let withoutUser = text.lastIndex(of: "@").map { Secrets.redacted + text[$0...] } ?? text
        let shown = Secrets.redactURL(withoutUser)
        var quoted = "'"
        for scalar in shown.unicodeScalars.prefix(200) {
            quoted += scalar.isInvisibleControl ? scalar.escaped : String(Character(scalar))
        }
        return quoted + (shown.unicodeScalars.count > 200 ? "…'" : "'")
    }
}

/// The path segments `.` and `..`, which are steps, not names (RFC 3986, 5.2.4).
///
/// `%2E` is a dot (RFC 3986, 6.2.2.2), and servers read it as one.
enum DotSegments {
    /// Resolves the steps of a path, as a server would.
    ///
    /// - Parameter path: empty, or with a leading slash.
    static func resolve(_ path: ArraySlice<UInt8>) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        var segments: [ArraySlice<UInt8>] = []
        let given = path.dropFirst().split(separator: slash, omittingEmptySubsequences: false)
        for segment in given {
            switch steps(segment) {
            case nil: segments.append(segment)
            case .stay?: break
            case .up?: _ = segments.popLast()
            }
        }
        // A step at the end names a folder.
        if let last = given.last, steps(last) != nil { segments.append([]) }
        return segments.isEmpty ? [slash] : segments.flatMap { [slash] + $0 }
    }

    /// Whether a path may have steps. A cheap check, false for nearly all paths.
    static func mayBe(in path: ArraySlice<UInt8>) -> Bool {
        var isBeginning = true
        for byte in path {
            if isBeginning, byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { return true }
            isBeginning = byte == UInt8(ascii: "/")
        }
        return false
    }

    private enum Step { case stay, up }

    private static func steps(_ segment: ArraySlice<UInt8>) -> Step? {
        var dots = 0
        var rest = segment
        while let first = rest.first {
            if first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if first == UInt8(ascii: "%"), rest.dropFirst().first == UInt8(ascii: "2"),
                rest.dropFirst(2).first?.lowercasedASCII == UInt8(ascii: "e")
            {
                rest = rest.dropFirst(3)
            } else {
                return nil
            }
            dots += 1
            if dots > 2 { return nil }
        }
        return dots == 0 ? nil : dots == 1 ? .stay : .up
    }
}
