/// An answer as interceptors see it: from the server, or made by an interceptor.
public struct HTTPResponse: Sendable, RedactedMirror {
    /// The HTTP status; 0 when there was no answer.
    public var status: Int
    /// The header lines of the answer.
    public var headers: HTTPHeaders
    /// The body; empty when it went to a data handler or a file.
    public var body: ResponseData
    /// Why there is no complete answer; nil when there is one, whatever its status.
    public var error: APIError?
    /// The trailers and the version of HTTP of a recorded answer; nil for other answers, which keep those that they had.
    var trailers: HTTPHeaders?
    var httpVersion: Double?

    /// An answer made by an interceptor. Status 0 with an error means that there is no answer.
    public init(
        status: Int, headers: HTTPHeaders = HTTPHeaders(), body: ResponseData = ResponseData(), error: APIError? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.error = error
    }

    /// The status and the size of the body.
    public var description: String { "\(status), \(body.count) bytes\(error.map { ", \($0)" } ?? "")" }

    /// Whether the other response is this one, unchanged.
    func isSame(as other: HTTPResponse) -> Bool {
        body.bytes === other.body.bytes && status == other.status && error == other.error && headers == other.headers
    }
}
