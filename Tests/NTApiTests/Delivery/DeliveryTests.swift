import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Each handler runs once, where the program wants it.
@Suite struct DeliveryTests {
    /// The server answers when it has two requests with these args.
    private let gate: [APIArg] = [.url("for", 2), .url("name", "delivery-\(UInt64.random(in: 0 ... .max))")]

    private static let onExecutor = ThreadLocalFlag()

    private struct NewThread: APIExecutor {
        func execute(_ job: @escaping @Sendable () -> Void) {
            _ = Thread.start(name: "executor") {
                DeliveryTests.onExecutor.set(true)
                job()
            }
        }
    }

    private func waitUntilReadable(_ mailbox: Mailbox) async -> Bool {
        await onThread {
            var entry = pollfd(fd: mailbox.fileDescriptor, events: Int16(POLLIN), revents: 0)
            return poll(&entry, 1, 60_000) == 1
        }
    }

    /// An error does not change where the handler runs, even if the request cannot be built.
    static let commands = ["ok", "status/404", "{unfilled}", "json/ok?x={"]

    @Test(arguments: commands) func inAMailboxWhenItIsDrained(_ command: String) async throws {
        let client = try TestClient.of("fault")
        let (mailbox, ran) = (Mailbox(), Log<Bool>())
        let request = client.begin(command, args: [.responseThread(.mailbox(mailbox))]) { _ in
            ran.append(WorkerPool.isWorkerThread)
        }
        #expect(await waitUntilReadable(mailbox))
        #expect(ran.count == 0 && request.isRunning && request.response != nil)
        #expect(mailbox.drain() == 1 && ran.all == [false])
        #expect(request.state == .completed && !request.isRunning)
    }

    @Test(arguments: commands) func onAWorker(_ command: String) async throws {
        let client = try TestClient.of("fault")
        let ran = Log<Bool>()
        client.begin(command, args: [.responseThread(.background)]) { _ in ran.append(WorkerPool.isWorkerThread) }
        #expect(await ran.first(1) == [true])
    }

    @Test(arguments: commands) func onTheThreadThatBegan(_ command: String) async throws {
        let client = try TestClient.of("fault")
        let same = await onThread { () -> [Bool] in
            let (me, mailbox, ran) = (pthread_self(), Mailbox.current, Log<Bool>())
            client.begin(command, args: [.responseThread(.current)]) { _ in
                ran.append(pthread_equal(me, pthread_self()) != 0)
                mailbox.stop()
            }
            // A handler never runs inside `begin`.
            return ran.all + (mailbox.run(timeout: patience) == .stopped ? ran.all : [])
        }
        #expect(same == [true])
    }

    /// A worker does not drain a mailbox between its jobs, and with a little load it never ends. So a handler must not
    /// wait in the mailbox of a worker.
    @Test func onAWorkerThatBeganIt() async throws {
        let stub = Stub()
        stub.on("GET", "x").answer(.status(204))
        let client = TestClient(at: "https://a.test")
        client.stub = stub
        let (count, depth) = (200, 3)
        let ran = Log<Bool>()
        @Sendable func begin(_ level: Int, on thread: CallbackThread) {
            client.begin("x", args: [.responseThread(thread)]) { _ in
                ran.append(WorkerPool.isWorkerThread)
                if level < depth { begin(level + 1, on: .current) }
            }
        }
        // The load: each job begins the next one, until all handlers have run.
        let isOver = Log<Bool>()
        @Sendable func stir() {
            if isOver.all.isEmpty { DeliveryRuntime.current.workers.run { Task { stir() } } }
        }
        for _ in 0..<8 { stir() }
        for _ in 0..<count { begin(1, on: .background) }
        #expect(await ran.first(count * depth) == Array(repeating: true, count: count * depth))
        isOver.append(true)
    }

    /// A job on a worker may run the mailbox of its thread.
    @Test func onAWorkerThatRunsItsMailbox() async throws {
        let client = try TestClient.of("fault")
        let ran = Log<Bool>()
        client.begin("ok", args: [.responseThread(.background)]) { _ in
            let (me, mailbox) = (pthread_self(), Mailbox.current)
            client.begin("ok", args: [.responseThread(.current)]) { _ in
                ran.append(pthread_equal(me, pthread_self()) != 0)
                mailbox.stop()
            }
            #expect(mailbox.run(timeout: patience) == .stopped)
        }
        #expect(await ran.first(1) == [true])
    }

    @Test(arguments: commands) func onAnExecutor(_ command: String) async throws {
        let client = try TestClient.of("fault")
        let ran = Log<Bool>()
        client.begin(command, args: [.responseThread(.executor(NewThread()))]) { _ in
            ran.append(DeliveryTests.onExecutor.get())
        }
        #expect(await ran.first(1) == [true])
    }

    @Test func performRunsTheMailboxMeanwhile() async throws {
        let client = try TestClient.of("weather")
        let gate = gate
        // The server answers only when the handler, on this thread, has sent the second request.
        let status = await onThread {
            client.begin("gate", args: [.responseThread(.current)]) { _ in
                client.begin("gate", args: gate)
            }
            return client.perform("gate", args: gate + [.responseThread(.current)]).status
        }
        #expect(status == 200)
    }

    @Test func eachHandlerHasItsOwnThread() async throws {
        let client = try TestClient.of("weather")
        let (mailbox, progress, response) = (Mailbox(), Log<Bool>(), Log<Bool>())
        client.begin(
            "download",
            args: [
                .url("size", 100_000), .option(.rawData), .responseThread(.mailbox(mailbox)),
                .downloadProgressThread(.executor(NewThread())),
            ], handler: { _ in response.append(DeliveryTests.onExecutor.get()) },
            downloadProgress: { _ in progress.append(DeliveryTests.onExecutor.get()) })
        #expect(await waitUntilReadable(mailbox))
        mailbox.drain()
        #expect(response.all == [false] && progress.count >= 2 && progress.all.allSatisfy { $0 })
    }

    /// Runs a function on a new thread, and waits until the thread has ended completely.
    private static func joined(_ body: @escaping @Sendable () -> Void) {
        final class Box: Sendable {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var thread = pthread_t()
        let box = Unmanaged.passRetained(Box(body)).toOpaque()
        let status = pthread_create(
            &thread, nil,
            { pointer in
                if let pointer { Unmanaged<Box>.fromOpaque(pointer).takeRetainedValue().body() }
                return nil
            }, box)
        precondition(status == 0, "a thread cannot be started")
        pthread_join(thread, nil)
    }

    /// The thread ends before the response comes: a worker runs the handler, and logs that.
    @Test func onAWorkerWhenTheThreadHasEnded() async throws {
        let client = try TestClient.of("weather")
        let ran = Log<Bool>()
        let gate = gate
        // Joins the thread, because its mailbox is closed at the very end of the thread.
        await onThread {
            Self.joined {
                _ = client.begin("gate", args: gate + [.responseThread(.current)]) { _ in
                    ran.append(WorkerPool.isWorkerThread)
                }
            }
        }
        #expect(await client.response("gate", args: gate).error == nil)
        #expect(await ran.first(1) == [true])
        let warned = await client.lines.first(1).contains { $0.level == .warn && $0.message.containsSubstring("ended") }
        #expect(warned)
    }

    @Test func onAWorkerWhenTheMailboxIsGone() async throws {
        let client = try TestClient.of("weather")
        let ran = Log<Bool>()
        do {
            let mailbox = Mailbox()
            client.begin("gate", args: gate + [.responseThread(.mailbox(mailbox))]) { _ in
                ran.append(WorkerPool.isWorkerThread)
            }
        }
        #expect(await client.response("gate", args: gate).error == nil)
        #expect(await ran.first(1) == [true])
    }

    @Test func aHandlerOnAWorkerMayWaitForAnotherRequest() async throws {
        let client = try TestClient.of("fault")
        let ran = Log<Int>()
        for _ in 0..<30 {
            client.begin("ok", args: [.responseThread(.background)]) { _ in
                ran.append(client.perform("late", args: [.url("ms", 20), .responseThread(.background)]).status)
            }
        }
        #expect(await ran.first(30) == [Int](repeating: 200, count: 30))
    }

    @Test func waitingInItsOwnHandlerIsRefused() async throws {
        let client = try TestClient.of("fault")
        let (results, left) = (Log<APIRequest.WaitResult>(), Log<Int>())
        let request = client.request("ok", args: [.responseThread(.background)])
        #expect(await onThread { request.wait() } == .refused, "the request was not resumed")
        request.setHandler { response in
            results.append(response.request.wait())
            left.append(response.request.client.drain(timeout: patience))
        }
        request.resume()
        #expect(await results.first(1) == [.refused])
        // A drain in a handler waits for all other requests.
        #expect(await left.first(1) == [0])
        #expect(await onThread { request.wait() } == .completed)
    }

    @Test func waitKeepsItsTime() async throws {
        let client = try TestClient.of("fault")
        let request = client.begin("hold", args: [.responseThread(.background)])
        let result = await onThread { request.wait(timeout: 0.05) }
        #expect(result == .timedOut && request.isRunning)
        request.cancel()
        #expect(await onThread { request.wait(timeout: patience) } == .completed)
        #expect(request.state == .cancelled && request.response?.error == .cancelled)
    }

    /// Progress waits in a mailbox that nobody runs. The response must come nevertheless.
    @Test func progressOfAThreadThatNeverRunsDelaysAndDoesNotLose() async throws {
        let client = try TestClient.of("weather")
        let (mailbox, ran, told) = (Mailbox(), Log<Int>(), Log<Int>())
        client.begin(
            "download",
            args: [
                .url("size", 1000), .option(.rawData), .responseThread(.background),
                .downloadProgressThread(.mailbox(mailbox)),
            ], handler: { ran.append($0.status) }, downloadProgress: { _ in told.append(1) })
        #expect(await ran.first(1) == [200])
        mailbox.drain()
        #expect(told.count == 0, "nothing follows the response")
    }
}
