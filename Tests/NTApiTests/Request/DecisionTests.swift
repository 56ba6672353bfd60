import Testing

@testable import NTApi

/// Decisions that a request waits for: asked once, answered once, and never lost.
@Suite struct DecisionTests {
    private func begin(
        _ client: TestClient, _ command: String, _ args: [APIArg] = [], _ kinds: RequestDecision.Kinds = .all,
        _ handler: @escaping APIRequest.DecisionHandler
    ) -> (request: APIRequest, responses: Log<APIResponse>) {
        let request = client.request(command, args: args + [.responseThread(.background), .option(.rawData)])
        let responses = Log<APIResponse>()
        request.setDecisionHandler(for: kinds, handler)
        request.setHandler { responses.append($0) }
        request.resume()
        return (request, responses)
    }

    private func ask(
        _ client: TestClient, _ command: String, _ args: [APIArg] = [], _ kinds: RequestDecision.Kinds = .all,
        _ handler: @escaping APIRequest.DecisionHandler
    ) async throws -> APIResponse {
        try await begin(client, command, args, kinds, handler).responses.element(0)
    }

    private let redirect: [APIArg] = [.url("url", "/bytes/500"), .url("status_code", 307)]

    @Test func aRedirectIsAskedForAndFollowed() async throws {
        let asked = Log<(Int, String?, String)>()
        let response = try await ask(.of("httpbin"), "redirect-to", redirect, .redirect) { decision in
            asked.append((decision.status, decision.headers["Location"], decision.redirectedRequest?.url ?? ""))
            #expect(decision.proceed() && decision.isAnswered)
            #expect(!decision.proceed() && !decision.refuse() && !decision.becomeDownload(to: "/tmp/x"))
        }
        #expect(response.error == nil && response.data.count == 500 && response.metrics.redirects == 1)
        #expect(asked.count == 1 && asked.all[0].0 == 307 && asked.all[0].1 == "/bytes/500")
        #expect(asked.all[0].2.hasSuffix("/bytes/500"))
    }

    @Test func aRedirectIsRefused() async throws {
        let response = try await ask(.of("httpbin"), "redirect-to", redirect, .redirect) { $0.refuse() }
        #expect(response.status == 307 && response.error?.code == .httpError && response.metrics.redirects == 0)
    }

    @Test func aRedirectLeadsElsewhere() async throws {
        let client = try TestClient.of("httpbin")
        let response = try await ask(client, "redirect-to", redirect, .redirect) { decision in
            guard var request = decision.redirectedRequest else { return }
            request.method = "G T"
            #expect(!decision.follow(request), "not a token")
            request.method = "GET"
            request.url = request.url.replacing("/bytes/500", with: "/headers")
            request.headers.set("X-Added", "1")
            #expect(decision.follow(request))
        }
        let headers = try JSON(parsing: response.text)
        #expect(response.error == nil && headers[path: "headers.X-Added"]?.string == "1")
    }

    @Test func aRequestIsCancelledByItsDecision() async throws {
        for kind in [RequestDecision.Kinds.redirect, .response] {
            let response = try await ask(.of("httpbin"), "redirect-to", redirect, kind) { #expect($0.cancel()) }
            #expect(response.error?.code == .cancelled)
        }
    }

    @Test func whatIsDroppedProceeds() async throws {
        let response = try await ask(.of("httpbin"), "redirect-to", redirect) { _ in }
        #expect(response.error == nil && response.data.count == 500)
    }

    @Test func anAnswerMayComeLater() async throws {
        let kept = Log<RequestDecision>()
        let (request, responses) = begin(try .of("httpbin"), "redirect-to", redirect) { kept.append($0) }
        let first = try await kept.element(0)
        #expect(first.kind == .redirect && responses.count == 0 && request.isRunning)
        #expect(await onThread { first.proceed() })
        let second = try await kept.element(1)
        #expect(second.kind == .response && second.status == 200 && responses.count == 0)
        #expect(second.request === request && request.receivedStatus == 200)
        second.proceed()
        let response = try await responses.element(0)
        #expect(response.error == nil && response.data.count == 500)
    }

    @Test func aRequestThatWaitsIsCancelledAtOnce() async throws {
        let kept = Log<RequestDecision>()
        for kind in [RequestDecision.Kinds.redirect, .response] {
            let count = kept.count
            let (request, responses) = begin(try .of("httpbin"), "redirect-to", redirect, kind) { kept.append($0) }
            let decision = await kept.first(count + 1).last
            #expect(request.cancel())
            let response = try await responses.element(0)
            #expect(response.error?.code == .cancelled)
            #expect(decision?.proceed() == false, "the cancel has answered it")
        }
    }

    @Test func theClockOfTheWholeRequestRunsOn() async throws {
        let kept = Log<RequestDecision>()
        for kind in [RequestDecision.Kinds.redirect, .response] {
            try await untilOneCounts { scale in
                let count = kept.count
                let response = try await ask(
                    try .of("httpbin"), "redirect-to", redirect + [.timeout(2 * scale, .total), .timeout(scale)], kind
                ) { kept.append($0) }
                #expect(response.error?.code == .timeout)
                // The server may have been too late: the request timed out before the question.
                guard kept.count > count else { return false }
                #expect(response.error?.message.contains("total") == true)
                return true
            }
        }
    }

    /// No time passes while the request is suspended. Afterwards it has as much time left as before.
    @Test func noTimePassesWhileItIsSuspended() async throws {
        let client = try TestClient.of("httpbin")
        let clock = ManualClock()
        client.clock = clock
        let kept = Log<RequestDecision>()
        let args = redirect + [.timeout(500, .total)]
        for (number, kind) in [RequestDecision.Kinds.redirect, .response].enumerated() {
            let (request, responses) = begin(client, "redirect-to", args, kind) { kept.append($0) }
            let decision = try await kept.element(number)
            #expect(request.suspend())
            clock.advance(by: 10_000)
            #expect(request.resume() && !decision.isAnswered)
            clock.advance(by: 400)
            #expect(!decision.isAnswered && decision.proceed())
            #expect(try await responses.element(0).error == nil)
        }
    }

    /// A response ends while the program is asked about it. The decision then has no effect.
    @Test func whatIsOverIsNotDecided() async throws {
        let kept = Log<RequestDecision>()
        try await untilOneCounts { scale in
            let response = try await ask(.of("nginx"), "pattern-8M.bin", [.timeout(0.5 * scale, .attempt)], .response) {
                kept.append($0)
            }
            #expect(response.error?.code == .timeout && kept.count <= 1)
            // The server may have been too late: the request timed out before the question.
            return kept.count == 1
        }
        let decision = try #require(kept.all.first)
        let folder = try TemporaryFolder()
        #expect(!decision.becomeDownload(to: "\(folder.path)/late") && decision.isAnswered)
        #expect(shell("ls -A \(folder.path)").isEmpty)
    }

    /// An empty body is complete before the program can decide where it goes.
    @Test func anEmptyBodyWaitsForItsDecision() async throws {
        let kept = Log<RequestDecision>()
        let client = try TestClient.of("httpbin")
        let (_, responses) = begin(client, "bytes/0", [], .response) { kept.append($0) }
        let decision = try await kept.element(0)
        // When a later transfer on the same connection has ended, this one has ended too.
        #expect(await client.response("bytes/1", args: [.option(.rawData)]).error == nil)
        #expect(responses.count == 0)
        decision.proceed()
        #expect(try await responses.element(0).error == nil)
        let (request, others) = begin(client, "bytes/0", [], .response) { kept.append($0) }
        _ = await kept.first(2)
        #expect(await client.response("bytes/1", args: [.option(.rawData)]).error == nil)
        request.cancel()
        #expect(try await others.element(0).error?.code == .cancelled)
    }

    /// The request ends only after two events: the decision, and the end of the upload's body, which is still being
    /// read.
    @Test func anUploadThatIsAnsweredWithNothingWaitsForBoth() async throws {
        for decidesFirst in [true, false] {
            let kept = Log<RequestDecision>()
            let goOn = Signal()
            let isRead = Log<Bool>()
            let upload = BodyStream { buffer in
                guard isRead.count > 0 else {
                    isRead.append(false)
                    return 1
                }
                isRead.append(true)
                goOn.block()
                return 0
            }
            let client = try TestClient.of("fault")
            let token = "early-\(UInt64.random(in: 0 ... .max))"
            let (_, responses) = begin(
                client, "early-answer",
                [
                    .stream(upload, contentType: nil), .url("body", ""), .url("after", 1), .url("token", token),
                    .option(.ignoreHTTPErrors),
                ],
                .response
            ) { kept.append($0) }
            // The response comes while the upload is read. After a 413, libcurl reads no more of it.
            _ = try await isRead.element(1)
            #expect(await client.response("let", args: [.url("token", token)]).error == nil)
            let decision = try await kept.element(0)
            if decidesFirst { decision.proceed() } else { goOn.set() }
            for _ in 0..<5 { #expect(await client.response("echo").error == nil) }
            #expect(responses.count == 0)
            if decidesFirst { goOn.set() } else { decision.proceed() }
            #expect(try await responses.element(0).status == 413)
        }
    }

    /// The response waits until the decision's handler has returned, even if the handler has ended the request.
    @Test func theResponseWaitsForTheHandlerOfADecision() async throws {
        final class Asked: TestClient, @unchecked Sendable {
            // Safe to share: set before the first request.
            var judge: @Sendable (RequestDecision) -> Void = { _ in }
            override func decide(_ decision: RequestDecision) { judge(decision) }
        }
        let other = try TestClient.of("fault")
        for cancels in [false, true] {
            let client = try Asked.of("fault")
            let isOver = Signal()
            client.decisionKinds = .redirect
            client.judge = { decision in
                if cancels { decision.cancel() } else { decision.proceed() }
                // These other requests give a worker time to handle the response.
                for _ in 0..<5 { #expect(other.perform("echo").error == nil) }
                isOver.set()
            }
            let wasOver = Log<Bool>()
            let request = client.begin("redirect/echo", args: [.responseThread(.background)]) { response in
                wasOver.append(isOver.isSet)
                #expect((response.error?.code == .cancelled) == cancels)
            }
            #expect(try await wasOver.element(0))
            withExtendedLifetime(request) {}
        }
    }

    @Test func aResponseBecomesADownload() async throws {
        let path = "\(try TestServers.url("tmp"))/decided.bin"
        let response = try await ask(.of("nginx"), "pattern-8M.bin", [], .response) { decision in
            #expect(decision.status == 200 && !decision.refuse())
            #expect(decision.becomeDownload(to: path))
        }
        #expect(response.error == nil && response.file == path && response.data.isEmpty)
        #expect(shell("wc -c < '\(path)'") == Array("8388608\n".utf8))
        let bad = try await ask(.of("nginx"), "pattern-8M.bin", [], .response) { $0.becomeDownload(to: "/no/such/x") }
        #expect(bad.error?.code == .invalidRequest && bad.error?.message.contains("/no/such") == true)
    }

    @Test func aClientIsAskedWhereARequestHasNoHandlerOfItsOwn() async throws {
        final class Asked: TestClient, @unchecked Sendable {
            let kinds = Log<RequestDecision.Kind>()
            override func decide(_ decision: RequestDecision) {
                kinds.append(decision.kind)
                decision.proceed()
            }
        }
        let client = try Asked.of("httpbin")
        #expect(await client.response("redirect-to", args: redirect + [.option(.rawData)]).error == nil)
        #expect(client.kinds.count == 0, "the client did not want to be asked")
        client.decisionKinds = [.redirect, .response]
        #expect(await client.response("redirect-to", args: redirect + [.option(.rawData)]).error == nil)
        #expect(client.kinds.all == [.redirect, .response])
        let response = try await ask(client, "redirect-to", redirect, .redirect) { $0.refuse() }
        #expect(response.status == 307 && client.kinds.count == 2)
        let performed = await onThread { client.perform("redirect-to", args: self.redirect + [.option(.rawData)]) }
        #expect(performed.error == nil && performed.data.count == 500 && client.kinds.count == 4)
    }

    /// Answers, cancels and timeouts at any moment: each request still ends once.
    @Test func everyRequestEndsOnce() async throws {
        let client = try TestClient.of("httpbin")
        var generator = SeededGenerator(SeededGenerator.ofThisRun)
        let ends = Log<UInt64>()
        for _ in 0..<200 {
            let request = client.request(
                "redirect-to", args: redirect + [.handlers(.all, on: .background), .option(.rawData)])
            let (choice, cancels) = (
                Int.random(in: 0..<5, using: &generator), Int.random(in: 0..<3, using: &generator) == 0
            )
            request.setDecisionHandler { decision in
                switch choice {
                case 0: decision.proceed()
                case 1: if !decision.refuse() { decision.proceed() }
                case 2: decision.cancel()
                case 3: break
                default: _ = Thread.start(name: "answer") { decision.proceed() }
                }
            }
            request.setHandler { ends.append($0.request.identifier) }
            request.resume()
            if cancels { request.cancel() }
        }
        let all = await ends.first(200)
        #expect(Set(all).count == 200 && all.count == 200, "NTAPI_SEED=\(SeededGenerator.ofThisRun)")
        #expect(await client.drain(timeout: patience) == 0 && ends.count == 200)
    }
}
