#if Tracing
    import NTApi

    /// The path of a request before the places of its command, such as `{id}`, were filled.
    struct URLTemplate {
        private let template: String
        /// The request's own path; with the query, if that has places, too.
        private let target: String

        /// - Returns: nil when the command has no places, or the URL was not made of it: a base URL arg gives all of it.
        init?(_ request: APIRequest) {
            let command = request.command
            guard let place = command.firstIndex(of: "{"), let url = request.httpRequest?.url,
                let base = request.client.defaults["baseUrl"]?.string
            else { return nil }
            var start = String(TracedURL.path(base))
            if start.hasSuffix("/") { start.removeLast() }
            if command.first != "/", command.first != "?" || start.isEmpty { start += "/" }
            template = start + command
            target = String(Self.target(of: url, template))
            let beforePlaces = command[..<place].prefix { $0 != "?" }
            guard target.hasPrefix(start + PercentEncoding.path(String(beforePlaces))) else { return nil }
        }

        /// `url.template` of an attempt; nil when it goes elsewhere, after a redirect.
        func text(for attempt: ObservedAttempt) -> String? {
            Self.target(of: attempt.request.url, template) == target[...] ? template : nil
        }

        private static func target(of url: String, _ template: String) -> Substring {
            TracedURL.path(url, withQuery: template.contains("?"))
        }
    }
#endif
