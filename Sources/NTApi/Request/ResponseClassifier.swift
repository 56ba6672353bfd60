/// Makes a response from an exchange: status, JSON and errors. Runs on a worker.
struct ResponseClassifier {
    let request: APIRequest

    /// The largest body that is parsed on the network thread, in bytes. Parsing it takes as long as handing it to a
    /// worker.
    private static let plainSize = 32 * 1024
    /// How much of a title or a detail is shown in a message, in characters.
    private static let shownWords = 200

    /// - Returns: nil when a worker must classify the answer.
    static func plainAnswer(_ result: ExchangeResult, _ options: APIOptions) -> PlainAnswer? {
        guard result.error == nil, let head = result.head, (200..<300).contains(head.status) else { return nil }
        if result.body.count == 0 || options.keepBodyRaw {
            return PlainAnswer(json: nil)
        }
        guard result.body.count <= plainSize else { return nil }
        switch JSONParser.parseResponse(result.body) {
        case .none: return PlainAnswer(json: nil)
        case .json(let json, nil): return PlainAnswer(json: json)
        case .json, .failure: return nil
        }
    }

    func content(of answer: Answer) throws(Forked) -> ResponseContent {
        let (result, refusal, now) = (answer.result, answer.refusal, request.now)
        var content = try request.flow { $0.content(now) }
        content.take(result)
        if let error = result.error {
            content.error = error
            content.error?.httpStatus = result.head?.status
            return content
        }
        let options = request.options
        if let refusal {
            // The refusal is not a status of the service, so `ignoreHTTPErrors` does not hide it.
            content.error = refusal
        } else if content.status >= 300, !options.allowAnyStatus {
            content.error = try httpError(content, result.head)
        } else if let problem = result.codingProblem {
            content.error = problem
            content.error?.httpStatus = result.head?.status
            return content
        }
        // An HTTP error often has JSON, even if the answer would have been a text or a picture.
        if content.error == nil, let plain = answer.plain {
            content.json = plain.json
        } else if content.error != nil || !options.keepBodyRaw, content.body.count > 0 {
            try parse(&content)
        }
        if content.error != nil, let problem = ProblemDetails(content) {
            content.error?.problem = problem
            if refusal == nil { content.error?.message += try words(of: problem) }
        }
        let interpreter = try request.handlers(\.interpreter)
        if let error = content.error, error.code == .httpError {
            content.error = try Delivery.call {
                let entry = interpreter?.error(of: content.status) ?? request.client.statusErrors[content.status]
                return entry?.error(for: error, judged(content)) ?? error
            }
        }
        // The service's own error is more precise than the status.
        if content.json != nil, let error = try Delivery.call({ request.client.mapServiceError(judged(content)) }) {
            content.error = error
        }
        // The call's own interpreter decides last.
        if let interpreter {
            content.error = try Delivery.call { interpreter.interpret(judged(content)) }
        }
        guard var error = content.error else { return content }
        error.httpStatus = error.httpStatus ?? content.status
        error.retryAfter = error.retryAfter ?? result.head?.retryAfter(now: request.clock.calendarSeconds)
        error.problem = error.problem ?? ProblemDetails(content)
        content.error = error
        return content
    }

    /// The response that the error hooks see.
    private func judged(_ content: ResponseContent) -> APIResponse {
        APIResponse(request: request, ResponseContent.Box(content, isJudged: true))
    }

    private func httpError(_ content: ResponseContent, _ head: ResponseHead?) throws(Forked) -> APIError {
        let isSafe = try request.flow { $0.mayBeRepeated }
        var error = APIError(
            domain: .http, code: .httpError,
            message: "HTTP \(HTTPStatus.text(content.status)) for \(request.summary)", httpStatus: content.status,
            isRetryable: isSafe && (head?.shouldRetry ?? HTTPStatus.isPassing(content.status)))
        error.retryAfter = head?.retryAfter(now: request.clock.calendarSeconds)
        return error
    }

    /// The server's words for people, at the end of the message of an HTTP error.
    private func words(of problem: ProblemDetails) throws(Forked) -> String {
        let secrets = request.built.request?.secrets ?? MarkedSecrets()
        let sent = try request.flow { $0.current }
        return problem.words.map { ": " + Self.shortened($0) { secrets.redact(echo: $0, of: sent) } }.joined()
    }

    // Redacts more than it shows: at the end of a cut text, half a secret would not be recognized.
    private static func shortened(_ text: String, _ redact: (String) -> String) -> String {
        let beginning = String(text.unicodeScalars.prefix(8 * shownWords))
        let line = printableLine(redact(beginning))
        let isCut = beginning.utf8.count < text.utf8.count || line.unicodeScalars.count > shownWords
        return isCut ? "\(String(line.unicodeScalars.prefix(shownWords - 1)))…" : line
    }

    private func parse(_ content: inout ResponseContent) throws(Forked) {
        let body = ResponseData(bytes: content.body)
        switch try Delivery.call({ Result { try request.client.parseJSON(body) } }) {
        case .success(let parsed):
            guard let parsed else { return }
            content.json = parsed.json
            content.prefixText = parsed.prefixText
        case .failure(let error):
            // The body of an HTTP error is often an HTML page. The status is the error then.
            guard content.error == nil else { return }
            // A program that reads pieces expects no JSON. The body is here because an interceptor has made the answer.
            guard try !request.handlers(\.takesBody) else { return }
            var problem =
                (error as? APIError)
                ?? APIError(
                    domain: .json, code: .invalidJSON, message: "the body of \(request.summary) is not JSON: \(error)")
            problem.httpStatus = content.status
            content.error = problem
        }
    }
}

extension ProblemDetails {
    /// What an answer says about its error; nil when it has another media type, or no JSON object.
    init?(_ content: ResponseContent) {
        guard let json = content.json, let type = content.headers.contentType,
            HeaderSyntax.isMediaType(type, "application/problem+json")
        else { return nil }
        self.init(json)
    }
}

extension APIRequest {
    /// Method and URL for messages, secrets redacted.
    var summary: String {
        guard let built = built.request else { return "the command \(quoted(Secrets.redactURL(command)))" }
        return "\(built.http.method) \(built.secrets.redact(url: built.http.url))"
    }
}
