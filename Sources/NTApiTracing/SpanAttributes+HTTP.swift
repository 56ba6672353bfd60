#if Tracing
    import NTApi
    import Tracing

    extension SpanAttributes {
        /// What is known when an attempt begins.
        init(_ attempt: ObservedAttempt, _ method: TracedMethod, _ options: RequestTracer.Options) {
            self = [:]
            self["http.request.method"] = method.name
            if let original = method.original { self["http.request.method_original"] = original }
            self["url.full"] = TracedURL.redacted(attempt.request.url, includesQuery: options.includesQuery)
            if let server = attempt.request.server {
                self["server.address"] = server.address
                self["server.port"] = server.port
            }
            if attempt.number > 1 { self["http.request.resend_count"] = attempt.number - 1 }
            add(options.requestHeaders, of: attempt.request.headers, as: "http.request.header")
        }

        /// What is known when it has ended, without the error.
        init(_ answer: ObservedAnswer, _ headers: [String]) {
            self = [:]
            if answer.status > 0 { self["http.response.status_code"] = answer.status }
            if let version = answer.protocolVersion { self["network.protocol.version"] = version }
            if let first = answer.address.first {
                self["network.peer.address"] = answer.address
                // The path of a Unix socket has no port.
                if first != "/", first != "@" { self["network.peer.port"] = answer.port }
            }
            add(headers, of: answer.headers, as: "http.response.header")
        }

        private mutating func add(_ names: [String], of headers: HTTPHeaders, as prefix: String) {
            for name in names {
                let values = headers.all(name)
                if !values.isEmpty { self["\(prefix).\(name.lowercased())"] = values }
            }
        }
    }

    extension ObservedAnswer {
        /// `network.protocol.version`: 1.0, 1.1, 2 or 3; nil when there was no answer.
        var protocolVersion: String? {
            switch metrics.httpVersion {
            case 0: nil
            case let version where version < 2: "\(version)"
            case let version: "\(Int(version))"
            }
        }
    }

    /// `http.request.method`, which has few values.
    struct TracedMethod {
        /// The method, or `_OTHER` if it is not known.
        let name: String
        /// The method, if it is not known.
        let original: String?

        init(_ method: String, known: Set<String>) {
            let isKnown = known.contains(method)
            name = isKnown ? method : "_OTHER"
            original = isKnown ? nil : method
        }

        /// - Parameter template: the command, if it has places.
        func spanName(_ template: String?) -> String {
            let first = original == nil ? name : "HTTP"
            return template.map { "\(first) \($0)" } ?? first
        }
    }
#endif
