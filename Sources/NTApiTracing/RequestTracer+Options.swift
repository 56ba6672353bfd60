#if Tracing
    public import CoreMetrics
    public import NTApi
    public import Tracing

    extension RequestTracer {
        /// What a ``RequestTracer`` writes, and where.
        public struct Options: Sendable {
            /// Whether there is also a span `ntapi.request`, of kind internal, from the beginning of the request to its
            /// outcome. It is the parent of the attempts' spans, and has the error of the response.
            public var callSpans = false
            /// Which attempts have a span and metrics, and send its context. By default all.
            public var traces: @Sendable (HTTPRequest) -> Bool = { _ in true }
            /// Which attempts send the span's context. Answer false for servers that must not get it. By default all.
            public var propagates: @Sendable (HTTPRequest) -> Bool = { _ in true }
            /// Whether `url.full` has the query. Only the values that sign a URL are redacted in it: set it to false if
            /// a query has other secrets. Then the description of an error also ends before the first query in it.
            public var includesQuery = true
            /// Whether spans have `url.template`: the path before its places, such as `{id}`, were filled.
            public var includesTemplate = false
            /// Headers of requests to write, as `http.request.header.<name>`, with the values that are sent.
            public var requestHeaders: [String] = []
            /// Headers of answers to write, as `http.response.header.<name>`.
            public var responseHeaders: [String] = []
            /// Methods that are written as they are. Any other is `_OTHER`, so that a metric has few values.
            public var knownMethods: Set<String> = [
                "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
            ]
            /// Where spans go. With nil, to the tracer of the task that begins the request, or of the process.
            public var tracer: (any Tracer)?
            /// Which metrics are recorded.
            public var metrics: MetricKinds = .duration
            /// Where metrics go. With nil, to the factory of the task that begins the request, or of the process.
            public var metricsFactory: (any MetricsFactory)?

            /// The defaults.
            public init() {}
        }

        /// The metrics that a ``RequestTracer`` can record. None has a URL.
        public struct MetricKinds: OptionSet, Sendable {
            public let rawValue: Int

            public init(rawValue: Int) { self.rawValue = rawValue }

            /// `http.client.request.duration`: a timer of attempts.
            ///
            /// It is a `Timer`, not a `Recorder` of seconds: backends for OpenTelemetry and Prometheus make a histogram in
            /// seconds of a timer, with buckets from 5 ms to 10 s. The buckets of a recorder are for other quantities.
            public static let duration = MetricKinds(rawValue: 1)
            /// `http.client.request.body.size` and `http.client.response.body.size`: recorders of bytes, as they were sent.
            public static let bodySizes = MetricKinds(rawValue: 2)
            /// `http.client.active_requests`: a meter of attempts that have begun and not ended.
            public static let activeRequests = MetricKinds(rawValue: 4)
        }
    }
#endif
