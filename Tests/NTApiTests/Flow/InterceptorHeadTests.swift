import Testing

@testable import NTApi

/// When the body goes to a handler or a file, attempt interceptors see the head before the body arrives.
@Suite struct InterceptorHeadTests {
    private let intercepted = InterceptedStub()
    private var stub: Stub { intercepted.stub }
    private let seen = Log<String>()
    private let data = Log<String>()

    private func answer(_ text: String, status: Int = 200) -> StubAnswer {
        var answer = StubAnswer.text(text, headers: ["X-Kind": "first"])
        answer.status = status
        return answer
    }

    private func begin(_ interceptors: [Interceptor], _ args: [APIArg] = []) -> Log<APIResponse> {
        let responses = Log<APIResponse>()
        let request = intercepted.client(interceptors).request(
            "way", args: args + [.responseThread(.background), .dataThread(.background), .option(.rawData)])
        request.setDataHandler { [data] piece in data.append(String(decoding: piece, as: UTF8.self)) }
        request.setHandler { responses.append($0) }
        request.resume()
        return responses
    }

    /// Records what it sees, and answers with `reply`.
    private func meeting(_ name: String, _ reply: @escaping @Sendable (Interception) -> Void) -> Interceptor {
        Interceptor(handling: .attempt) { [seen] interception in
            guard let response = interception.response else {
                interception.send()
                return
            }
            seen.append("\(name) \(response.status) \(response.body.count) \(response.error?.code.name ?? "-")")
            reply(interception)
        }
    }

    @Test func theHeadComesBeforeTheBodyInnermostFirst() async throws {
        stub.on("GET", "way").answer(answer("body"))
        let responses = begin([
            meeting("outer") { [data] in
                #expect(data.count == 0)
                $0.proceed()
            },
            meeting("inner") { [data] in
                #expect(data.count == 0)
                $0.proceed()
            },
        ])
        #expect(try await responses.element(0).error == nil)
        #expect(data.all == ["body"])
        #expect(seen.all == ["inner 200 0 -", "outer 200 0 -"])
    }

    @Test func anAsyncFunctionLetsTheBodyPass() async throws {
        stub.on("GET", "way").answer(answer("body"))
        let responses = begin([.noting(.attempt, "outer", in: seen), .noting(.attempt, "inner", in: seen)])
        #expect(try await responses.element(0).error == nil)
        #expect(data.all == ["body"])
        #expect(seen.all == ["outer 1 first", "inner 1 first", "inner 1 200", "outer 1 200"])
    }

    @Test func whatIsSentAgainLeavesNothingOfTheFirstAnswer() async throws {
        stub.on("GET", "way").answer(answer("not yet", status: 202)).answer(answer("the file"))
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/file"
        let polling = meeting("polling") { if $0.response?.status == 202 { $0.send() } else { $0.proceed() } }
        let response = await intercepted.client([polling]).response("way", args: [.download(to: path)])
        #expect(response.error == nil && response.file == path)
        #expect(try SystemFile.read(path) == Array("the file".utf8))
        #expect(seen.all == ["polling 202 0 -", "polling 200 0 -"])
        #expect(stub.requests.count == 2)
    }

    @Test func aHandlerGetsOnlyTheAnswerThatStands() async throws {
        stub.on("GET", "way").answer(answer("not yet", status: 202)).answer(answer("the answer"))
        let responses = begin([meeting("polling") { if $0.response?.status == 202 { $0.send() } else { $0.proceed() } }]
        )
        #expect(try await responses.element(0).error == nil)
        #expect(data.all == ["the answer"])
    }

    @Test func anotherHeadTakesItsPlace() async throws {
        stub.on("GET", "way").answer(answer("body"))
        let responses = begin([
            .noting(.attempt, "outer", in: seen),
            Interceptor(.attempt) { call in
                var response = try await call.next()
                response.headers.set("X-Kind", "other")
                response.status = 203
                return response
            },
        ])
        let response = try await responses.element(0)
        #expect(response.error == nil && response.status == 203 && response.headers["X-Kind"] == "other")
        #expect(data.all == ["body"])
        #expect(seen.all == ["outer 1 first", "outer 1 203"])
    }

    @Test func anAnswerOfItsOwnEndsTheExchange() async throws {
        stub.on("GET", "way").answer(answer("body"))
        let responses = begin([
            .noting(.attempt, "outer", in: seen),
            meeting("own") { $0.respond(HTTPResponse(status: 200, body: ResponseData("own".utf8))) },
        ])
        let response = try await responses.element(0)
        #expect(response.error == nil && response.text == "")
        #expect(data.all == ["own"])
        #expect(seen.all == ["outer 1 first", "own 200 0 -", "outer 1 200"])
    }

    @Test func aFailureEndsTheExchange() async throws {
        stub.on("GET", "way").answer(answer("body"))
        let responses = begin([meeting("failing") { $0.fail(.invalidRequest("no such head")) }])
        let response = try await responses.element(0)
        #expect(response.error?.message.contains("no such head") == true)
        #expect(data.all == [])
    }

    @Test func theProgramIsAskedAboutTheHeadThatStands() async throws {
        stub.on("GET", "way").answer(answer("body"))
        let client = intercepted.client([
            Interceptor(.attempt) { call in
                var response = try await call.next()
                response.headers.set("X-Kind", "other")
                return response
            }
        ])
        let responses = Log<APIResponse>()
        let request = client.request("way", args: [.responseThread(.background), .option(.rawData)])
        request.setDataHandler { [data] piece in data.append(String(decoding: piece, as: UTF8.self)) }
        request.setDecisionHandler(for: .response) { [seen] decision in
            seen.append(decision.headers["X-Kind"] ?? "")
            decision.becomeDownload()
        }
        request.setHandler { responses.append($0) }
        request.resume()
        let response = try await responses.element(0)
        let path = try #require(response.temporaryFile)
        #expect(try SystemFile.read(path) == Array("body".utf8))
        #expect(seen.all == ["other"] && data.all == [])
    }

    @Test func aCancelWhileItIsShownEndsTheRequest() async throws {
        stub.on("GET", "way").answer(answer("body"))
        let kept = Log<Interception>()
        let responses = Log<APIResponse>()
        let client = intercepted.client([meeting("keeping") { kept.append($0) }])
        let request = client.request("way", args: [.responseThread(.background)])
        request.setDataHandler { [data] piece in data.append(String(decoding: piece, as: UTF8.self)) }
        request.setHandler { responses.append($0) }
        request.resume()
        let interception = try await kept.element(0)
        request.cancel()
        #expect(try await responses.element(0).error?.code == .cancelled)
        // Too late: it has no effect.
        interception.send()
        #expect(data.all == [])
    }

    @Test func itsTimeIsThatOfTheRequest() async throws {
        stub.on("GET", "way").answer(answer("body"))
        let kept = Log<Interception>()
        let client = intercepted.client([meeting("keeping") { kept.append($0) }])
        let responses = Log<APIResponse>()
        let request = client.request("way", args: [.responseThread(.background), .timeout(5, .total)])
        request.setDataHandler { [data] piece in data.append(String(decoding: piece, as: UTF8.self)) }
        request.setHandler { responses.append($0) }
        request.resume()
        _ = try await kept.element(0)
        intercepted.clock.advance(by: 6)
        let error = try await responses.element(0).error
        #expect(error?.code == .timeout)
        #expect(data.all == [])
    }
}
