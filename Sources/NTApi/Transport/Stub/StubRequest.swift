/// A request as a stub has received it.
public struct StubRequest: Sendable, CustomStringConvertible {
    public let method: String
    public let url: String
    /// As they would be sent, but for what libcurl adds: Host, Content-Length, cookies and the answers to Digest challenges.
    public let headers: HTTPHeaders
    public let body: [UInt8]
    /// Whether a stub has matched it.
    public internal(set) var isMatched = false

    /// Of a multipart body.
    let parts: [RecordedBody.Part]

    /// The body as JSON; nil when it is none.
    public var json: JSON? { body.isEmpty ? nil : try? JSON(parsing: body) }

    /// The body as text; bytes that are not UTF-8 are replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Method and URL, secrets redacted.
    public var description: String { "\(method) \(Secrets.redactURL(url))" }

    init(_ http: HTTPRequest, body: [UInt8]) {
        var parts: [RecordedBody.Part] = []
        if case .multipart(let all) = http.body { parts = all.compactMap { try? RecordedBody.Part($0) } }
        self.parts = parts
        method = http.method
        url = http.url
        self.body = body
        var headers = http.headers
        if case .multipart = http.body {
            headers.setIfAbsent("Content-Type", "multipart/form-data; boundary=\(MultipartText.boundary)")
        }
        self.headers = headers
    }
}
