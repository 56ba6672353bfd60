#if Tracing
    import CoreMetrics
    import NTApi
    import Tracing

    /// What a tracer keeps of one request. Its calls come one after the other, but on several threads.
    final class TracedRequest: Sendable {
        private struct State {
            var callSpan: (any Span)?
            /// The attempt that runs, or that was answered with a redirect.
            var attempt: TracedAttempt?
        }

        private let options: RequestTracer.Options
        private let tracer: any Tracer
        private let instrument: any Instrument
        private let factory: any MetricsFactory
        private let callerContext: ServiceContext
        private let begun = DefaultTracerClock.now
        private let template: URLTemplate?
        private let state = Lock(State())

        init(_ request: APIRequest, _ options: RequestTracer.Options) {
            self.options = options
            // Task-local values are the caller's only here.
            tracer = options.tracer ?? InstrumentationSystem.tracer
            instrument = options.tracer ?? InstrumentationSystem.instrument
            factory = options.metricsFactory ?? MetricsSystem.factory
            callerContext = ServiceContext.current ?? .topLevel
            template = URLTemplate(request)
        }

        func begin(_ attempt: ObservedAttempt) -> HTTPHeaders {
            // A redirect before this attempt was followed.
            takeAttempt()?.end(nil)
            guard options.traces(attempt.request) else { return HTTPHeaders() }
            let traced = TracedAttempt(
                attempt, template?.text(for: attempt), options, tracer, in: callSpan()?.context ?? callerContext,
                factory)
            state.withLock { $0.attempt = traced }
            var headers = HTTPHeaders()
            if options.propagates(attempt.request) {
                instrument.inject(traced.span.context, into: &headers, using: HeaderInjector())
            }
            return headers
        }

        func end(_ answer: ObservedAnswer) {
            guard var attempt = takeAttempt() else { return }
            attempt.stop(answer)
            if answer.error == nil, (300..<400).contains(answer.status) {
                // The next event shows whether it is one redirect too many.
                state.withLock { [attempt] in $0.attempt = attempt }
            } else {
                attempt.end(answer.error)
            }
        }

        func end(_ response: APIResponse) {
            let error = response.error
            takeAttempt()?.end(error?.code == .tooManyRedirects ? error : nil)
            // A request with invalid args has no URL to be excluded by.
            guard response.request.httpRequest.map(options.traces) ?? true || hasCallSpan, let span = callSpan() else {
                return
            }
            if let error {
                span.fail(
                    TracedFailure(status: response.status, error, includesQuery: options.includesQuery))
            }
            span.end()
        }

        private func takeAttempt() -> TracedAttempt? { state.withLock { $0.attempt.take() } }

        private var hasCallSpan: Bool { state.withLock { $0.callSpan != nil } }

        /// The span of the request, if there is to be one. Begun with its first attempt that is traced.
        private func callSpan() -> (any Span)? {
            guard options.callSpans else { return nil }
            if let span = state.withLock({ $0.callSpan }) { return span }
            let span = tracer.startSpan("ntapi.request", context: callerContext, at: begun)
            state.withLock { $0.callSpan = span }
            return span
        }
    }

    private struct HeaderInjector: Injector {
        func inject(_ value: String, forKey key: String, into headers: inout HTTPHeaders) { headers.set(key, value) }
    }
#endif
