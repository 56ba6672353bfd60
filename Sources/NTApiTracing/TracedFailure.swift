#if Tracing
    import NTApi

    /// The failure of an attempt or a request, as a span has it.
    struct TracedFailure {
        /// `error.type`: a status, or one of few words.
        let type: String
        /// What happened; nil when the status says it.
        let message: String?

        /// - Parameter includesQuery: whether the message may have the queries of URLs.
        /// - Returns: nil when it has not failed, or the caller has cancelled it.
        init?(status: Int, _ error: APIError?, includesQuery: Bool) {
            if status >= 400 || error?.code == .httpError {
                (type, message) = ("\(status)", nil)
            } else if let error, error.domain != .cancelled {
                type = Self.type(of: error)
                message = includesQuery ? error.message : TracedURL.withoutQueries(error.message)
            } else {
                return nil
            }
        }

        private static func type(of error: APIError) -> String {
            if let failure = error.failure, failure != .other { return failure.rawValue }
            return types[error.code] ?? "_OTHER"
        }

        private static let types: [ErrorCode: String] = [
            .timeout: "timeout", .tls: "tls", .responseTooLarge: "response_too_large",
            .tooManyRedirects: "too_many_redirects", .notAllowed: "not_allowed", .circuitOpen: "circuit_open",
            .storeFailed: "store_failed",
            .notCached: "not_cached", .authentication: "authentication_failed", .invalidRequest: "invalid_request",
            .invalidJSON: "invalid_json", .unexpectedJSON: "unexpected_json",
        ]
    }
#endif
