#if Tracing
    import Foundation
    import InMemoryTracing
    import MetricsTestKit
    import NTApi
    import NTApiTracing
    import Testing
    import Tracing

    /// The table of spans that the languages share. `Tests/conformance/README.md` explains its keys.
    @Suite struct TracingTable {
        struct Case: Sendable, CustomTestStringConvertible {
            let json: JSON
            var testDescription: String { json["name"]?.string ?? "" }
        }

        static let cases: [Case] = {
            let file = URL(filePath: "../../conformance/tracing.json", relativeTo: URL(filePath: #filePath))
            return ((try? JSON(parsing: String(contentsOf: file, encoding: .utf8)))?.array ?? []).map(Case.init)
        }()

        @Test func theTableIsThere() { #expect(Self.cases.count >= 40) }

        @Test(arguments: cases) func holds(_ template: Case) async throws {
            let token = "t\(UInt64.random(in: 0...UInt64.max))"
            let json = try JSON(parsing: try filled(template.json.text, with: ["token": token]))
            let (tracer, metrics) = (InMemoryTracer(), TestMetrics())
            var options = try Self.options(json["options"])
            options.tracer = tracer
            options.metricsFactory = metrics
            let client = try Self.client(json)
            client.add(RequestTracer(options))
            let parent = tracer.startAnySpan("test", context: .topLevel)
            let response = try await ServiceContext.withValue(parent.context) {
                try await Self.run(json, client)
            }
            #expect(tracer.activeSpans.map(\.operationName) == ["test"])
            let check = Check(server: json["server"]?.string ?? "", parent: parent.context, spans: tracer.spans)
            try check.expect(try #require(json["expect"]), response, metrics)
        }

        private static func options(_ json: JSON?) throws -> RequestTracer.Options {
            var options = RequestTracer.Options()
            for (key, value) in json?.object ?? [] {
                let names = value.array?.compactMap(\.string) ?? []
                let words = value.string?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } ?? []
                switch key {
                case "call_spans": options.callSpans = value.bool ?? false
                case "url_template": options.includesTemplate = value.bool ?? false
                case "url_query": options.includesQuery = value.bool ?? true
                case "request_headers": options.requestHeaders = names
                case "response_headers": options.responseHeaders = names
                case "known_methods": options.knownMethods = Set(words)
                case "exclude_origins":
                    options.propagates = { request in !names.contains(where: request.url.hasPrefix) }
                case "excluded_urls":
                    for word in words { _ = try Regex(word) }
                    options.traces = { request in
                        !words.contains { word in (try? Regex(word).firstMatch(in: request.url)) != nil }
                    }
                default: Issue.record("an option that this runner does not know: \(key)")
                }
            }
            return options
        }

        private static func client(_ json: JSON) throws -> APIClient {
            var configuration = SessionConfiguration.ephemeral
            configuration["proxy"] = ""
            configuration["caFile"] = JSON(try server("ca"))
            for (name, value) in json["settings"]?.object ?? [] { configuration[name] = value }
            let base = try json["base"]?.string ?? server(json["server"]?.string ?? "")
            let client = APIClient(baseURL: base, configuration: configuration)
            client.logFlags = []
            if let tokens = json["tokens"]?.array?.compactMap(\.string) {
                client.authenticator = Authenticator(token: .init(tokens[0])) { _ in .init(tokens[1]) }
            }
            return client
        }

        /// - Returns: the last response.
        private static func run(_ json: JSON, _ client: APIClient) async throws -> APIResponse? {
            let (command, text) = (json["command"]?.string ?? "", json["args"]?.text ?? "[]")
            let args = try APIArg.list(parsing: text)
            let end = End()
            client.add(end)
            var response: APIResponse?
            switch json["how"]?.string {
            case "cancelled":
                client.add(Canceller())
                response = await client.response(command, args: args)
            case "chunks":
                for try await _ in try await client.stream(command, args: args) {}
            case "closed":
                for try await _ in try await client.stream(command, args: args) { break }
            case "events":
                for try await _ in client.events(command, args: args) {}
            default:
                for _ in 0..<(json["times"]?.int ?? 1) { response = await client.response(command, args: args) }
            }
            // A stream ends before its request ends.
            await end.wait()
            return response
        }
    }

    /// What the spans of one case are compared with.
    private struct Check {
        let server: String
        let parent: ServiceContext
        let spans: [FinishedInMemorySpan]

        func expect(_ wanted: JSON, _ response: APIResponse?, _ metrics: TestMetrics) throws {
            var above = parent
            if let call = wanted["call"] {
                let span = try #require(spans.first { $0.kind == .internal })
                #expect(span.operationName == "ntapi.request")
                expectAttributes(span, call.object?.map { ($0, $1) } ?? [])
                expectStatus(span)
                expectParent(span, parent)
                above = span.context
            }
            let clients = spans.filter { $0.kind == .client }
            #expect(clients.count + (wanted["call"] == nil ? 0 : 1) == spans.count)
            #expect(clients.count == wanted["spans"]?.count)
            for (span, wanted) in zip(clients, wanted["spans"]?.array ?? []) {
                try expect(span, wanted)
                expectParent(span, above)
            }
            expectDurations(metrics, clients)
            if let isSent = wanted["traceparent"]?.bool {
                let echoed = try #require(response?.json?["header"])
                #expect(echoed[InMemoryTracer.spanIDKey]?.string == (isSent ? clients.last?.spanID : nil))
            }
        }

        private func expect(_ span: FinishedInMemorySpan, _ wanted: JSON) throws {
            #expect(span.operationName == wanted["name"]?.string)
            var attributes = wanted["attributes"]?.object?.map { ($0, $1) } ?? []
            let key = wanted["server"]?.string ?? server
            let place = try wanted["server"]?.array.map { ($0[0].string ?? "", $0[1].int ?? 0) } ?? Self.place(of: key)
            attributes += [("server.address", JSON(place.0)), ("server.port", JSON(place.1))]
            if wanted["attributes"]?["http.response.status_code"] != nil {
                attributes.append(("network.protocol.version", JSON(wanted["version"]?.string ?? "1.1")))
            }
            let peers = ["network.peer.address", "network.peer.port"]
            switch wanted["peer"] {
            case let peer? where peer.isNull: break
            case let peer? where peer.string == "any":
                for name in peers { attributes += span.attributes.get(name).map { [(name, JSON(of: $0))] } ?? [] }
            case let peer:
                let port = try Self.place(of: peer?.string ?? key).1
                attributes += [(peers[0], "127.0.0.1"), (peers[1], JSON(port))]
            }
            expectAttributes(span, attributes)
            expectStatus(span)
        }

        private static func place(of key: String) throws -> (String, Int) {
            let url = try #require(URL(string: try ProductTests.server(key)))
            return (url.host() ?? "", url.port ?? (url.scheme == "https" ? 443 : 80))
        }

        private func expectAttributes(_ span: FinishedInMemorySpan, _ wanted: [(String, JSON)]) {
            var found: [String: JSON] = [:]
            let note = { (name: String, value: SpanAttribute) in found[name] = JSON(of: value) }
            span.attributes.forEach(note)
            #expect(found == Dictionary(wanted) { $1 })
        }

        private func expectStatus(_ span: FinishedInMemorySpan) {
            guard case .string(let type) = span.attributes.get("error.type") else {
                #expect(span.status == nil)
                return
            }
            #expect(span.status?.code == .error)
            #expect((span.status?.message != nil) == (Int(type) == nil))
        }

        private func expectParent(_ span: FinishedInMemorySpan, _ parent: ServiceContext) {
            #expect(span.parentSpanID == parent.inMemorySpanContext?.spanID)
            #expect(span.traceID == parent.inMemorySpanContext?.traceID)
        }

        private func expectDurations(_ metrics: TestMetrics, _ spans: [FinishedInMemorySpan]) {
            let names = [
                "http.request.method", "server.address", "server.port", "http.response.status_code", "error.type",
                "network.protocol.version", "url.template",
            ]
            var wanted: [[String: String]: Int] = [:]
            for span in spans {
                let pairs = names.compactMap { name in span.attributes.get(name).map { (name, JSON(of: $0)) } }
                let dimensions = Dictionary(uniqueKeysWithValues: pairs).mapValues { $0.string ?? $0.text }
                wanted[dimensions, default: 0] += 1
            }
            let timers = metrics.timers.filter { $0.label == "http.client.request.duration" }
            let found = timers.map { (Dictionary(uniqueKeysWithValues: $0.dimensions), $0.values.count) }
            #expect(Dictionary(uniqueKeysWithValues: found) == wanted)
        }
    }

    extension JSON {
        fileprivate init(of attribute: SpanAttribute) {
            switch attribute {
            case .string(let text): self = JSON(text)
            case .int64(let number): self = JSON(Int(number))
            case .stringArray(let texts): self = JSON(texts.map { JSON($0) })
            default: self = "\(attribute)"
            }
        }
    }

    extension InMemoryTracer {
        /// The finished spans in the order in which they began.
        var spans: [FinishedInMemorySpan] {
            finishedSpans.sorted { Int($0.spanID.dropFirst(5)) ?? 0 < Int($1.spanID.dropFirst(5)) ?? 0 }
        }
    }

    /// Waits for the end of a request.
    final class End: APIObserver {
        private let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
        var events: ObservedEvents { .ended }

        func ended(_ response: APIResponse, _ context: (any Sendable)?) { continuation.yield() }

        func wait() async { for await _ in ends { break } }
    }

    /// Cancels each request when its first attempt begins.
    final class Canceller: APIObserver {
        var events: ObservedEvents { [.begun, .attemptBegins] }

        func begun(_ request: APIRequest) -> (any Sendable)? { request }

        func attemptBegins(_ attempt: ObservedAttempt, _ context: (any Sendable)?) -> HTTPHeaders {
            (context as? APIRequest)?.cancel()
            return HTTPHeaders()
        }
    }
#endif
