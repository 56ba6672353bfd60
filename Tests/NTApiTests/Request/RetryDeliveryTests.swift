import Testing

@testable import NTApi

/// Retries of requests whose bodies go to handlers or files, and the program's own decisions.
@Suite struct RetryDeliveryTests {
    private let token = "t\(UInt64.random(in: 0 ... .max))"
    private let again = APIArg.retry(RetryPolicy(attempts: 3, base: 0))

    private func client() throws -> TestClient { try TestClient.of("fault", args: [again]) }

    private func args(_ status: Int, times: Int, _ more: [APIArg] = []) -> [APIArg] {
        [.url("token", token), .url("status", status), .url("times", times), .handlers(.all, on: .background)] + more
    }

    // MARK: Where the body goes

    @Test func aDataHandlerGetsTheAttemptThatWorks() async throws {
        let client = try client()
        for more: [APIArg] in [[], [.option(.ignoreHTTPErrors)]] {
            let request = client.request(
                "fail-first", args: [.url("token", "\(token)\(more.count)")] + args(503, times: 2, more))
            let (pieces, responses) = (Log<[UInt8]>(), Log<APIResponse>())
            request.setDataHandler { pieces.append(Array($0)) }
            request.setHandler { responses.append($0) }
            request.resume()
            let response = try #require(await responses.first(1).first)
            #expect(response.error == nil && response.metrics.retries == 2)
            #expect(String(decoding: pieces.all.joined(), as: UTF8.self) == "{\"count\": 3}")
        }
    }

    @Test func whatWasDeliveredIsNotDeliveredAgain() async throws {
        let client = try client()
        let request = client.request("fail-first", args: args(0, times: 1, [.url("cut", "in-body")]))
        let (pieces, responses) = (Log<[UInt8]>(), Log<APIResponse>())
        request.setDataHandler { pieces.append(Array($0)) }
        request.setHandler { responses.append($0) }
        request.resume()
        let response = try #require(await responses.first(1).first)
        #expect(response.error?.code == .network && response.metrics.retries == 0)
        #expect(response.error?.message.hasSuffix("not sent again: a part of the body has been delivered") == true)
    }

    /// An interceptor may send again. But the program would take the second body for the rest of the first one.
    @Test func anInterceptorDoesNotDeliverItAgain() async throws {
        let again = Interceptor(.call) { call in
            _ = try await call.next()
            return try await call.next()
        }
        let client = try client()
        let request = client.request("fail-first", args: args(0, times: 0, [.interceptor(again)]))
        let (pieces, responses) = (Log<[UInt8]>(), Log<APIResponse>())
        request.setDataHandler { pieces.append(Array($0)) }
        request.setHandler { responses.append($0) }
        request.resume()
        let response = try #require(await responses.first(1).first)
        #expect(response.error?.message.hasSuffix("a part of the body has been delivered") == true)
        #expect(String(decoding: pieces.all.joined(), as: UTF8.self) == "{\"count\": 1}")
    }

    @Test func aDownloadGoesOn() async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/file"
        let client = try client()
        // Each response breaks after `cut` bytes, except for the response to a range request.
        let response = await client.response(
            "range", args: [.url("token", token), .url("size", 200_000), .url("cut", 70_000), .download(to: path)])
        #expect(response.error == nil && response.metrics.retries == 1 && response.file == path)
        #expect(shell("wc -c < \(path)").starts(with: Array("200000".utf8)))
        let seen = try await client.send("seen", args: [.url("token", token)]).json?["requests"]
        #expect(seen?.array?.count == 2)
        #expect(seen?[1]?["header"]?["range"]?.string?.hasASCIIPrefix("bytes=") == true)
        #expect(seen?[1]?["header"]?["if-range"]?.string == "\"v1\"")
    }

    @Test func aDownloadThatCannotBeGoneOnWithBeginsAgain() async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/file"
        let client = try client()
        let response = await client.response(
            "range/none", args: [.url("token", token), .url("size", 200_000), .url("cut", 70_000), .download(to: path)])
        // The download breaks each time, and leaves no file.
        #expect(response.error?.message.hasSuffix("sent 3 times") == true && response.resumeData == nil)
        #expect(folder.modes.isEmpty)
        let failing = await client.response("fail-first", args: args(503, times: 2, [.download(to: path)]))
        #expect(failing.error == nil && failing.file == path && failing.metrics.retries == 2)
        #expect(shell("cat \(path)") == Array("{\"count\": 3}".utf8))
    }

    @Test func eventsAreTriedAgainWhereTheyDoNotConnectAgain() async throws {
        let client = try client()
        let request = client.request("fail-first", args: args(429, times: 1))
        let responses = Log<APIResponse>()
        request.setServerEventHandler { _ in }
        request.setHandler { responses.append($0) }
        request.resume()
        let response = try #require(await responses.first(1).first)
        // The second answer is not a stream of events.
        #expect(response.status == 200 && response.metrics.retries == 1)
        #expect(response.error?.message.containsSubstring("not a stream of events") == true)
        #expect(response.json?["count"]?.int == 2)
    }

    /// A response of another type must not be read as a stream: its server keeps the connection open.
    @Test func aStreamThatIsNoneOfEventsIsRefusedAtOnce() async throws {
        let server = try RawServer { connection in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\ndata: x\n\n")
            connection.waitForEnd()
        }
        let client = APIClient(baseURL: server.url)
        client.defaults["proxy"] = ""
        let request = client.request("", args: [.handlers(.all, on: .background)])
        let (events, responses) = (Log<ServerSentEvent>(), Log<APIResponse>())
        request.setServerEventHandler { events.append($0) }
        request.setHandler { responses.append($0) }
        request.resume()
        let response = try #require(await responses.first(1).first)
        #expect(response.error?.message.containsSubstring("not a stream of events") == true && events.all.isEmpty)
    }

    /// As with an error status, the service's own error is more precise than an error about the type.
    @Test(arguments: [200, 400]) func anAnswerInPlaceOfEventsIsTheServicesError(_ status: Int) async throws {
        let hooks = APIClient.Hooks(mapServiceError: { response in
            response.json?["count"] == nil ? nil : APIError(code: ErrorCode("counted"), message: "counted")
        })
        let client = APIClient(baseURL: try TestServers.url("fault"), hooks: hooks)
        client.defaults["proxy"] = ""
        let request = client.request(
            "fail-first",
            args: [.url("token", "\(token)\(status)"), .url("status", status), .handlers(.all, on: .background)])
        let (events, responses) = (Log<ServerSentEvent>(), Log<APIResponse>())
        request.setServerEventHandler { events.append($0) }
        request.setHandler { responses.append($0) }
        request.resume()
        let response = try #require(await responses.first(1).first)
        #expect(response.status == status && response.error?.code == ErrorCode("counted") && events.all.isEmpty)
        #expect(response.text == "{\"count\": 1}" && response.json?["count"]?.int == 1)
    }

    // MARK: The program's decision

    private func decided(
        _ args: [APIArg], _ decide: @escaping @Sendable (RequestDecision) -> Void
    ) async throws -> (response: APIResponse, asked: [RetryProposal]) {
        let client = try client()
        let request = client.request("fail-first", args: args)
        let (responses, asked) = (Log<APIResponse>(), Log<RetryProposal>())
        request.setDecisionHandler(for: .retry) { decision in
            if let retry = decision.retry { asked.append(retry) }
            decide(decision)
        }
        request.setHandler { responses.append($0) }
        request.resume()
        return (try #require(await responses.first(1).first), asked.all)
    }

    @Test func thePolicyDecidesUnlessToldOtherwise() async throws {
        let (response, asked) = try await decided(args(503, times: 1)) { $0.proceed() }
        #expect(response.error == nil && response.metrics.retries == 1)
        #expect(asked.map(\.attempt) == [1] && asked[0].wait == 0)
        #expect(asked[0].response.error?.httpStatus == 503 && asked[0].response.json?["count"]?.int == 1)
    }

    @Test func theProgramKnowsBetter() async throws {
        let (response, asked) = try await decided(args(409, times: 2)) { decision in
            #expect(decision.kind == .retry && decision.status == 409)
            #expect(decision.retry(afterSeconds: 0) && !decision.retry(afterSeconds: 0))
        }
        #expect(response.error == nil && response.metrics.retries == 2)
        #expect(asked.map(\.attempt) == [1, 2] && asked.allSatisfy { $0.wait == nil })
    }

    @Test func theProgramRefuses() async throws {
        let (response, asked) = try await decided(args(503, times: 1)) { decision in
            #expect(!decision.retry(afterSeconds: -1) && !decision.retry(afterSeconds: .nan) && decision.refuse())
        }
        #expect(response.status == 503 && response.metrics.retries == 0 && asked.count == 1)
        #expect(response.error?.message.containsSubstring("not sent again") == false)
    }

    @Test func theProgramCannotGoBeyondTheDeadline() async throws {
        let (response, _) = try await decided(args(503, times: 1, [.timeout(30, .total)])) {
            $0.retry(afterSeconds: 60)
        }
        #expect(response.status == 503 && response.metrics.retries == 0)
        #expect(response.error?.message.containsSubstring("the wait of 60 s would end after the total timeout") == true)
    }

    @Test func nobodyIsAskedAboutWhatMayNotBeSentTwice() async throws {
        let (response, asked) = try await decided(args(503, times: 1, [.form("a", 1)])) {
            $0.retry(afterSeconds: 0)
        }
        #expect(response.metrics.retries == 0 && asked.isEmpty)
        let (last, askedTwice) = try await decided([.url("token", "\(token)x")] + args(503, times: 9)) {
            $0.retry(afterSeconds: 0)
        }
        #expect(last.metrics.retries == 2 && askedTwice.count == 2)
        #expect(last.error?.message.hasSuffix("sent 3 times") == true)
    }

    @Test func aCancelAnswersTheQuestion() async throws {
        let (response, _) = try await decided(args(503, times: 1)) { decision in
            #expect(decision.cancel())
        }
        #expect(response.error?.code == .cancelled)
    }

    // MARK: Settings

    @Test func fromTheDefaults() async throws {
        let client = try TestClient.of("fault")
        client.defaults["retry"] = ["attempts": 2, "base": 0]
        let response = await client.response("fail-first", args: args(503, times: 1))
        #expect(response.error == nil && response.metrics.retries == 1)
        client.defaults["retry"] = ["attempts": 0]
        let message = await client.response("ok").error?.message
        #expect(message?.hasASCIIPrefix("the default retry is {\"attempts\":0}: attempts is 0") == true)
        client.defaults["retry"] = false
        #expect(await client.response("ok").error == nil)
        var configuration = SessionConfiguration.ephemeral
        configuration.retry = RetryPolicy(attempts: 7)
        #expect(configuration["retry"]?["attempts"]?.int == 7 && configuration.retry?.attempts == 7)
    }

    @Test func fromJSON() throws {
        let args = try APIArg.list(
            parsing: """
                [["retry", true], ["retry", {"attempts": 2}], ["retry", null], ["idempotency_key"],
                ["idempotency_key", "k"], ["idempotency_key", null]]
                """)
        let texts = args.map(\.description)
        #expect(texts[0] == APIArg.retry(.standard).description && texts[1].hasASCIIPrefix("retry(attempts: 2, "))
        #expect(texts[2...] == ["suppressed", "idempotencyKey()", "idempotencyKey(\"k\")", "suppressed"])
        #expect(APIArg.retry(.never).description == "retry(never)")
        let wrong = thrown { _ = try APIArg.list(parsing: "[[\"retry\", {\"attempts\": 0}]]") }
        #expect(wrong?.message.hasASCIIPrefix("arg 0 (retry): attempts is 0") == true)
        let bad = TestClient(at: "http://x").perform("", args: [.retry(RetryPolicy(base: -1))])
        #expect(bad.error?.message.hasASCIIPrefix("the retry policy: base is -1.0") == true)
    }

    @Test func aBackgroundTransferKeepsItsPolicy() throws {
        let policy = RetryPolicy(attempts: 9)
        let args: [APIArg] = [.retry(policy), .download(to: "/tmp/file")]
        let plain = try TestClient(at: "http://example.com").request("x", args: args).built.get()
        let built = try BackgroundSession.check(plain)
        let record = BackgroundRecord(1, built, command: "x")
        #expect(try BackgroundRecord(parsing: record.json.utf8()).retry == policy)
        // With a key, the next process may send an upload again.
        var upload = BackgroundRecord(
            identifier: 2, method: "POST", url: "http://example.com", work: .upload(file: "/f"), created: 0)
        try upload.run()
        #expect(upload.ambiguity != nil)
        upload.headers.set(IdempotencyKey.header, "k")
        #expect(upload.ambiguity == nil)
    }
}
