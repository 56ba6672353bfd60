/// A request as it goes to the transport: built from args, then only changed by hooks.
public struct HTTPRequest: Sendable {
    /// The body and where it comes from.
    public enum Body: Sendable {
        case none
        case bytes([UInt8])
        case multipart([Part])
        /// A regular file of so many bytes.
        case file(path: String, length: Int64)
        case stream(BodyStream)
    }

    /// One part of a multipart/form-data body.
    public struct Part: Sendable {
        /// The content and where it comes from.
        public enum Content: Sendable {
            case bytes([UInt8])
            case file(path: String)
        }

        public var name: String
        public var content: Content
        public var filename: String?
        public var contentType: String?
    }

    /// A token of RFC 9110, 9.
    public var method: String
    /// An absolute http or https URL.
    public var url: String
    public var headers: HTTPHeaders
    public var body: Body
    var settings: TransferSettings
    /// Whether the body holds a secret, and so is not sent on to another origin.
    var hasSecretBody: Bool

    init(
        method: String, url: String, headers: HTTPHeaders = HTTPHeaders(), body: Body = .none,
        settings: TransferSettings = TransferSettings(), hasSecretBody: Bool = false
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.settings = settings
        self.hasSecretBody = hasSecretBody
    }

    /// Whether sending it twice is the same as sending it once (RFC 9110, 9.2.2).
    var isIdempotent: Bool {
        switch method {
        case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE": true
        default: false
        }
    }
}
