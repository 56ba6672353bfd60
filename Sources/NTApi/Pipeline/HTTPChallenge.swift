/// What a server or proxy asks for with `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110, 11.6.1).
public struct HTTPChallenge: Sendable, Equatable {
    /// A name and value beside the scheme; quotes and backslashes are taken off.
    public struct Parameter: Sendable, Equatable {
        public var name: String
        public var value: String
    }

    /// "Basic", "Bearer", "Digest": as the server wrote it; letter case has no meaning.
    public var scheme: String
    public var parameters: [Parameter] = []
    /// What some schemes send in the place of parameters; nil when there is none.
    public var token68: String?

    /// The part of the server that the credentials are for.
    public var realm: String? { self["realm"] }

    /// The first parameter of a name, letter case aside.
    public subscript(name: String) -> String? {
        parameters.first { $0.name.equalsIgnoringASCIICase(name) }?.value
    }

    public func isScheme(_ name: String) -> Bool { scheme.equalsIgnoringASCIICase(name) }

    /// All challenges of the lines of a header, in order. What cannot be read is passed over.
    static func parse(_ lines: [String]) -> [HTTPChallenge] {
        lines.flatMap { line in
            var reader = ChallengeReader(line)
            return reader.all()
        }
    }
}

/// Reads one line. A comma stands between challenges as well as between the parameters of one: a name that is followed by
/// `=` is a parameter, any other a scheme.
private struct ChallengeReader {
    private let bytes: [UInt8]
    private var index = 0

    /// Nobody asks for more; a line of commas and letters must not become a list of thousands.
    private static let maximumChallenges = 64

    init(_ line: String) { bytes = Array(line.utf8) }

    mutating func all() -> [HTTPChallenge] {
        var challenges: [HTTPChallenge] = []
        while challenges.count < Self.maximumChallenges {
            skip { $0 == UInt8(ascii: ",") || Self.isSpace($0) }
            guard index < bytes.count else { break }
            let name = takeToken()
            guard !name.isEmpty else {
                skipElement()
                continue
            }
            if let value = takeValue() {
                // A parameter that no scheme came before belongs to nothing.
                if let last = challenges.indices.last {
                    challenges[last].parameters.append(.init(name: name, value: value))
                }
            } else {
                challenges.append(HTTPChallenge(scheme: name, token68: takeToken68()))
            }
        }
        return challenges
    }

    /// What follows `=`; nil, and nothing is read, when there is none.
    private mutating func takeValue() -> String? {
        let start = index
        skip(Self.isSpace)
        guard peek == UInt8(ascii: "=") else {
            index = start
            return nil
        }
        index += 1
        skip(Self.isSpace)
        guard peek == UInt8(ascii: "\"") else {
            let value = takeToken()
            // Servers send what is no token, such as realm=my realm; up to the comma it is meant to be one.
            skipElement()
            return value
        }
        return takeQuoted()
    }

    private mutating func takeQuoted() -> String {
        index += 1
        var value: [UInt8] = []
        while let byte = peek, byte != UInt8(ascii: "\"") {
            index += 1
            if byte == UInt8(ascii: "\\"), let escaped = peek {
                index += 1
                value.append(escaped)
            } else {
                value.append(byte)
            }
        }
        index += 1
        return String(decoding: value, as: UTF8.self)
    }

    /// After a scheme: letters up to the comma or the end, if they are no parameter.
    private mutating func takeToken68() -> String? {
        let start = index
        skip(Self.isSpace)
        guard index > start else { return nil }
        let first = index
        skip { $0.isASCIILetter || $0.isASCIIDigit || "-._~+/".utf8.contains($0) }
        guard index > first else {
            index = start
            return nil
        }
        skip { $0 == UInt8(ascii: "=") }
        let end = index
        skip(Self.isSpace)
        guard index >= bytes.count || peek == UInt8(ascii: ",") else {
            index = start
            return nil
        }
        return String(decoding: bytes[first..<end], as: UTF8.self)
    }

    private mutating func takeToken() -> String {
        let start = index
        skip(\.isTokenCharacter)
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func skipElement() { skip { $0 != UInt8(ascii: ",") } }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while let byte = peek, isSkipped(byte) { index += 1 }
    }

    private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
