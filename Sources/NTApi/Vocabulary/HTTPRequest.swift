/// A request for the transport. It is built from args; only hooks and interceptors change it.
public struct HTTPRequest: Sendable, RedactedMirror {
    /// The body and its source.
    public enum Body: Sendable, RedactedMirror {
        /// No body.
        case none
        /// Bytes in memory.
        case bytes([UInt8])
        /// The parts of multipart/form-data.
        case multipart([Part])
        /// A regular file of this length.
        case file(path: String, length: Int64)
        /// Bytes that are read from the program while they are sent.
        case stream(BodyStream)

        /// The kind and the size, not the content.
        public var description: String {
            switch self {
            case .none: "none"
            case .bytes(let bytes): "\(bytes.count) bytes"
            case .multipart(let parts): "multipart: \(parts)"
            case .file(let path, let length): "file \(quoted(path)), \(length) bytes"
            case .stream(let stream): "stream, \(stream.length.map { "\($0) bytes" } ?? "unknown length")"
            }
        }
    }

    /// One part of a multipart/form-data body.
    public struct Part: Sendable, RedactedMirror {
        /// The content and its source.
        public enum Content: Sendable, RedactedMirror {
            /// Bytes in memory.
            case bytes([UInt8])
            /// A regular file, read while it is sent. Its length is set when the request is built.
            case file(path: String, length: Int64? = nil)

            /// The size or the path, not the content.
            public var description: String {
                switch self {
                case .bytes(let bytes): "\(bytes.count) bytes"
                case .file(let path, _): "file \(quoted(path))"
                }
            }
        }

        /// The name of the form's field.
        public var name: String
        /// The content.
        public var content: Content
        /// The file name to send; nil sends none.
        public var filename: String?
        /// The content type; nil lets libcurl derive it from the file name.
        public var contentType: String?

        /// The names and the size, not the content.
        public var description: String {
            let size = if case .bytes(let bytes) = content { "\(bytes.count) bytes" } else { "a file" }
            return "\(quoted(name)), \(size)\(filename.map { ", filename: \(quoted($0))" } ?? "")"
        }
    }

    // One reference to all fields: a request is passed around far more often than it is changed.
    private final class Storage: @unchecked Sendable {
        // Safe to share: changed only while nobody else has a reference.
        @exclusivity(unchecked) var fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    private struct Fields {
        var method: String
        var url: String
        var headers: HTTPHeaders
        var body: Body
        var settings: TransferSettings
        var hasSecretBody: Bool
        var hasForeignBody = false
        var digest: Credential?
        var token: CarriedToken?
        var options = APIOptions()
        var priority = HTTPRequest.usualPriority
        var secrets = MarkedSecrets()
        var refusedSetters: [String] = []
    }

    private var storage: Storage

    /// The method, a token of RFC 9110, 9.
    public var method: String {
        get { storage.fields.method }
        set { changed.fields.method = newValue }
    }

    /// The URL: absolute, http or https.
    ///
    /// A URL of another origin removes what belongs to this one: credentials, tokens, secret headers, Cookie, Host,
    /// Idempotency-Key and allowed invalid certificates. Set what the other origin may see after the URL.
    public var url: String {
        get { storage.fields.url }
        set {
            let isElsewhere = Origin.isAnother(newValue, than: url)
            changed.fields.url = newValue
            if isElsewhere { leaveOrigin() }
        }
    }

    /// The headers to send, without those that libcurl adds.
    public var headers: HTTPHeaders {
        get { storage.fields.headers }
        set { changed.fields.headers = newValue }
    }

    /// The body to send.
    public var body: Body {
        get { storage.fields.body }
        set {
            changed.fields.body = newValue
            if hasForeignBody { hasForeignBody = false }
        }
    }

    /// The limits in seconds, by clock: `request.timeouts[.idle] = 5` sets the request timeout. Nil is no limit.
    public var timeouts: Timeouts {
        get { settings.timeouts }
        set { settings.timeouts = newValue }
    }

    /// How the client's cache may be used.
    public var cachePolicy: CachePolicy {
        get { settings.cachePolicy }
        set { settings.cachePolicy = newValue }
    }

    /// The options: `request.options[.rawData] = "true"`; nil removes one. They are applied when the request is built.
    public var options: APIOptions {
        get { storage.fields.options }
        set { changed.fields.options = newValue }
    }

    static let usualPriority = 0.5

    /// The priority from 0 (last) to 1 (first) among requests that wait for a connection to the same host. It is
    /// applied when the request is built.
    public var priority: Double {
        get { storage.fields.priority }
        set { changed.fields.priority = newValue.isNaN ? Self.usualPriority : min(1, max(0, newValue)) }
    }

    var settings: TransferSettings {
        get { storage.fields.settings }
        set { changed.fields.settings = newValue }
    }

    /// What texts about the request must not show.
    var secrets: MarkedSecrets {
        get { storage.fields.secrets }
        set { changed.fields.secrets = newValue }
    }

    /// Whether the body contains a secret. It is then not sent to another origin.
    var hasSecretBody: Bool {
        get { storage.fields.hasSecretBody }
        set { changed.fields.hasSecretBody = newValue }
    }

    /// Whether the body contains a secret, and was set for another origin than the URL's. It is then not sent.
    var hasForeignBody: Bool {
        get { storage.fields.hasForeignBody }
        set { changed.fields.hasForeignBody = newValue }
    }

    /// What the program could not set: the function, a blank, and what it sets. The request is not sent without it.
    package var refusedSetters: [String] {
        get { storage.fields.refusedSetters }
        set { changed.fields.refusedSetters = newValue }
    }

    /// The credential for the server's Digest challenges (RFC 7616). It is never used for another origin.
    var digest: Credential? {
        get { storage.fields.digest }
        set { changed.fields.digest = newValue }
    }

    /// The token that an authenticator has added to the headers. The headers may have changed since.
    var token: CarriedToken? {
        get { storage.fields.token }
        set { changed.fields.token = newValue }
    }

    init(
        method: String, url: String, headers: HTTPHeaders = HTTPHeaders(), body: Body = .none,
        settings: TransferSettings = TransferSettings(), hasSecretBody: Bool = false
    ) {
        storage = Storage(
            Fields(
                method: method, url: url, headers: headers, body: body, settings: settings, hasSecretBody: hasSecretBody
            ))
    }

    private var changed: Storage {
        mutating get {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.fields) }
            return storage
        }
    }

    /// Method, URL and headers, with secrets redacted.
    public var description: String {
        printable("\(HeaderSyntax.shown(method)) \(secrets.redact(url: url))") + headers.map { "\n\($0)" }.joined()
    }

    /// Whether sending the request twice has the same effect as sending it once (RFC 9110, 9.2.2).
    var isIdempotent: Bool { HTTPMethod.isIdempotent(method) }

    /// Whether the request may be sent twice: it is idempotent, or has a key by which the server recognizes a repeat.
    var mayBeRepeated: Bool { isIdempotent || headers[IdempotencyKey.header] != nil }
}

/// What methods mean: the one table (RFC 9110, 9.2; RFC 10008 for QUERY; the register of IANA for those of WebDAV).
enum HTTPMethod {
    /// Whether a request with this method changes nothing on the server.
    static func isSafe(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "REPORT", "SEARCH": true
        default: false
        }
    }

    /// Whether sending a request with this method twice has the same effect as sending it once.
    static func isIdempotent(_ method: String) -> Bool { method == "PUT" || method == "DELETE" || isSafe(method) }
}

/// The token of an authenticator in the headers of a request, and its owner.
final class CarriedToken: Sendable {
    let header: String
    private let value: String
    /// The same for a token and all its refreshed successors: see ``TokenOwner``.
    let owner: String

    init(_ header: String, _ value: String, owner: String) {
        self.header = header.lowercasedASCII()
        self.value = value
        self.owner = owner
    }

    /// - Parameter name: the name of a header, in lower case.
    func isThat(_ name: String, _ value: String) -> Bool { name == header && value == self.value }
}

/// Whose a token is: a text that identifies the user to a cache.
enum TokenOwner {
    /// The user of a token that processes share: the same text in all of them, and no token.
    static func shared(_ user: Int64, of key: String) -> String { "\0user \(user) of \(key)" }

    /// Otherwise it is the user's first token in this process. In another process, it may be another user's: as the first
    /// token, a program may give any text.
    static func isShared(_ owner: String) -> Bool { owner.utf8.first == 0 }
}

extension HeaderSyntax {
    /// Checks the names of a multipart part. libcurl escapes quotes and line breaks in names, but not in a content
    /// type.
    static func check(_ part: HTTPRequest.Part) throws(APIError) {
        for text in [part.name, part.filename ?? "", part.contentType ?? ""] {
            if let byte = text.utf8.first(where: isForbidden) {
                throw .invalidRequest(
                    "the multipart part \(quoted(part.name)) has \(describe(byte)) in \(quoted(text))")
            }
        }
    }
}

/// A key by which a server recognizes a repeated request (draft-ietf-httpapi-idempotency-key-header).
enum IdempotencyKey {
    static let header = "Idempotency-Key"

    /// A random UUID that nobody can guess.
    static func make() -> String { make(.random(in: .min ... .max), .random(in: .min ... .max)) }

    /// The UUID of these bits (RFC 9562, 5.4).
    static func make(_ high: UInt64, _ low: UInt64) -> String {
        let high = high & ~0xF000 | 0x4000
        let low = low & ~0xC000_0000_0000_0000 | 0x8000_0000_0000_0000
        var text = ""
        for (index, word) in [high, low].enumerated() {
            for digit in 0..<16 {
                if [8, 12, 16, 20].contains(index * 16 + digit) { text += "-" }
                text += String(word >> UInt64(60 - digit * 4) & 0xF, radix: 16)
            }
        }
        return text
    }
}
