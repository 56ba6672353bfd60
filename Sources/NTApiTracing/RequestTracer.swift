#if Tracing
    public import NTApi
    import Tracing

    /// Writes a span for each attempt of a request, by OpenTelemetry's conventions for HTTP clients, and metrics.
    ///
    /// ```swift
    /// InstrumentationSystem.bootstrap(tracer)
    /// APIClient.addObserver(RequestTracer())
    /// ```
    ///
    /// A request that is sent once has one span, of kind client. Each redirect, retry and other repetition has a span of
    /// its own, with `http.request.resend_count`. The parent is the `ServiceContext` of the task that begins the request.
    /// A span begins when the attempt is about to be sent, and ends when the last byte of its answer has arrived, also if
    /// the program reads the body as a stream, or when it has failed. An answer from the cache has no span.
    ///
    /// The span's context is sent with its attempt, in the headers that the instrument writes, such as `traceparent`.
    ///
    /// Names, attributes and metrics are those of the stable conventions. Bodies are never written, and headers only if
    /// they are listed in ``Options``.
    public final class RequestTracer: APIObserver {
        /// What it was made with.
        public let options: Options

        /// Makes one. Add it to a client, or to all clients with `APIClient.addObserver`; with both there are two spans.
        public init(_ options: Options = Options()) {
            self.options = options
        }

        public var events: ObservedEvents { [.begun, .attemptBegins, .attemptEnds, .ended] }

        public func begun(_ request: APIRequest) -> (any Sendable)? { TracedRequest(request, options) }

        public func attemptBegins(_ attempt: ObservedAttempt, _ context: (any Sendable)?) -> HTTPHeaders {
            (context as? TracedRequest)?.begin(attempt) ?? HTTPHeaders()
        }

        public func attemptEnds(
            _ attempt: ObservedAttempt, _ answer: ObservedAnswer, _ context: (any Sendable)?
        ) {
            (context as? TracedRequest)?.end(answer)
        }

        public func ended(_ response: APIResponse, _ context: (any Sendable)?) {
            (context as? TracedRequest)?.end(response)
        }
    }
#else
    /// Needs the package's trait Tracing.
    @available(*, unavailable, message: "depend on the package with traits: [\"Tracing\"]")
    public final class RequestTracer {}
#endif
