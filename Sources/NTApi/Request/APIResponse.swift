/// The result of a request. Every request has one, with an error when something went wrong.
public struct APIResponse: Sendable {
    /// The request that it answers.
    public let request: APIRequest
    private let box: ResponseContent.Box

    init(request: APIRequest, _ box: ResponseContent.Box) {
        self.request = request
        self.box = box
    }

    var content: ResponseContent { box.content }

    /// What went wrong; nil on success.
    public var error: APIError? { content.error }

    /// The body, decompressed. Responses with an error may have one, too.
    public var data: ResponseData { ResponseData(bytes: content.body) }

    /// The file that the arg `download` wrote the body to; nil when there is none, for example after an error.
    public var file: String? { content.file }

    /// The temporary file that the arg `download()` wrote the body to; nil when there is none.
    ///
    /// It exists until the response and its request are released, at least until the handler has returned. Exit removes
    /// it too. To keep it, move it elsewhere.
    public var temporaryFile: String? { content.temporaryFile?.path }

    /// What the arg `resume` of a later request needs to continue an unfinished download.
    ///
    /// Nil when there is nothing to resume, or the server's copy cannot be identified. The temporary file stays on
    /// disk: resume, or call ``ResumeData/discard()``. Without a destination it stays only if you read this property.
    public var resumeData: ResumeData? {
        content.unfinishedFile?.release()
        return content.resumeData
    }

    /// Whether a handler may have seen this outcome of a background transfer before, in a process that ended meanwhile.
    public var wasDeliveredBefore: Bool { content.wasDeliveredBefore }

    /// The body as text. Bytes that are not UTF-8 are replaced.
    public var text: String { String(decoding: content.body.buffer, as: UTF8.self) }

    /// The body as JSON; nil if it has none. With the option `rawData` only HTTP errors have JSON.
    public var json: JSON? { content.json }

    /// The text before the JSON, such as a PHP warning.
    public var prefixText: String? { content.prefixText }

    /// The HTTP status; 0 when there was no answer.
    public var status: Int { content.status }

    /// The text of the status line after the status, such as "Not Found"; "" when the server sent none, as over HTTP/2.
    public var reasonPhrase: String { content.headers.reason }

    /// The header lines; none when there was no answer.
    public var headers: HTTPHeaders { content.headers }

    /// The fields that came behind the body (RFC 9110, 6.5); nearly always none.
    public var trailers: HTTPHeaders { content.trailers ?? HTTPHeaders() }

    /// The URL that answered, after redirects; "" when the request could not be built.
    public var url: String { content.url }

    /// The URL for logs, secrets redacted.
    public var redactedURL: String { request.redact(url: url) }

    /// The absolute URL of a `Link` header (RFC 8288). `link("next")` is the next page, for the arg `baseURL`.
    ///
    /// - Parameter relation: `next`, `prev` or `last`, for example; letter case does not matter.
    /// - Returns: nil when there is none, or its URL is not valid.
    public func link(_ relation: String) -> String? {
        WebLink.target(of: relation, in: headers.references("Link")).flatMap { try? URLParts($0, relativeTo: url).text }
    }

    /// When the request began, in seconds since 1970-01-01 00:00 UTC.
    public var startTime: Double { content.startTime }

    /// When the request ended, in seconds since 1970-01-01 00:00 UTC.
    public var endTime: Double { content.endTime }

    /// Seconds from start to end, on a clock that never jumps.
    public var elapsed: Double { content.elapsed }

    /// Times, sizes and counts.
    public var metrics: ResponseMetrics { content.metrics }

    /// Where it came from: the network or the cache.
    public var source: ResponseSource { content.metrics.source }

    /// Returns the response itself on success.
    ///
    /// - Throws: the error of the response.
    @discardableResult public func get() throws(APIError) -> APIResponse {
        if let error { throw error }
        return self
    }
}

extension APIResponse {
    /// Decodes a value of your own type from the JSON; see ``JSON/decode(_:at:options:)``.
    ///
    /// In `mapServiceError` it also reads the JSON of an HTTP error, such as a list of invalid fields. Without a body, as
    /// with status 204, an optional is nil, and ``NoContent`` is there.
    ///
    /// - Throws: the response's error, if it has one; `unexpected JSON` when there is no JSON, or it does not fit the
    ///   type.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, at path: String = "", options: DecodingOptions = DecodingOptions()
    ) throws(APIError) -> Value {
        if data.isEmpty, type != JSON.self, error == nil || box.isJudged,
            let nothing = try? JSON.null.decode(type, options: options)
        {
            return nothing
        }
        return try reading { json throws(APIError) in try json.decode(type, at: path, options: options) }
    }

    /// Reads the JSON. Its error also names the request.
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

/// The result of parsing a body.
public struct ParsedJSON: Sendable {
    /// The JSON of the body.
    public var json: JSON
    /// The text before the JSON.
    public var prefixText: String?

    /// For a client that overrides `parseJSON(_:)`.
    public init(_ json: JSON, prefixText: String? = nil) {
        self.json = json
        self.prefixText = prefixText
    }

    /// Parses a body as the library does: JSON, perhaps after stray text; nil for white space only.
    init?(body data: ResponseData) throws(JSONParseError) {
        switch JSONParser.parseResponse(data.bytes) {
        case .none: return nil
        case .json(let json, let prefix): self.init(json, prefixText: prefix)
        case .failure(let error): throw error
        }
    }
}
