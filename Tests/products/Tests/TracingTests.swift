#if Tracing
    import CoreMetrics
    import Foundation
    import InMemoryTracing
    import MetricsTestKit
    import NTApi
    import Testing
    import Tracing

    @testable import NTApiTracing

    /// Cases that the table of spans does not have. A stub takes the place of the server.
    @Suite struct TracingTests {
        private let tracer = InMemoryTracer()
        private let metrics = TestMetrics()
        private let stub = Stub()
        private let client = APIClient(baseURL: "https://api.example.com/v1")

        init() {
            client.logFlags = []
            client.stub = stub
        }

        private func trace(_ change: (inout RequestTracer.Options) -> Void = { _ in }) {
            var options = RequestTracer.Options()
            options.tracer = tracer
            options.metricsFactory = metrics
            change(&options)
            client.add(RequestTracer(options))
        }

        @Test func withoutOptionsTheSystemsOfTheProcessAreUsed() async throws {
            InstrumentationSystem.bootstrap(tracer)
            MetricsSystem.bootstrap(metrics)
            client.add(RequestTracer())
            stub.on("GET", "find").answer(.status(204))
            #expect(await client.response("find").status == 204)
            let span = try #require(tracer.spans.last)
            #expect(span.operationName == "GET" && span.parentSpanID == nil)
            #expect(stub.requests.first?.headers[InMemoryTracer.spanIDKey] == span.spanID)
            #expect(metrics.timers.map(\.label) == ["http.client.request.duration"])
        }

        @Test func requestsAtOnceHaveTheirOwnSpans() async throws {
            trace()
            stub.on("GET", "items/*").answer(.status(503), .status(204))
            await withTaskGroup(of: Void.self) { group in
                for id in 0..<20 {
                    let retry = APIArg.retry(RetryPolicy(attempts: 2, base: 0))
                    group.addTask { [client] in
                        _ = await client.response("items/{id}", args: [.path("id", id), retry])
                    }
                }
            }
            #expect(tracer.activeSpans.isEmpty)
            let found = tracer.spans.map { span in [span.spanID, Self.text("url.full", span)] }
            let sent = stub.requests.map { [$0.headers[InMemoryTracer.spanIDKey] ?? "", $0.url] }
            #expect(Set(found) == Set(sent) && found.count >= 20)
        }

        @Test func sizesAndActiveRequests() async throws {
            trace { $0.metrics = [.bodySizes, .activeRequests] }
            stub.on("POST", "notes/*").answer(.text("hello"))
            let args: [APIArg] = [.path("id", 7), .json(["n": 1])]
            _ = await client.response("notes/{id}", args: args)
            let sizes = metrics.recorders.map { "\($0.label) \($0.values)" }
            #expect(
                sizes.sorted() == [
                    "http.client.request.body.size [7.0]", "http.client.response.body.size [5.0]",
                ])
            let meter = try #require(metrics.meters.first)
            #expect(meter.label == "http.client.active_requests" && meter.values == [1, 0])
            #expect(
                meter.dimensions.map(\.0) == [
                    "http.request.method", "server.address", "server.port", "url.template",
                ])
            #expect(metrics.timers.isEmpty)
        }

        @Test func noMetrics() async {
            trace { $0.metrics = [] }
            stub.on("GET", "find")
            _ = await client.response("find")
            #expect(tracer.spans.count == 1)
            #expect(metrics.timers.isEmpty && metrics.recorders.isEmpty && metrics.meters.isEmpty)
        }

        @Test func metricsNeedNoSpan() async throws {
            trace { $0.tracer = NoOpTracer() }
            stub.on("GET", "find").answer(.status(404))
            _ = await client.response("find")
            let timer = try #require(metrics.timers.first)
            #expect(timer.values.count == 1 && timer.dimensions.contains { $0 == ("error.type", "404") })
        }

        @Test func aFailureWithoutANameIsOther() async throws {
            trace()
            _ = await client.response("nowhere")
            let span = try #require(tracer.spans.first)
            #expect(Self.text("error.type", span) == "_OTHER")
            #expect(span.status?.message?.hasPrefix("no stub matches GET") == true)
        }

        @Test func withoutQueriesADescriptionHasNone() async throws {
            trace {
                $0.includesQuery = false
                $0.callSpans = true
            }
            _ = await client.response("nowhere?name=s3cret")
            #expect(tracer.spans.count == 2)
            for span in tracer.spans {
                let message = try #require(span.status?.message)
                #expect(message.contains("nowhere") && !message.contains("s3cret"))
            }
        }

        @Test(arguments: [
            ("URL 'http://a.example/find?q=it's s3cret': no", "URL 'http://a.example/find…"),
            ("no answer", "no answer"),
            ("?", "…"), ("", ""),
        ])
        func queriesAreCutOffTexts(text: String, written: String) {
            #expect(TracedURL.withoutQueries(text) == written)
        }

        @Test func anIPv6AddressHasNoBrackets() async throws {
            trace()
            stub.on("GET")
            _ = await client.response(args: [.baseURL("http://[::1]:8080/a")])
            let span = try #require(tracer.spans.first)
            #expect(Self.text("server.address", span) == "::1" && span.attributes.get("server.port") == 8080)
        }

        @Test func aUnixSocketHasNoPort() async throws {
            let path = try server("unix_tmp") + "/s"
            // A run before this one may have left it.
            unlink(path)
            let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(listener) }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let bound = withUnsafeBytes(of: &address) { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { bind(listener, $0.baseAddress, socklen_t(bytes.count)) }
            }
            try #require(bound == 0 && listen(listener, 1) == 0)
            trace()
            client.stub = nil
            client.defaults["unixSocket"] = JSON(path)
            // Nobody answers.
            _ = await client.response("find", args: [.baseURL("http://api.test/find"), .timeout(0.2, .idle)])
            let attributes = try #require(tracer.spans.first).attributes
            #expect(attributes.get("network.peer.address") == .string(path))
            #expect(attributes.get("network.peer.port") == nil && attributes.get("server.address") == "api.test")
        }

        /// NTApi encodes such URLs, or does not send them. A span must not show their secrets either.
        @Test(arguments: [
            ("https://ann:s3cret@h.example/?a=x@y", "https://REDACTED:REDACTED@h.example/?a=x@y"),
            ("https://\u{301}:s3cret@h.example/", "https://REDACTED:REDACTED@h.example/"),
            ("https://ann@b:s3cret@h.example#x@y", "https://REDACTED:REDACTED@h.example#x@y"),
            ("https://h.example/a@b?&=&sig", "https://h.example/a@b?&=&sig"),
            ("https://h.example/?a=1&sig=\u{301}s3cret", "https://h.example/?a=1&sig=REDACTED"),
            ("https://h.example?\u{301}=1#\u{301}?sig=x", "https://h.example?\u{301}=1#\u{301}?sig=x"),
        ])
        func secretsOfUnusualURLs(url: String, written: String) {
            #expect(Array(TracedURL.redacted(url, includesQuery: true).utf8) == Array(written.utf8))
        }

        @Test(arguments: [
            ("users/{id}", "GET /v1/users/{id}"), ("/users/{id}?all", "GET /v1/users/{id}?all"),
            ("files/{path*}", "GET /v1/files/{path*}"), ("find me/{id}", "GET /v1/find me/{id}"),
            ("?id={id}", "GET /v1?id={id}"), ("users/7", "GET"),
        ])
        func templates(command: String, name: String) async throws {
            trace()
            stub.on("GET")
            _ = await client.response(command, args: [.path("id", "a/b"), .path("path", "docs/read me.md")])
            #expect(tracer.spans.map(\.operationName) == [name])
        }

        @Test func aWholeURLHasNoTemplate() async throws {
            trace()
            stub.on("GET")
            _ = await client.response("users/{id}", args: [.baseURL("https://api.example.com/v1/next?page=2")])
            #expect(tracer.spans.map(\.operationName) == ["GET"])
        }

        private static func text(_ name: String, _ span: FinishedInMemorySpan) -> String {
            if case .string(let text) = span.attributes.get(name) { text } else { "" }
        }
    }
#endif
