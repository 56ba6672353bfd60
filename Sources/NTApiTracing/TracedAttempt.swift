#if Tracing
    import CoreMetrics
    import NTApi
    import Tracing

    /// The span and the metrics of one attempt.
    struct TracedAttempt {
        let span: any Span
        private var metrics: AttemptMetrics
        private let responseHeaders: [String]
        private let includesQuery: Bool
        private var status = 0
        private var stopped = DefaultTracerClock.now

        /// - Parameter template: `url.template`, if there is one.
        init(
            _ attempt: ObservedAttempt, _ template: String?, _ options: RequestTracer.Options, _ tracer: any Tracer,
            in context: ServiceContext, _ factory: any MetricsFactory
        ) {
            let method = TracedMethod(attempt.request.method, known: options.knownMethods)
            span = tracer.startSpan(method.spanName(template), context: context, ofKind: .client)
            metrics = AttemptMetrics(attempt, method, template, options, factory)
            responseHeaders = options.responseHeaders
            includesQuery = options.includesQuery
            guard span.isRecording else { return }
            var attributes = SpanAttributes(attempt, method, options)
            if options.includesTemplate, let template { attributes["url.template"] = template }
            span.attributes.merge(attributes)
        }

        /// It is over. `end` follows when it is known whether its outcome is an error.
        mutating func stop(_ answer: ObservedAnswer) {
            stopped = DefaultTracerClock.now
            status = answer.status
            metrics.stop(answer)
            if span.isRecording { span.attributes.merge(SpanAttributes(answer, responseHeaders)) }
        }

        func end(_ error: APIError?) {
            let failure = TracedFailure(status: status, error, includesQuery: includesQuery)
            metrics.record(failure)
            span.fail(failure)
            span.end(at: stopped)
        }
    }

    extension Span {
        /// Sets `error.type` and the status.
        ///
        /// - Parameter failure: nil when nothing has failed.
        func fail(_ failure: TracedFailure?) {
            guard isRecording, let failure else { return }
            attributes["error.type"] = failure.type
            setStatus(SpanStatus(code: .error, message: failure.message))
        }
    }
#endif
