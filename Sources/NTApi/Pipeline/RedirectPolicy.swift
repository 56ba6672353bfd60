/// Decides what to do about a redirect (RFC 9110, 15.4). Pure.
///
/// libcurl's own redirects are not used: they send custom secret headers to other hosts.
enum RedirectPolicy {
    enum Decision {
        case none
        case follow(HTTPRequest)
        /// The redirect is not followed. The response is delivered with this error.
        case refuse(APIError)
    }

    static func decide(_ request: HTTPRequest, _ head: ResponseHead, followed: Int) -> Decision {
        guard request.settings.maximumRedirects > 0, let location = head.redirectLocation else { return .none }
        // An empty reference is the same URL again (RFC 3986, 4.4).
        guard !location.isEmpty else {
            return .refuse(error(head, .httpError, "redirect not followed: the header Location is empty"))
        }
        guard followed < request.settings.maximumRedirects else {
            return .refuse(
                error(
                    head, .tooManyRedirects,
                    "more than \(request.settings.maximumRedirects) redirects, the last to \(Secrets.redactURL(location))"
                ))
        }
        do throws(APIError) {
            let from = try URLParts(request.url)
            let to = try URLParts(location, relativeTo: request.url)
            guard from.scheme == to.scheme || to.scheme == "https" else {
                return .refuse(
                    error(head, .httpError, "redirect from https to http refused: \(Secrets.redactURL(to.text))"))
            }
            return follow(request, head, from: from, to: to)
        } catch {
            return .refuse(self.error(head, .httpError, "redirect not followed: \(error.message)"))
        }
    }

    private static func follow(
        _ request: HTTPRequest, _ head: ResponseHead, from: URLParts, to: URLParts
    ) -> Decision {
        var next = request
        if from.host != to.host, let context = request.settings.context {
            next.settings.context = context.following(from: from.host, to: to.host)
        }
        if changesToGET(request.method, head.status) {
            next.method = "GET"
            next.body = .none
            for name in [
                "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", IdempotencyKey.header,
            ] {
                next.headers.remove(name)
            }
        }
        // On another origin, what belongs to this one is removed.
        next.url = to.text
        guard !next.hasForeignBody else {
            return .refuse(
                error(
                    head, .httpError,
                    "redirect not followed: the body contains a secret, and \(to.host) is another origin"))
        }
        if case .stream(let stream) = next.body, !stream.isRewindable {
            return .refuse(
                error(head, .httpError, "redirect not followed: the body is a stream that cannot be sent twice"))
        }
        return .follow(next)
    }

    // 303 asks for a GET. 301 and 302 turn a POST into a GET, as in every browser (RFC 9110, 15.4.2 and 15.4.3).
    private static func changesToGET(_ method: String, _ status: Int) -> Bool {
        switch status {
        case 303: method != "HEAD" && method != "GET"
        case 301, 302: method == "POST"
        default: false
        }
    }

    static func error(_ head: ResponseHead, _ code: ErrorCode, _ message: String) -> APIError {
        APIError(domain: .http, code: code, message: "HTTP \(head.status): \(message)", httpStatus: head.status)
    }
}
