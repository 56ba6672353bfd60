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

    /// Parses an absolute URL.
    ///
    /// After the host, spaces and bytes beyond ASCII are percent-encoded, and the dot segments of the path are resolved
    /// (RFC 3986, 5.2.4): a server or a proxy would resolve them, so the cache and the cookies must not see another
    /// path. The rest of the path is not changed: it is sent as it was built.
    init(_ text: String) throws(APIError) {
        try Self.rejectControls(text)
        // libcurl would read the path of `http:///path` as the host.
        let authority = text.utf8.drop { $0 != UInt8(ascii: ":") }
        guard authority.starts(with: "://".utf8) else {
            throw .invalidRequest("URL \(Self.quoted(text)): it must begin with http:// or https://")
        }
        guard let first = authority.dropFirst(3).first, first != UInt8(ascii: "/") else {
            throw .invalidRequest("URL \(Self.quoted(text)): the host is missing")
        }
        let url = try CurlURL()
        try url.set(try Self.written(text), keepsDots: true, named: text)
        try self.init(url, named: text)
    }

    /// Resolves a Location header against the requested URL (RFC 3986, 5.2).
    ///
    /// Without a fragment it inherits the base's (RFC 9110, 10.2.2).
    init(_ reference: String, relativeTo base: String) throws(APIError) {
        try Self.rejectControls(reference)
        let original = try URLParts(base)
        // libcurl 7.88 drops the query when the reference is only a fragment, and refuses an empty reference.
        if reference.isEmpty || reference.utf8.first == UInt8(ascii: "#") {
            self = original
            if !reference.isEmpty { setFragment(String(reference.dropFirst())) }
            return
        }
        let url = try CurlURL()
        try url.set(original.text, keepsDots: true, named: base)
        try url.set(try Self.written(reference), keepsDots: false, named: reference)
        try self.init(url, named: reference)
        // libcurl has resolved the dots, except encoded ones.
        self = try URLParts(text)
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
        guard let host = url.host?.lowercasedASCII(), !host.isEmpty
        else {
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

    /// The text to send: percent-encoded and without dot segments after the host. IDN handles a host beyond ASCII.
    ///
    /// A reference without a host keeps its dots, which are relative to the base.
    private static func written(_ text: String) throws(APIError) -> String {
        let bytes = Array(text.utf8)
        let start = endOfAuthority(bytes)
        let end = bytes[start...].firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.count
        let hasDots = start > 0 && DotSegments.mayBe(in: bytes[start..<end])
        guard hasDots || bytes.contains(where: { $0 >= 0x80 || $0 == 0x20 }) else { return text }
        guard !bytes[..<start].contains(0x20) else {
            throw .invalidRequest("URL \(quoted(text)): the host contains a space")
        }
        let path = hasDots ? DotSegments.resolve(bytes[start..<end]) : Array(bytes[start..<end])
        let target = percentEncoded(path) + percentEncoded(bytes[end...])
        return String(decoding: bytes[..<start] + target, as: UTF8.self)
    }

    /// The start of path, query or fragment; 0 in a reference without a host.
    private static func endOfAuthority(_ bytes: [UInt8]) -> Int {
        let slash = UInt8(ascii: "/")
        let start: Int
        if bytes.starts(with: [slash, slash]) {
            start = 2
        } else if let colon = bytes.firstIndex(where: { !$0.isASCIILetter }),
            bytes[colon...].starts(with: [UInt8(ascii: ":"), slash, slash])
        {
            start = colon + 3
        } else {
            return 0
        }
        let ends = [slash, UInt8(ascii: "?"), UInt8(ascii: "#")]
        return bytes[start...].firstIndex { ends.contains($0) } ?? bytes.count
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
            let isControl = scalar.value < 0x20 || scalar.value == 0x7f
            quoted += isControl ? "\\x\(String(scalar.value, radix: 16))" : String(Character(scalar))
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

/// An absolute http or https URL in a service's JSON, checked by libcurl's parser.
///
/// For other schemes and relative URLs, declare a `String`. With Foundation: `URL(string: url.text)`.
public struct APIURL: Sendable, Hashable, RedactedMirror {
    /// The URL, unchanged.
    public let text: String

    /// - Throws: `invalid request`, which says what is wrong with the URL.
    public init(_ text: String) throws(APIError) {
        _ = try URLParts(text)
        self.text = text
    }

    /// The URL with its secrets redacted, for printing. ``text`` is the URL to request.
    public var description: String { printable(Secrets.redactURL(text)) }
}

extension APIURL: Decodable {
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        do throws(APIError) {
            try self.init(text)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "URL expected: \(error.message)"))
        }
    }
}

extension APIURL: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension APIURL: APIArgValue {
    public var argText: String? { text }
}
