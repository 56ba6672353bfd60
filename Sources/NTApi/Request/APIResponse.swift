/// The answer to a request: always there, with an error when something went wrong.
public struct APIResponse: Sendable {
    /// The request it answers.
    public let request: APIRequest
    private let box: ResponseContent.Box

    init(request: APIRequest, _ box: ResponseContent.Box) {
        self.request = request
        self.box = box
    }

    var content: ResponseContent { box.content }

    /// What went wrong; nil when all is well.
    public var error: APIError? { content.error }

    /// The body, decompressed. Readable in errors too.
    public var data: ResponseData { ResponseData(bytes: content.body) }

    /// The file that the body was written to, with the arg `download`; nil when it was not, because of an error, say.
    public var file: String? { content.file }

    /// The temporary file that the body was written to, with the arg `download()`; nil when it was not.
    ///
    /// It is there until the response and its request are gone, and so until the handler has returned at least; and until the
    /// process exits at most. A program that wants to keep it moves it elsewhere.
    public var temporaryFile: String? { content.temporaryFile?.path }

    /// What a later request can go on from with the arg `resume`, when a download was cancelled or failed before it was whole.
    ///
    /// Nil when there is nothing to go on from, or nothing that could be trusted. With it the temporary file stays: go on, or
    /// call ``ResumeData/discard()``. Of a download without a destination it stays only if this was asked for.
    public var resumeData: ResumeData? {
        content.unfinishedFile?.release()
        return content.resumeData
    }

    /// Whether a handler may have seen this outcome of a background transfer before, in a process that ended before it returned.
    public var wasDeliveredBefore: Bool { content.wasDeliveredBefore }

    /// The body as text; bytes that are not UTF-8 are replaced.
    public var text: String { String(decoding: content.body.buffer, as: UTF8.self) }

    /// The body as JSON; nil without, and with the option `rawData` unless the status is an error.
    public var json: JSON? { content.json }

    /// The text that came before the JSON: a PHP warning, say.
    public var prefixText: String? { content.prefixText }

    /// The HTTP status; 0 when there was no answer.
    public var status: Int { content.status }

    public var headers: HTTPHeaders { content.headers }

    /// The URL that answered, after redirects; "" when the request could not be built.
    public var url: String { content.url }

    /// The URL as logs may show it, secrets redacted.
    public var redactedURL: String { request.redact(url: url) }

    /// The URL of a `Link` header (RFC 8288), absolute: `link("next")` is that of the next page, for the arg `baseURL`.
    ///
    /// - Parameter relation: such as `next`, `prev`, `last`; letter case has no meaning.
    /// - Returns: nil when there is none, or none that can be asked for.
    public func link(_ relation: String) -> String? {
        WebLink.target(of: relation, in: headers.all("Link")).flatMap { try? URLParts($0, relativeTo: url).text }
    }

    /// Seconds since 1970-01-01 00:00 UTC.
    public var startTime: Double { content.startTime }

    /// Seconds since 1970-01-01 00:00 UTC.
    public var endTime: Double { content.endTime }

    /// Seconds from start to end, by a clock that never jumps.
    public var elapsed: Double { content.elapsed }

    public var metrics: ResponseMetrics { content.metrics }

    /// Where it came from: the network or the cache.
    public var source: ResponseSource { content.metrics.source }

    /// The response itself when all is well.
    ///
    /// - Throws: the error otherwise.
    @discardableResult public func get() throws(APIError) -> APIResponse {
        if let error { throw error }
        return self
    }
}

extension APIResponse {
    /// Makes a value of a type of the program's own from the JSON; see ``JSON/decode(_:at:options:)``.
    ///
    /// In `mapServiceError`, where the response's error is what is being judged, it reads the JSON of the error: a list of what
    /// is wrong with the fields, say.
    ///
    /// - Throws: the response's error, if it has one; `unexpected JSON` when there is no JSON, or it is not as the type expects.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, at path: String = "", options: DecodingOptions = DecodingOptions()
    ) throws(APIError) -> Value {
        try reading { json throws(APIError) in try json.decode(type, at: path, options: options) }
    }

    /// Makes something of the JSON. What is said of it says whose it is, too.
    func reading<Value>(_ body: (JSON) throws(APIError) -> Value) throws(APIError) -> Value {
        if let error, !box.isJudged { throw error }
        guard let json else {
            throw APIError(
                domain: .json, code: .unexpectedJSON, message: "the body of \(request.summary) has no JSON",
                httpStatus: status)
        }
        do throws(APIError) {
            return try body(json)
        } catch {
            guard error.code == .unexpectedJSON else { throw error }
            throw APIError(
                domain: .json, code: .unexpectedJSON, message: "the JSON of \(request.summary): \(error.message)",
                httpStatus: status)
        }
    }
}

/// What a body parses to.
public struct ParsedJSON: Sendable {
    public var json: JSON
    /// The text before the JSON.
    public var prefixText: String?

    public init(_ json: JSON, prefixText: String? = nil) {
        self.json = json
        self.prefixText = prefixText
    }

    /// What the library makes of a body: JSON, perhaps after stray text, or nothing but white space.
    init?(body data: ResponseData) throws(JSONParseError) {
        switch JSONParser.parseResponse(data.bytes) {
        case .none: return nil
        case .json(let json, let prefix): self.init(json, prefixText: prefix)
        case .failure(let error): throw error
        }
    }
}
