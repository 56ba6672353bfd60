/// Makes a response from an exchange: status, JSON and errors. Runs on a worker.
struct ResponseClassifier {
    let request: APIRequest
    let history: RequestHistory

    /// The largest body that is parsed on the network thread, in bytes. Parsing it takes as long as handing it to a
    /// worker.
    private static let plainSize = 32 * 1024

    /// The result of a complete answer that is quick to classify.
    struct PlainAnswer {
        let status: Int
        let json: JSON?
    }

    /// - Returns: nil when a worker must classify the answer.
    static func plainAnswer(_ result: ExchangeResult, _ options: APIOptions) -> PlainAnswer? {
        guard result.error == nil, let head = result.head, (200..<300).contains(head.status) else { return nil }
        if result.body.count == 0 || (try? options.isOn(.rawData)) == true {
            return PlainAnswer(status: head.status, json: nil)
        }
        guard result.body.count <= plainSize else { return nil }
        switch JSONParser.parseResponse(result.body) {
        case .none: return PlainAnswer(status: head.status, json: nil)
        case .json(let json, nil): return PlainAnswer(status: head.status, json: json)
        case .json, .failure: return nil
        }
    }

    /// - Parameter refusal: why a redirect was not followed.
    func content(of result: ExchangeResult, refusal: APIError?) -> ResponseContent {
        var content = ResponseContent(history, request.now)
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
        } else if content.status >= 300, (try? options.isOn(.ignoreHTTPErrors)) != true {
            content.error = httpError(content)
        }
        // An HTTP error often has JSON, even if the answer would have been a text or a picture.
        if content.error != nil || (try? options.isOn(.rawData)) != true, content.body.count > 0 {
            parse(&content)
            // A hook has forked. The rest belongs to the parent, and the caller ignores the result.
            guard request.isOfThisProcess else { return content }
        }
        // The service's own error is more precise than the status.
        if content.json != nil, let error = Delivery.call({ request.client.mapServiceError(judged(content)) }) {
            content.error = error
        }
        guard request.isOfThisProcess else { return content }
        // The call's own interpreter decides last.
        if let interpreter = request.handlers(\.interpreter) {
            content.error = Delivery.call { interpreter.interpret(judged(content)) }
            guard request.isOfThisProcess else { return content }
        }
        guard var error = content.error else { return content }
        error.httpStatus = error.httpStatus ?? content.status
        error.retryAfter = error.retryAfter ?? result.head?.retryAfter(now: request.clock.calendarSeconds)
        content.error = error
        return content
    }

    /// The response that the error hooks see.
    private func judged(_ content: ResponseContent) -> APIResponse {
        APIResponse(request: request, ResponseContent.Box(content, isJudged: true))
    }

    private func httpError(_ content: ResponseContent) -> APIError {
        let isSafe = history.current?.mayBeRepeated ?? false
        return APIError(
            domain: .http, code: .httpError,
            message: "HTTP \(HTTPStatus.text(content.status)) for \(request.summary)", httpStatus: content.status,
            isRetryable: isSafe && HTTPStatus.isPassing(content.status))
    }

    private func parse(_ content: inout ResponseContent) {
        do {
            let body = ResponseData(bytes: content.body)
            guard let parsed = try Delivery.call({ try request.client.parseJSON(body) }) else { return }
            content.json = parsed.json
            content.prefixText = parsed.prefixText
        } catch {
            // The body of an HTTP error is often an HTML page. The status is the error then.
            guard content.error == nil else { return }
            // Who reads pieces expects no JSON. The body is here because an interceptor has made the answer.
            guard !request.handlers(\.takesBody) else { return }
            var problem =
                (error as? APIError)
                ?? APIError(
                    domain: .json, code: .invalidJSON, message: "the body of \(request.summary) is not JSON: \(error)")
            problem.httpStatus = content.status
            content.error = problem
        }
    }
}

extension APIRequest {
    /// Method and URL for messages, secrets redacted.
    var summary: String {
        guard let built = built.request else { return "the command \(quoted(Secrets.redactURL(command)))" }
        return "\(built.http.method) \(built.secrets.redact(url: built.http.url))"
    }
}
