import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Tokens that expire, as the server sees it: how often a new one is requested, and which requests send it.
@Suite struct AuthenticatorTests {
    /// A client that uses the fault server's tokens under one name.
    private struct Api {
        let client: TestClient
        let name = "n\(UInt64.random(in: 0 ... .max))"

        init() throws {
            client = try TestClient.of("fault")
            client.defaults["maximumConnectionsPerHost"] = 200
        }

        func use(_ more: [APIArg] = []) async -> APIResponse { await client.response("token/use", args: args(more)) }

        func args(_ more: [APIArg] = []) -> [APIArg] { [.url("name", name)] + more }

        func issue(_ more: [APIArg] = []) async throws -> Authenticator.Token {
            let json = try await client.send("token/issue", args: args([.option(.bypassAuthentication)] + more)).json
            return Authenticator.Token(try #require(json?["token"]?.string))
        }

        func expire() async throws {
            _ = try await client.send("token/expire", args: args([.option(.bypassAuthentication)]))
        }

        func stats() async throws -> [String: Int] {
            let json = try await client.send("token", args: args([.option(.bypassAuthentication)])).json
            return Dictionary(uniqueKeysWithValues: (json?.object ?? []).map { ($0.key, $0.value.int ?? -1) })
        }
    }

    // MARK: One refresh

    @Test func oneRefreshForAHundredRequests() async throws {
        let api = try Api()
        api.client.authenticator = Authenticator(token: .init("old")) { _ in
            try await api.issue()
        }
        let responses = await withTaskGroup(of: APIResponse.self) { group in
            for index in 0..<100 {
                group.addTask { await api.use([.url("together", 100)] + (index % 2 == 0 ? [.form("i", index)] : [])) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(responses.count == 100 && responses.allSatisfy { $0.error == nil && $0.metrics.retries == 1 })
        let bodies = responses.compactMap { $0.json?["body"]?.string }.filter { !$0.isEmpty }
        #expect(Set(bodies) == Set((0..<50).map { "i=\($0 * 2)" }))
        #expect(try await api.stats() == ["asked": 1, "issued": 1, "accepted": 100, "rejected": 100])
        #expect(api.client.authenticator?.token == "\(api.name)-1")
    }

    /// The client drops the body of a rejection when it sends the request again.
    @Test func aRejectionWithABodyWithoutEndIsCut() async throws {
        let api = try Api()
        api.client.authenticator = Authenticator(token: .init("old")) { _ in .init("new") }
        let args: [APIArg] = [
            .url("status", 401), .url("token", api.name), .option(.maximumResponseSize, "20000000"),
        ]
        let response = await api.client.response("flood", args: args)
        #expect(response.error == nil && response.metrics.retries == 1)
        #expect(response.json?["header"]?["authorization"]?.string == "Bearer new")
    }

    @Test func withoutATokenOneIsAskedForFirst() async throws {
        let api = try Api()
        let asked = Log<String?>()
        api.client.authenticator = Authenticator { refresh in
            asked.append(refresh.expiredToken)
            #expect(refresh.response == nil && refresh.client === api.client)
            return try await api.issue()
        }
        #expect(await api.use().status == 200)
        #expect(await api.use().status == 200)
        #expect(try await api.stats() == ["asked": 1, "issued": 1, "accepted": 2, "rejected": 0])
        #expect(asked.all == [nil])
    }

    @Test func aFailedRefreshFailsAllOnceAndStartsNoStorm() async throws {
        let api = try Api()
        // With a real clock on a busy machine, the pause after the failure might end before all requests have their
        // errors.
        api.client.clock = ManualClock()
        api.client.authenticator = Authenticator(token: .init("old")) { _ in
            try await api.issue([.url("status", 503)])
        }
        let responses = await withTaskGroup(of: APIResponse.self) { group in
            for _ in 0..<50 { group.addTask { await api.use([.url("together", 50)]) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(responses.map { $0.error?.message }).count == 1)
        let error = try #require(responses.first?.error)
        #expect(error.code == .authentication && error.domain == .http && error.httpStatus == 503)
        #expect(error.message.containsSubstring("could not be refreshed"))
        // The server's answer stays readable.
        #expect(responses.allSatisfy { $0.status == 401 && $0.json?["error"]?.string == "token" })
        // For a moment after the failure, no request starts a new refresh.
        for _ in 0..<20 {
            let other = await api.use().error
            #expect(other?.code == .authentication && other?.httpStatus == 503)
            #expect(other?.message.hasPrefix(error.message) == true)
        }
        #expect(try await api.stats()["asked"] == 1)
        // The program sets a valid token.
        api.client.authenticator?.setToken(try await api.issue())
        #expect(await api.use().status == 200)
    }

    @Test func aRequestThatWasNotSentIsNamed() async throws {
        let api = try Api()
        api.client.authenticator = Authenticator { _ in
            throw APIError(code: ErrorCode("refused"), message: "log in again", httpStatus: 400)
        }
        let error = try #require(await api.client.response("login", args: [.form("password", "s3cret")]).error)
        #expect(error.code == .authentication && error.httpStatus == 400)
        #expect(error.message.hasPrefix("the token could not be refreshed: log in again; POST http://"))
        #expect(
            error.message.hasSuffix(
                "/login was not sent. A request that needs no token, such as a log-in, has the option "
                    + "bypass_authentication"))
    }

    @Test func aRejectionAfterTheRefreshIsDelivered() async throws {
        let api = try Api()
        api.client.authenticator = Authenticator(token: .init("old")) { _ in try await api.issue([.url("bad", 1)]) }
        let response = await api.use()
        #expect(response.status == 401 && response.error?.code == .httpError && response.metrics.retries == 1)
        #expect(try await api.stats() == ["asked": 1, "issued": 1, "accepted": 0, "rejected": 2])
    }

    @Test func anotherTokenMeanwhileNeedsNoRefresh() async throws {
        let api = try Api()
        let token = try await api.issue()
        // The refresh of the first request brings the token while the second is on its way with the old one.
        let gate = Signal()
        api.client.authenticator = Authenticator(
            token: .init("old"),
            answering: { refresh in
                gate.block()
                refresh.succeed(token)
            })
        async let first = api.use()
        while try await api.stats()["rejected"] != 1 {}
        gate.set()
        let (one, other) = await (first, api.use())
        #expect(one.status == 200 && other.status == 200)
        #expect(try await api.stats() == ["asked": 1, "issued": 1, "accepted": 2, "rejected": 1])
    }

    @Test func aTokenIsRefreshedAheadOfItsEnd() async throws {
        let api = try Api()
        let done = Signal()
        let authenticator = Authenticator(token: nil) { refresh in
            var token = try await api.issue()
            token.lifetime = refresh.expiredToken == nil ? 0.5 : 3600
            if refresh.expiredToken != nil { done.set() }
            return token
        }
        api.client.authenticator = authenticator
        #expect(await api.use().status == 200)
        // The margin begins during this loop: requests still use the valid token while a new one is fetched.
        while !done.isSet { #expect(await api.use().error == nil) }
        #expect(try await api.stats()["issued"] == 2)
    }

    // MARK: Who gets the token

    @Test func onlyItsOwnOrigins() async throws {
        let api = try Api()
        let key = "auth-\(api.name)"
        let other = try TestServers.url("fault_other")
        let record = "\(other)/record?token=\(key)"
        api.client.authenticator = Authenticator(token: .init("s3cret")) { _ in nil }
        _ = try await api.client.send("", args: [.baseURL(record)])
        _ = try await api.client.send("redirect/to", args: [.url("url", record)])
        _ = try await api.client.send("redirect/to", args: [.url("url", record), .url("status", 307), .form("a", "b")])
        // Another origin says that the token has expired, which does not count.
        let refused = await api.client.response(
            "redirect/to", args: [.url("url", "\(other)/token/use?name=\(api.name)&token=\(key)")])
        #expect(refused.status == 401 && refused.error?.code == .httpError)
        let seen = try await api.client.send("seen", args: [.url("token", key)]).json
        #expect(seen?["count"]?.int == 4)
        for index in 0..<4 { #expect(seen?[path: "requests[\(index)].header.authorization"] == nil) }
        let echo = try await api.client.send("echo").json
        #expect(echo?[path: "header.authorization"]?.string == "Bearer s3cret")

        api.client.authenticator = Authenticator(token: .init("s3cret"), origins: [other]) { _ in nil }
        let named = try await api.client.send("", args: [.baseURL("\(other)/echo")]).json
        #expect(named?[path: "header.authorization"]?.string == "Bearer s3cret")
    }

    @Test func aRequestWithItsOwnGoesWithout() async throws {
        let client = try TestClient.of("fault")
        client.authenticator = Authenticator(token: .init("t")) { _ in nil }
        for (arg, expected) in [
            (APIArg.bearer("mine"), "Bearer mine"), (.basicAuth("a", "b"), "Basic YTpi"),
            (.header("Authorization", "x"), "x"), (.option(.bypassAuthentication), nil),
            (.option(.bypassAuthentication, false), "Bearer t"),
        ] as [(APIArg, String?)] {
            let json = try await client.send("echo", args: [arg]).json
            #expect(json?[path: "header.authorization"]?.string == expected)
        }
        let digest = try await client.send(
            "digest", args: [.url("user", "a"), .url("password", "b"), .digestAuth("a", "b")])
        #expect(digest.json?[path: "header.authorization"]?.string?.hasASCIIPrefix("Digest") == true)
    }

    @Test func anotherHeader() async throws {
        let api = try Api()
        let token = try await api.issue()
        api.client.authenticator = Authenticator(token: token, header: "X-Api-Token", scheme: "") { _ in nil }
        let response = await api.use([.url("scheme", ""), .url("header", "X-Api-Token")])
        #expect(response.json?[path: "header[\"x-api-token\"]"]?.string == token.text)
        api.client.authenticator?.setToken(.init("line\nbreak"))
        #expect(await api.use().error?.code == .invalidRequest)
        #expect("\(token)" == "Token(<redacted>)")
    }

    @Test func whatIsNoExpiry() async throws {
        let api = try Api()
        let asked = Log<Int?>()
        api.client.authenticator = Authenticator(token: .init("old"), statuses: [401, 403, 200]) { refresh in
            asked.append(refresh.response?.status)
            return nil
        }
        #expect(await api.use([.url("error", "insufficient_scope")]).error?.code == .httpError)
        #expect(asked.count == 0)
        // The refresh declines: it is called for each response, which is delivered unchanged.
        #expect(await api.use().status == 401)
        #expect(await api.use([.url("rejection", 403)]).status == 403)
        #expect(await api.client.response("echo").error == nil)
        #expect(asked.all == [401, 403, 200])
        #expect(await api.use([.url("rejection", 400)]).status == 400 && asked.count == 3)
        api.client.authenticator = Authenticator { _ in nil }
        #expect(await api.use().error?.code == .authentication)
    }

    // MARK: Bodies

    @Test func bodiesAreSentAgain() async throws {
        let api = try Api()
        let bytes = [UInt8](repeating: 66, count: 200_000)
        let rewinds = Log<Bool>()
        for body in [
            APIArg.data(bytes), .multipart("p", data: bytes), .stream(stream(bytes) { rewinds.append(true) }),
        ] {
            api.client.authenticator = Authenticator(token: .init("old")) { _ in try await api.issue() }
            let response = await api.use([body])
            #expect(response.json?["size"]?.int ?? 0 >= bytes.count)
        }
        #expect(rewinds.count == 1)
        // A stream without a rewind function can be sent only once.
        api.client.authenticator = Authenticator(token: .init("old")) { _ in try await api.issue() }
        let once = await api.use([.stream(stream(bytes, nil))])
        #expect(once.error?.code == .authentication && once.status == 401)
        #expect(once.error?.message.containsSubstring("cannot be sent twice") == true)
        // The next request uses the new token at once: the server does not reject it.
        let before = try await api.stats()["rejected"]
        #expect(await api.use().status == 200)
        #expect(try await api.stats()["rejected"] == before)
    }

    @Test func progressAndDownloadsSeeTheRightBody() async throws {
        let api = try Api()
        api.client.authenticator = Authenticator(token: .init("old")) { _ in try await api.issue() }
        let told = Log<TransferProgress>()
        let path = "/tmp/ntapi-auth-\(api.name)"
        defer { unlink(path) }
        let response = await api.client.response(
            "token/use", args: api.args([.download(to: path), .option(.ignoreHTTPErrors)]),
            downloadProgress: { told.append($0) })
        #expect(response.file == path && response.status == 200)
        #expect(Set(told.all.map(\.total)).count == 1)
        #expect(String(decoding: shell("cat \(path)"), as: UTF8.self).containsSubstring("listener"))
    }

    private func stream(_ bytes: [UInt8], _ rewound: (@Sendable () -> Void)?) -> BodyStream {
        let offset = Lock(0)
        var rewind: (@Sendable () -> Bool)?
        if let rewound {
            rewind = {
                rewound()
                offset.withLock { $0 = 0 }
                return true
            }
        }
        return BodyStream(rewind: rewind) { buffer in
            offset.withLock { offset in
                let count = min(buffer.count, bytes.count - offset)
                bytes[offset..<(offset + count)].withUnsafeBytes { buffer.copyMemory(from: $0) }
                offset += count
                return count
            }
        }
    }

    // MARK: Waiting

    /// A refresh that waits until the test answers it.
    private func held(_ token: String? = "old", timeout: Double = patience) -> (Authenticator, Log<TokenRefresh>) {
        let asked = Log<TokenRefresh>()
        return (
            Authenticator(token: token.map { .init($0) }, timeout: timeout, answering: { asked.append($0) }), asked
        )
    }

    @Test func whoIsCancelledEndsAtOnceAndTheRefreshGoesOn() async throws {
        let api = try Api()
        let (authenticator, asked) = held()
        api.client.authenticator = authenticator
        let ended = Log<APIResponse>()
        let (first, second) = (
            api.client.begin(
                "token/use", args: api.args([.responseThread(.background)]), handler: { ended.append($0) }),
            api.client.begin("token/use", args: api.args([.responseThread(.background)]), handler: { ended.append($0) })
        )
        let refresh = try #require(await asked.first(1).first)
        #expect(first.cancel() && !first.cancel())
        let cancelled = await ended.first(1)
        #expect(cancelled.map(\.error?.code) == [.cancelled] && cancelled.first?.request === first)
        #expect(!refresh.isAnswered && second.isRunning)
        let token = try await api.issue()
        #expect(refresh.succeed(token) && !refresh.succeed(token))
        #expect(await ended.first(2).last?.status == 200)
        await onThread { _ = api.client.drain(timeout: patience) }
        #expect(asked.count == 1 && ended.count == 2)
    }

    @Test(arguments: [TimeoutClock.idle, .total]) func timeoutsGoOnWhileItWaits(_ clock: TimeoutClock) async throws {
        try await untilOneCounts { scale in
            let api = try Api()
            let (authenticator, asked) = held(timeout: 10 * patience)
            api.client.authenticator = authenticator
            let response = await api.use([.timeout(0.2 * scale, clock)])
            #expect(response.error?.code == .timeout && response.error?.message.containsSubstring("\(clock)") == true)
            #expect(response.elapsed >= 0.2 * scale)
            // The timeout may have ended the request before the server rejected the token.
            guard asked.count > 0 else { return false }
            // Other requests use the refresh.
            let refresh = try #require(await asked.first(1).first)
            refresh.succeed(try await api.issue())
            #expect(await api.use().status == 200 && asked.count == 1)
            return true
        }
    }

    @Test func aRefreshThatNeverEnds() async throws {
        let api = try Api()
        let (authenticator, asked) = held(nil, timeout: 0.2)
        api.client.authenticator = authenticator
        let response = await api.use()
        #expect(response.error?.code == .authentication && response.error?.message.containsSubstring("0.2 s") == true)
        // The answer comes late, and its token is used.
        let refresh = try #require(await asked.first(1).first)
        refresh.succeed(try await api.issue())
        #expect(await api.use().status == 200)
        // A refresh that drops its `TokenRefresh` has failed.
        api.client.authenticator = Authenticator(answering: { _ in })
        #expect(await api.use().error?.message.containsSubstring("without an answer") == true)
    }

    @Test func anAsyncRefreshIsCancelledWithItsTime() async throws {
        let api = try Api()
        let cancelled = Signal()
        api.client.authenticator = Authenticator(timeout: 0.2) { _ in
            await withTaskCancellationHandler {
                await cancelled.wait()
                return nil
            } onCancel: {
                cancelled.set()
            }
        }
        #expect(await api.use().error?.code == .authentication)
        await onThread { cancelled.block() }
    }

    @Test func closingEndsTheWait() async throws {
        let api = try Api()
        let (authenticator, asked) = held()
        api.client.authenticator = authenticator
        let ended = Log<APIResponse>()
        for _ in 0..<10 {
            api.client.begin("token/use", args: api.args([.responseThread(.background)]), handler: { ended.append($0) })
        }
        _ = await asked.first(1)
        api.client.close()
        #expect(await ended.first(10).allSatisfy { $0.error?.code == .cancelled })
        await onThread { #expect(api.client.drain(timeout: patience) == 0) }
    }

    /// A server may take a refresh token once: a refresh that was cut off would lose the next one.
    @Test func closingAnotherClientKeepsTheRefresh() async throws {
        let (one, other) = (try Api(), try Api())
        let (asked, goesOn, cancelled) = (Signal(), Signal(), Log<Bool>())
        let authenticator = Authenticator(token: .init("old")) { _ in
            asked.set()
            await goesOn.wait()
            cancelled.append(Task.isCancelled)
            return nil
        }
        one.client.authenticator = authenticator
        other.client.authenticator = authenticator
        let ended = Log<APIResponse>()
        let args = one.args([.responseThread(.background)])
        let request = one.client.begin("token/use", args: args, handler: { ended.append($0) })
        await asked.wait()
        request.cancel()
        _ = await ended.first(1)
        other.client.close()
        goesOn.set()
        #expect(await cancelled.first(1) == [false])
    }

    @Test func theRefreshEndsWithTheLastClientThatWaits() async throws {
        let (one, other) = (try Api(), try Api())
        let (asked, cancelled) = (Signal(), Signal())
        let authenticator = Authenticator(token: .init("old")) { _ in
            asked.set()
            await withTaskCancellationHandler {
                await cancelled.wait()
            } onCancel: {
                cancelled.set()
            }
            return nil
        }
        let ended = Log<APIResponse>()
        for api in [one, other] {
            api.client.authenticator = authenticator
            let args = api.args([.responseThread(.background)])
            api.client.begin("token/use", args: args, handler: { ended.append($0) })
            await asked.wait()
        }
        // The refresh belongs to the first client, and the other one waits for it.
        try await wait { authenticator.state.withLock { $0.permits.waiterCount } == 2 }
        one.client.close()
        other.client.close()
        #expect(await ended.first(2).allSatisfy { $0.error?.code == .cancelled })
        await onThread { cancelled.block() }
    }

    @Test func noTimePassesWhileItIsSuspended() async throws {
        let api = try Api()
        let clock = ManualClock()
        api.client.clock = clock
        let (authenticator, asked) = held(nil, timeout: 100_000)
        api.client.authenticator = authenticator
        let ended = Log<APIResponse>()
        let args = api.args([.responseThread(.background), .timeout(500), .timeout(900, .total)])
        let request = api.client.begin("token/use", args: args, handler: { ended.append($0) })
        let refresh = try #require(await asked.first(1).first)
        #expect(request.suspend())
        clock.advance(by: 10_000)
        #expect(request.resume() && ended.count == 0)
        clock.advance(by: 400)
        refresh.succeed(try await api.issue())
        #expect(await ended.first(1).first?.status == 200)
    }

    @Test func suspendedWhileItWaits() async throws {
        let api = try Api()
        let (authenticator, asked) = held()
        api.client.authenticator = authenticator
        let ended = Log<APIResponse>()
        let request = api.client.begin(
            "token/use", args: api.args([.responseThread(.background)]), handler: { ended.append($0) })
        let refresh = try #require(await asked.first(1).first)
        #expect(request.suspend())
        refresh.succeed(try await api.issue())
        let other = await api.use()
        #expect(other.status == 200 && ended.count == 0)
        #expect(request.resume())
        #expect(await ended.first(1).first?.status == 200)
    }

    // MARK: Threads

    @Test func aCallerThatWaits() async throws {
        let api = try Api()
        let worker = Log<Bool>()
        api.client.authenticator = Authenticator(
            token: .init("old"),
            answering: { refresh in
                worker.append(WorkerPool.isWorkerThread)
                // Requests of the refresh carry no token: otherwise it would wait for itself.
                let response = refresh.client.perform("token/issue", args: api.args())
                refresh.succeed(.init(response.json?["token"]?.string ?? ""))
            })
        let responses = await withTaskGroup(of: APIResponse.self) { group in
            for _ in 0..<8 {
                group.addTask { await onThread { api.client.perform("token/use", args: api.args()) } }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(responses.map(\.status) == Array(repeating: 200, count: 8), "\(responses.map(\.error))")
        #expect(worker.all.allSatisfy { $0 } && !worker.all.isEmpty)
    }

    @Test func theRefreshRunsWhereItWasAskedTo() async throws {
        let api = try Api()
        let mailbox = Mailbox()
        let asked = Log<TokenRefresh>()
        api.client.authenticator = Authenticator(on: .mailbox(mailbox), answering: { asked.append($0) })
        let ended = Log<APIResponse>()
        api.client.begin("token/use", args: api.args([.responseThread(.background)]), handler: { ended.append($0) })
        await onThread { while asked.count == 0 { mailbox.run(timeout: 0.01) } }
        asked.all.first?.succeed(try await api.issue())
        #expect(await ended.first(1).first?.status == 200)
    }

    @Test func severalClientsShareIt() async throws {
        let (one, other) = (try Api(), try Api())
        let authenticator = Authenticator(token: .init("old")) { _ in try await one.issue() }
        one.client.authenticator = authenticator
        other.client.authenticator = authenticator
        async let first = one.use([.url("together", 2)])
        async let second = other.client.response("token/use", args: one.args([.url("together", 2)]))
        let (answer, otherAnswer) = await (first, second)
        #expect(answer.status == 200 && otherAnswer.status == 200)
        #expect(try await one.stats()["asked"] == 1)
    }
}
