import Testing

@testable import NTApi

/// The hooks that see the progress and the data of every request of a client.
@Suite struct TransferHookTests {
    private final class Watching: TestClient, @unchecked Sendable {
        // Safe to share: the logs are, and the function is set before the first request.
        let events = Log<String>()
        let sent = Log<TransferProgress>()
        let received = Log<TransferProgress>()
        let pieces = Log<[UInt8]>()
        nonisolated(unsafe) var whenStarted: (@Sendable (APIRequest) -> Void)?

        override func requestStarted(_ request: APIRequest) { whenStarted?(request) }

        override func uploadProgressed(_ request: APIRequest, _ progress: TransferProgress) {
            events.append("sent")
            sent.append(progress)
        }

        override func downloadProgressed(_ request: APIRequest, _ progress: TransferProgress) {
            events.append("received")
            received.append(progress)
        }

        override func dataReceived(_ request: APIRequest, _ data: ResponseData) {
            events.append("data")
            pieces.append(Array(data))
        }

        static func watching() throws -> Watching { try .of("fault") }
    }

    private static let body = [UInt8](repeating: 7, count: 300_000)
    private static let whole = TransferProgress(bytes: 300_000, total: 300_000)
    private static let args: [APIArg] = [.data(body), .option(.rawData)]

    @Test func everyRequestIsSeenAndItsResponseKeepsItsBody() async throws {
        let client = try Watching.watching()
        let response = try await client.send("mirror", args: Self.args)
        #expect(Array(response.data) == Self.body)
        #expect(client.pieces.all.reduce([], +) == Self.body)
        #expect(client.sent.all.first == TransferProgress(bytes: 0, total: 300_000))
        #expect(client.sent.all.last == Self.whole && client.received.all.last == Self.whole)
        let answer = try await client.send("echo")
        #expect(answer.json?["method"]?.string == "GET")
        #expect(Array(client.pieces.all.reduce([], +).dropFirst(300_000)) == Array(answer.data))
    }

    @Test func theRequestsOwnHandlersRunAfterTheHooks() async throws {
        let client = try Watching.watching()
        let request = client.request("mirror", args: Self.args + [.handlers(.all, on: .background)])
        request.setUploadProgress { _ in client.events.append("own sent") }
        request.setDownloadProgress { _ in client.events.append("own received") }
        request.setDataHandler { _ in client.events.append("own data") }
        request.setHandler { _ in client.events.append("response") }
        request.resume()
        #expect(await onThread { request.wait(timeout: patience) } == .completed)
        // The request has a data handler, which gets the body.
        #expect(request.response?.data.isEmpty == true)
        let events = client.events.all
        #expect(events.last == "response")
        for kind in ["sent", "received", "data"] {
            #expect(events.contains(kind))
            #expect(events.count { $0 == kind } == events.count { $0 == "own \(kind)" })
        }
        // Calls of one kind are in order; other kinds may come between, on other threads.
        for kind in ["sent", "received", "data"] {
            let own = events.filter { $0 == kind || $0 == "own \(kind)" }
            #expect(own.enumerated().allSatisfy { $0.element == ($0.offset.isMultiple(of: 2) ? kind : "own \(kind)") })
        }
    }

    /// `perform` runs the hooks on its own thread. If they ran on the main thread while that waits for `perform`, the
    /// program would hang.
    @Test func whoPerformsRunsThem() async throws {
        let client = try Watching.watching()
        let threads = Log<Bool>()
        let progress = Log<TransferProgress>()
        let data = await onThread {
            let isHere = ObjectIdentifier(Mailbox.current)
            let response = client.perform(
                "mirror", args: Self.args,
                uploadProgress: {
                    progress.append($0)
                    threads.append(ObjectIdentifier(Mailbox.current) == isHere)
                })
            return Array(response.data)
        }
        #expect(data == Self.body && client.pieces.all.reduce([], +) == Self.body)
        #expect(progress.all.last == Self.whole && threads.all.allSatisfy { $0 })
    }

    @Test func aCutBodyIsShownAgainWhenItIsSentAgain() async throws {
        let client = try Watching.watching()
        let error = await client.response(
            "close/in-body", args: [.retry(RetryPolicy(attempts: 2, base: 0)), .option(.rawData)]
        ).error
        #expect(error?.domain == .network && error?.message.containsSubstring("sent 2 times") == true)
        let seen = client.pieces.all.joined()
        #expect(seen.count > 0 && seen.count.isMultiple(of: 2))
    }

    @Test func errorsFilesAndStreams() async throws {
        let client = try Watching.watching()
        let error = await client.response("status/404")
        #expect(error.json?["status"]?.int == 404 && client.pieces.all.isEmpty)
        let folder = try TemporaryFolder()
        let file = try await client.send("zeros?size=10000", args: [.download(to: folder.path + "/zeros")])
        #expect(file.file != nil && client.pieces.all.isEmpty)
        #expect(client.received.all.last == TransferProgress(bytes: 10_000, total: 10_000))
        var lines = 0
        for try await _ in client.lines("lines?count=5") { lines += 1 }
        #expect(lines == 5 && client.pieces.all.joined().count { $0 == UInt8(ascii: "\n") } == 5)
    }

    @Test func aBodyThatIsTooLargeIsRefused() async throws {
        let client = try Watching.watching()
        let response = await client.response("endless", args: [.option(.maximumResponseSize, 1000)])
        #expect(response.error?.code == .responseTooLarge && response.data.count <= 1000)
    }

    // MARK: Progress handlers that are set when a request starts

    @Test func progressHandlersMayBeSetWhenARequestStarts() async throws {
        let client = try Watching.watching()
        let progress = Log<TransferProgress>()
        client.whenStarted = { request in
            #expect(request.setUploadProgress { progress.append($0) })
            #expect(!request.setDataHandler { _ in })
        }
        #expect(try await Array(client.send("mirror", args: Self.args).data) == Self.body)
        #expect(progress.all.first == TransferProgress(bytes: 0, total: 300_000) && progress.all.last == Self.whole)
    }

    @Test func onceItIsSentItIsTooLate() async throws {
        let request = try TestClient.of("fault").request("stall/before", args: [.responseThread(.background)])
        #expect(request.setUploadProgress { _ in })
        request.resume()
        #expect(!request.setUploadProgress { _ in } && !request.setDownloadProgress(nil))
        request.cancel()
    }
}
