import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A client that records on which threads its hooks are called.
private final class HookedClient: TestClient, @unchecked Sendable {
    let threads = Log<String>()

    override func requestStarted(_ request: APIRequest) { note("started") }
    override func requestCompleted(_ request: APIRequest, _ response: APIResponse) { note("completed") }
    override func parseJSON(_ data: ResponseData) throws -> ParsedJSON? {
        note("parse")
        return try super.parseJSON(data)
    }
    override func mapServiceError(_ response: APIResponse) -> APIError? {
        note("map")
        return nil
    }

    private func note(_ hook: String) { threads.append("\(hook) \(pthread_self())") }
}

/// A waiting caller makes the transfer itself.
@Suite(.serialized) struct PerformTests {
    private static let json = okResponse(#"{"n":1}"#)

    @Test func hooksRunOnTheThreadThatPerforms() async throws {
        let server = try RawServer(answering(Self.json))
        let client = HookedClient(at: server.url)
        // Other tests may be using all loops. Then a network thread and a worker make the transfer.
        for _ in 0..<1000 {
            let before = client.threads.count
            let (me, value) = await onThread { ("\(pthread_self())", client.perform().json?["n"]?.int) }
            #expect(value == 1)
            let threads = client.threads.all.dropFirst(before)
            #expect(threads.first == "started \(me)" && threads.count == 4)
            if threads == ["started \(me)", "parse \(me)", "map \(me)", "completed \(me)"] { return }
        }
        Issue.record("the hooks ran elsewhere each time")
    }

    @Test func keepsItsConnectionAndFollowsRedirects() async throws {
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                let isFirst = request.firstLine.containsSubstring("/first")
                connection.send(
                    isFirst ? "HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n" : Self.json)
            }
        }
        let client = TestClient(at: server.url)
        for _ in 0..<5 {
            let response = await onThread { client.perform("first") }
            #expect(response.error == nil && response.url.hasSuffix("/second") && response.metrics.redirects == 1)
        }
        // All tests of the process share the loops, so another test may use a loop in between.
        #expect(server.connectionCount <= 5)
    }

    /// A blocked thread runs its mailbox. Here the response arrives only after a handler in the mailbox has run.
    @Test func runsTheMailboxMeanwhile() async throws {
        let mayAnswer = Signal()
        let server = try RawServer { connection in
            guard let request = connection.readRequest() else { return }
            if request.firstLine.containsSubstring("slow") { mayAnswer.block() }
            connection.send(okResponse("x"))
        }
        let client = TestClient(at: server.url, args: [.option(.rawData)])
        let order = Log<String>()
        let status = await onThread {
            client.begin("quick", args: [.responseThread(.current)]) { _ in
                order.append("nested \(client.perform("nested").status)")
                order.append("handler")
                mayAnswer.set()
            }
            return client.perform("slow").status
        }
        #expect(status == 200 && order.all == ["nested 200", "handler"])
    }

    @Test func othersCanCancelIt() async throws {
        let isAsked = Signal()
        let server = try RawServer { connection in
            _ = connection.readRequest()
            isAsked.set()
            _ = connection.readRequest()
        }
        let client = TestClient(at: server.url)
        async let response = onThread { client.perform() }
        await isAsked.wait()
        client.cancelAll()
        #expect(await response.error == .cancelled)
        client.close()
        #expect(await onThread { client.perform() }.error?.code == .invalidRequest)
    }

    @Test func whatMakesNoRequestIsAnsweredToo() async {
        let client = TestClient(at: "http://h")
        #expect(await onThread { client.perform("{name}") }.error?.code == .invalidRequest)
        let closed = TestClient(at: "http://127.0.0.1:1")
        #expect(await onThread { closed.perform() }.error?.domain == .network)
    }

    /// Nobody runs a loop during a pause. A request that is performed after the pause must not time out at once.
    @Test func aPauseIsNotHeldAgainstTheNext() async throws {
        let (client, other) = (try TestClient.of("fault"), try TestClient.of("fault"))
        for milliseconds in [0, 0, 0, 100] {
            try await untilOneCounts { scale in
                let limit = 0.4 * scale
                _ = try await other.send("late", args: [.url("ms", 600 * scale)])
                let begun = MonotonicTime.now()
                let response = await onThread {
                    client.perform(
                        "late", args: [.url("ms", milliseconds), .timeout(limit), .timeout(limit, .connect)])
                }
                // A timeout after the full time is correct.
                if response.error != nil, MonotonicTime.now().seconds(since: begun) > limit { return false }
                #expect(response.error == nil, "\(response.metrics)")
                return true
            }
        }
    }

    /// More callers than loops, and fewer connections than callers.
    @Test(arguments: [2, 20]) func staysWithinTheConnectionsOfAHost(limit: Int) async throws {
        let server = try CountingServer(Self.json)
        let client = TestClient(at: server.url)
        client.defaults["maximumConnectionsPerHost"] = JSON(limit)
        await withTaskGroup(of: APIResponse.self) { group in
            for index in 0..<60 {
                group.addTask {
                    if index % 3 == 0 { return await client.response() }
                    return await onThread { client.perform() }
                }
            }
            for await response in group { #expect(response.status == 200, "\(response.error as Any)") }
        }
        #expect(server.most <= limit)
    }

    // MARK: Interruptions

    /// Performs on its own thread.
    private func perform(
        _ request: APIRequest, timeout: Double?, watching descriptor: Int32 = -1
    ) async -> APIRequest.PerformResult {
        await onThread { request.perform(timeout: timeout, watching: descriptor) }
    }

    @Test func isInterruptedAndGoesOn() async throws {
        let (isAsked, mayAnswer) = (Signal(), Signal())
        let server = try RawServer { connection in
            while connection.readRequest() != nil {
                isAsked.set()
                mayAnswer.block()
                connection.send(Self.json)
            }
        }
        let client = TestClient(at: server.url)
        let mailbox = Mailbox()
        _ = mailbox.fileDescriptor
        let request = client.request()
        let descriptor = mailbox.fileDescriptor
        async let first = perform(request, timeout: nil, watching: descriptor)
        await isAsked.wait()
        _ = mailbox.post([Job {}])
        #expect(await first == .interrupted && request.isRunning)
        #expect(await perform(request, timeout: nil, watching: descriptor) == .interrupted)
        mailbox.drain()
        #expect(await perform(request, timeout: 0.001, watching: descriptor) == .interrupted)
        mayAnswer.set()
        #expect(await perform(request, timeout: patience, watching: descriptor) == .completed)
        #expect(request.response?.json?["n"] == 1)
        #expect(await perform(request, timeout: patience, watching: -1) == .completed)
    }

    @Test func aSignalInterruptsIt() async throws {
        let isAsked = Signal()
        let server = try RawServer { connection in
            _ = connection.readRequest()
            isAsked.set()
            _ = connection.readRequest()
        }
        let client = TestClient(at: server.url)
        let request = client.request()
        let thread = Lock<pthread_t?>(nil)
        async let result = onThread {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in }
            sigaction(SIGUSR2, &action, nil)
            var set = sigset_t()
            sigemptyset(&set)
            sigaddset(&set, SIGUSR2)
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
            thread.withLock { $0 = pthread_self() }
            defer { thread.withLock { $0 = nil } }
            return request.perform(timeout: nil, watching: -1)
        }
        await isAsked.wait()
        // A signal that comes before the thread sleeps is lost. So it is sent again until the caller has returned.
        async let done: Void = onThread {
            while thread.withLock({ thread in thread.map { pthread_kill($0, SIGUSR2) } }) != nil {}
        }
        let interrupted = await result
        await done
        #expect(interrupted == .interrupted)
        request.cancel()
        #expect(await onThread { request.wait(timeout: patience) } == .completed)
    }

    /// After the caller has left, nobody runs the transfer. A cancel must still end it, and free the loop.
    @Test func whatWasLeftIsEndedByACancel() async throws {
        let isAsked = Signal()
        let server = try RawServer { connection in
            _ = connection.readRequest()
            isAsked.set()
            _ = connection.readRequest()
        }
        let client = TestClient(at: server.url)
        for _ in 0..<3 * ConnectionCount.maximumDirect {
            let request = client.request()
            #expect(await perform(request, timeout: 0.001, watching: -1) == .interrupted)
            #expect(request.cancel())
            #expect(await onThread { request.wait(timeout: patience) } == .completed)
            #expect(request.response?.error == .cancelled)
            #expect(await perform(request, timeout: 0, watching: -1) == .completed)
        }
        client.close()
    }
}
