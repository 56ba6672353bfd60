#if Tracing
    import CoreMetrics
    import NTApi

    /// The metrics of one attempt.
    struct AttemptMetrics {
        private let kinds: RequestTracer.MetricKinds
        private let factory: any MetricsFactory
        /// `url.template`. The conventions want it on all but the duration, where it is optional.
        private let template: [(String, String)]
        private let durationHasTemplate: Bool
        private var dimensions: [(String, String)] = []
        private let begun = ContinuousClock.now
        private var seconds = 0.0
        private var sizes: [(name: String, bytes: Int64)] = []

        init(
            _ attempt: ObservedAttempt, _ method: TracedMethod, _ template: String?, _ options: RequestTracer.Options,
            _ factory: any MetricsFactory
        ) {
            kinds = options.metrics
            self.factory = factory
            self.template = template.map { [("url.template", $0)] } ?? []
            durationHasTemplate = options.includesTemplate
            guard !kinds.isEmpty else { return }
            dimensions = [("http.request.method", method.name)]
            if let server = attempt.request.server {
                dimensions += [("server.address", server.address), ("server.port", "\(server.port)")]
            }
            if kinds.contains(.activeRequests) { active.increment() }
        }

        /// The attempt is over.
        mutating func stop(_ answer: ObservedAnswer) {
            guard !kinds.isEmpty else { return }
            seconds = (ContinuousClock.now - begun) / .seconds(1)
            if kinds.contains(.activeRequests) { active.decrement() }
            sizes = [("request", answer.metrics.bytesSent)]
            guard answer.status > 0 else { return }
            sizes.append(("response", answer.metrics.bytesReceived))
            dimensions.append(("http.response.status_code", "\(answer.status)"))
            if let version = answer.protocolVersion { dimensions.append(("network.protocol.version", version)) }
        }

        /// Its outcome is known.
        func record(_ failure: TracedFailure?) {
            let outcome = dimensions + (failure.map { [("error.type", $0.type)] } ?? [])
            if kinds.contains(.duration) {
                let all = outcome + (durationHasTemplate ? template : [])
                Timer(label: "http.client.request.duration", dimensions: all, factory: factory).recordSeconds(seconds)
            }
            guard kinds.contains(.bodySizes) else { return }
            for (name, bytes) in sizes {
                let label = "http.client.\(name).body.size"
                Recorder(label: label, dimensions: outcome + template, factory: factory).record(bytes)
            }
        }

        private var active: Meter {
            Meter(label: "http.client.active_requests", dimensions: dimensions + template, factory: factory)
        }
    }
#endif
