import Testing

@testable import NTApi

/// Background sessions as a program sees them; what a kill leaves is tested from Python, which kills.
@Suite struct BackgroundSessionTests {
    private let folder: TemporaryFolder
    private let store: String

    init() throws {
        folder = try TemporaryFolder()
        store = folder.path + "/sessions"
    }

    private func client(_ server: String = "fault", _ change: (inout SessionConfiguration) -> Void = { _ in })
        throws -> APIClient
    {
        try session(server, .background("photos")) {
            $0["backgroundFolder"] = JSON(store)
            change(&$0)
        }
    }

    private func open() throws -> BackgroundStore { try BackgroundStore("photos", root: store) }

    private var records: [String] {
        folder.modes.filter { $0.hasSuffix(".json") && !$0.hasSuffix("session.json") }
    }

    /// The name of files beside those of the session.
    private var files: [String] { folder.modes.filter { !$0.containsSubstring("sessions") } }

    /// What a process left that was killed.
    private func leave(
        _ command: String, _ args: [APIArg], _ change: (inout BackgroundRecord) throws -> Void
    ) throws {
        let client = try client()
        let request = client.request(command, args: args)
        let built = try BackgroundSession.check(request.built.get())
        let store = try #require(try client.background?.opened())
        var record = BackgroundRecord(Int64(request.identifier), built, command: command)
        try change(&record)
        try store.add(record)
        store.close()
    }

    // MARK: What is recorded

    @Test func aDownloadIsRecordedUntilItsHandlerHasReturned() async throws {
        let client = try client()
        let path = folder.path + "/f"
        let seen = Log<[String]>()
        let request = client.request(
            "range", args: [.download(to: path), .bearer("t0ken"), .responseThread(.background)])
        request.taskDescription = "a photo"
        #expect(records.isEmpty)
        request.setHandler { response in
            seen.append(records)
            #expect(response.error == nil && response.file == path && !response.wasDeliveredBefore)
        }
        request.resume()
        // Nothing is sent before it is on the disk, for the user alone.
        #expect(records.count == 1 && records.allSatisfy { $0.hasPrefix("600 ") })
        await onThread { request.wait() }
        #expect(seen.all.first?.count == 1 && records.isEmpty)
        #expect(files == ["644 f"] && folder.read("f")?.count == 100_000)
        client.close()
    }

    @Test func onlyTransfersWithFilesAreAllowed() async throws {
        let client = try client()
        for args: [APIArg] in [[], [.json([:])], [.download(to: folder.path + "/f"), .form("a", "b")]] {
            let error = await client.error("echo", args)
            #expect(error?.code == .invalidRequest && error?.message.containsSubstring("background session") == true)
        }
        #expect(records.isEmpty && files.isEmpty)
    }

    @Test func anUploadsAnswerIsDelivered() async throws {
        folder.write("body", Array("hello".utf8))
        let client = try client()
        let response = await client.response("echo", args: [.file(folder.path + "/body"), .method("PUT")])
        #expect(response.error == nil && response.json?["body"]?.string == "hello")
        #expect(records.isEmpty)
    }

    @Test func aFailureLeavesNothingBehind() async throws {
        let client = try client()
        let response = await client.response("status/404", args: [.download(to: folder.path + "/f")])
        #expect(response.status == 404 && response.error?.code == .httpError)
        #expect(records.isEmpty && files.isEmpty)
    }

    @Test func aCancelEndsTheTransfer() async throws {
        let client = try client("nginx")
        let request = client.request(
            "slow/pattern-8M.bin", args: [.download(to: folder.path + "/f"), .handlers(.all, on: .background)])
        let begun = Log<Bool>()
        request.setDownloadProgress {
            guard $0.bytes > 0 else { return }
            request.cancel()
            begun.append(true)
        }
        request.resume()
        _ = await begun.first(1)
        await onThread { request.wait() }
        let response = try #require(request.response)
        #expect(response.error?.code == .cancelled && records.isEmpty)
        response.resumeData?.discard()
        #expect(files.isEmpty)
    }

    // MARK: One process

    @Test func anotherWhoOpensItIsTold() async throws {
        let first = try client()
        #expect(first.backgroundError == nil)
        let second = try client()
        let error = try #require(second.backgroundError)
        #expect(error.message.containsSubstring("\"photos\"") && error.message.containsSubstring("this process"))
        let failure = await second.error("range", [.download(to: folder.path + "/f")])
        #expect(failure == error && second.restoredRequests().isEmpty)
        first.close()
        #expect(try client().backgroundError == nil)
    }

    // MARK: Closing, and going on

    @Test func closingKeepsWhatRuns() async throws {
        let path = folder.path + "/f"
        let begun = Log<Bool>()
        var request: APIRequest?
        do {
            let client = try client("nginx")
            let running = client.request(
                "slow/pattern-8M.bin", args: [.download(to: path), .handlers(.all, on: .background), .timeout(7)])
            running.setDownloadProgress {
                guard $0.bytes > 100_000 else { return }
                client.close()
                begun.append(true)
            }
            running.taskDescription = "the pattern"
            running.resume()
            _ = await begun.first(1)
            await onThread { running.wait() }
            request = running
        }
        let response = try #require(request?.response)
        #expect(response.error?.code == .detached && response.resumeData == nil)
        #expect(records.count == 1 && files.count == 1)

        let client = try client("nginx")
        let restored = client.restoredRequests(args: [.responseThread(.background)])
        let again = try #require(restored.first)
        #expect(restored.count == 1 && again.identifier == request?.identifier && again.state == .suspended)
        #expect(again.taskDescription == "the pattern" && again.command == "slow/pattern-8M.bin")
        #expect(again.httpRequest?.settings.timeouts.idle == 7)
        #expect(client.restoredRequests().first === again)
        again.resume()
        #expect(client.restoredRequests().isEmpty)
        // 8 MB at 1 MB a second; what was there is not sent again.
        await onThread { again.wait() }
        #expect(again.response?.error == nil && again.response?.status == 206)
        #expect(try sum("f") == sum(ofURL: "pattern-8M.bin"))
        #expect(records.isEmpty && files == ["644 f"])
    }

    private func sum(_ name: String) throws -> String {
        String(decoding: shell("sha256sum < '\(folder.path)/\(name)'"), as: UTF8.self)
    }

    private func sum(ofURL name: String) throws -> String {
        String(decoding: shell("sha256sum < '\(try TestServers.url("nginx_root"))/\(name)'"), as: UTF8.self)
    }

    @Test func aCancelOfWhatWasFoundForgetsIt() async throws {
        try leave("range", [.download(to: folder.path + "/f")]) { try $0.run() }
        let client = try client()
        let request = try #require(client.restoredRequests(args: [.responseThread(.background)]).first)
        let told = Log<APIError?>()
        request.setHandler { told.append($0.error) }
        request.cancel()
        _ = await told.first(1)
        await onThread { client.drain() }
        #expect(told.all.first??.code == .cancelled && records.isEmpty)
        #expect(client.restoredRequests().isEmpty)
    }

    @Test func thoseOfHigherPriorityComeFirst() async throws {
        let token = APIArg.url("token", "order-\(UInt64.random(in: 0 ... .max))")
        for (number, priority) in [0.2, 0.9, 0.5, 0.9].enumerated() {
            try leave("record", [token, .url("n", number), .download(to: folder.path + "/\(number)")]) {
                $0.priority = priority
            }
        }
        let client = try client { $0.maximumConnectionsPerHost = 1 }
        #expect(client.resumeRestoredRequests(args: [.responseThread(.background)]) == 4)
        await onThread { client.drain() }
        // Who is told first is another matter: handlers of different requests run at the same time.
        let seen = try await TestClient.of("fault").send("seen", args: [token])
        #expect(seen.json?["requests"]?.array?.map { $0[path: "args.n"]?.string } == ["1", "3", "2", "0"])
        #expect(records.isEmpty && files.count == 4)
    }

    // MARK: Outcomes of another process

    @Test(arguments: [false, true]) func aRecordedOutcomeIsDeliveredWithoutTheNetwork(_ isRepeated: Bool) async throws {
        folder.write("body", Array("hello".utf8))
        try leave("echo", [.file(folder.path + "/body")]) { record in
            try record.run()
            try record.finish(
                BackgroundOutcome(
                    status: 201, headers: HTTPHeaders([("X-A", "b")]), url: "http://elsewhere/x",
                    body: Array("{\"a\":1}".utf8),
                    ended: record.created + 5))
            if isRepeated { _ = try record.deliver() }
        }
        // Neither is the file that was sent needed any more.
        _ = shell("rm '\(folder.path)/body'")
        let client = try client()
        let request = try #require(client.restoredRequests(args: [.responseThread(.background)]).first)
        let told = Log<APIResponse>()
        request.setHandler { told.append($0) }
        request.resume()
        _ = await told.first(1)
        let response = try #require(told.all.first)
        #expect(response.status == 201 && response.error == nil && response.json?["a"]?.int == 1)
        #expect(response.url == "http://elsewhere/x" && response.headers["x-a"] == "b" && response.elapsed == 5)
        #expect(response.wasDeliveredBefore == isRepeated)
        await onThread { client.drain() }
        #expect(records.isEmpty)
    }

    /// A POST whose process ended is never sent a second time (PITFALLS 1); a PUT is.
    @Test(arguments: ["POST", "PUT"]) func anUploadIsSentAgainWhenThatIsSafe(_ method: String) async throws {
        folder.write("body", Array("hello".utf8))
        let token = "background-\(method)-\(SeededGenerator.ofThisRun)"
        try leave("record", [.url("token", token), .file(folder.path + "/body"), .method(method)]) { try $0.run() }
        let client = try client()
        let request = try #require(client.restoredRequests(args: [.responseThread(.background)]).first)
        request.resume()
        await onThread { request.wait() }
        let error = request.response?.error
        let seen = try await TestClient.of("fault").send("seen", args: [.url("token", token)]).json
        let count = seen?["requests"]?.array?.count ?? 0
        if method == "PUT" {
            #expect(error == nil && count == 1)
        } else {
            #expect(error?.domain == .network && error?.message.containsSubstring("ambiguous") == true && count == 0)
        }
        #expect(records.isEmpty)
    }

    @Test func whatCannotGoOnEndsWithAnError() async throws {
        _ = shell("mkdir '\(folder.path)/gone'")
        try leave("range", [.download(to: folder.path + "/gone/f")]) { try $0.run() }
        _ = shell("rmdir '\(folder.path)/gone'")
        let client = try client()
        let told = Log<APIError?>()
        #expect(client.resumeRestoredRequests(args: [.responseThread(.background)]) { told.append($0.error) } == 1)
        _ = await told.first(1)
        #expect(told.all.first??.message.containsSubstring("gone") == true)
        await onThread { client.drain() }
        #expect(records.isEmpty)
    }
}
