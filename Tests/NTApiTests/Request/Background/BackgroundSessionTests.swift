import Testing

@testable import NTApi

/// Background sessions as a program sees them. The Python tests cover a killed process.
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

    /// The names of the files outside of the session's own folder.
    private var files: [String] { folder.modes.filter { !$0.containsSubstring("sessions") } }

    /// Leaves a record as a killed process would.
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
        // Nothing is sent before the record is on disk. Only the user can read it.
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
        // The record is removed when the handler has returned.
        await onThread { _ = client.drain(timeout: patience) }
        #expect(records.isEmpty)
    }

    /// The size of a file of /proc is 0, whatever it contains.
    @Test(.enabled(if: (try? SystemFile.read("/proc/self/status"))?.isEmpty == false))
    func aFileWhoseSizeIsNotThatOfItsContentIsRefused() async throws {
        let client = try client()
        let response = await client.response("echo", args: [.file("/proc/self/status"), .method("PUT")])
        #expect(response.error?.code == .invalidRequest)
        #expect(response.error?.message.containsSubstring("has a size of 0 bytes, but its content is longer") == true)
        #expect(records.isEmpty)
    }

    @Test func aFailureLeavesNothingBehind() async throws {
        let client = try client()
        let response = await client.response("status/404", args: [.download(to: folder.path + "/f")])
        #expect(response.status == 404 && response.error?.code == .httpError)
        await onThread { _ = client.drain(timeout: patience) }
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

    // MARK: Closing and continuing

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
        // 8 MB at 1 MB a second. The bytes that are already there are not sent again.
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
        // This must hold at once: a program that resumes all found requests must not find this one.
        #expect(client.restoredRequests().isEmpty)
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
        // The order of delivery is not tested: handlers of different requests run at the same time.
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
        // The file that was uploaded is no longer needed either.
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

    @Test func numbersKeepTheirDigits() async throws {
        let text = "[18446744073709551617,1.123456789012345678]"
        folder.write("body", Array("hello".utf8))
        try leave("echo", [.file(folder.path + "/body")]) { record in
            try record.run()
            try record.finish(BackgroundOutcome(status: 200, body: Array(text.utf8), ended: record.created + 5))
        }
        let client = try client()
        let request = try #require(client.restoredRequests(args: [.responseThread(.background)]).first)
        request.resume()
        await onThread { request.wait() }
        #expect(request.response?.json?.text == text)
        await onThread { client.drain() }
    }

    @Test func aRecordedErrorHasTheProblemOfItsAnswer() async throws {
        folder.write("body", Array("hello".utf8))
        try leave("echo", [.file(folder.path + "/body")]) { record in
            try record.run()
            try record.finish(
                BackgroundOutcome(
                    status: 402, headers: HTTPHeaders([("Content-Type", "application/problem+json")]),
                    error: APIError(domain: .http, code: .httpError, httpStatus: 402),
                    body: Array("{\"title\":\"No credit\"}".utf8), ended: record.created + 5))
        }
        let client = try client()
        let request = try #require(client.restoredRequests(args: [.responseThread(.background)]).first)
        request.resume()
        await onThread { request.wait() }
        #expect(request.response?.error?.problem == ProblemDetails(["title": "No credit"]))
        await onThread { client.drain() }
    }

    /// A POST whose process ended is never sent again; a PUT is.
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

    // MARK: Requests that may have been sent, and those that were not

    private func content(_ name: String) -> String {
        String(decoding: folder.read("sessions/photos/\(name)") ?? [], as: UTF8.self)
    }

    /// The server has not seen the requests that wait for a connection.
    @Test func whatWasStillQueuedBeginsAgain() async throws {
        folder.write("body", Array("hello".utf8))
        let token = "queued-\(UInt64.random(in: 0 ... .max))"
        let ended = Log<APIError?>()
        do {
            let client = try client { $0.maximumConnectionsPerHost = 1 }
            let args: [APIArg] = [
                .url("token", token), .file(folder.path + "/body"), .method("POST"), .responseThread(.background),
            ]
            let isSent = Signal()
            client.begin("stall/before", args: args + [.uploadProgressThread(.background)]) {
                ended.append($0.error)
            } uploadProgress: {
                if $0.bytes > 0 { isSent.set() }
            }
            await isSent.wait()
            #expect(content("1.json").containsSubstring("\"running\""))
            for _ in 0..<4 { client.begin("record", args: args) { ended.append($0.error) } }
            #expect((2...5).allSatisfy { content("\($0).json").containsSubstring("\"waiting\"") })
            client.close()
            #expect(await ended.first(5).map { $0?.code } == Array(repeating: .detached, count: 5))
            await onThread { client.drain() }
        }
        let client = try client()
        let told = Log<APIResponse>()
        #expect(client.resumeRestoredRequests(args: [.responseThread(.background)]) { told.append($0) } == 5)
        let responses = await told.first(5).sorted { $0.request.identifier < $1.request.identifier }
        #expect(responses.first?.error?.message.containsSubstring("ambiguous") == true)
        #expect(responses.dropFirst().allSatisfy { $0.error == nil && $0.status == 200 })
        await onThread { client.drain() }
        let seen = try await TestClient.of("fault").send("seen", args: [.url("token", token)]).json
        #expect(seen?["requests"]?.array?.count == 4 && records.isEmpty)
    }

    /// Nothing listens at this address, so no server has received anything.
    @Test func whatNeverHadAConnectionBeginsAgain() async throws {
        folder.write("body", Array("hello".utf8))
        let ended = Log<APIError?>()
        do {
            let client = try client()
            let retry = RetryPolicy(attempts: 3, base: 3600, cap: 3600)
            client.begin(
                "x",
                args: [
                    .baseURL("http://127.0.0.1:1/"), .file(folder.path + "/body"), .method("POST"), .retry(retry),
                    .responseThread(.background),
                ]
            ) { ended.append($0.error) }
            try await wait { content("1.json").containsSubstring("\"running\"") }
            client.close()
            #expect(await ended.first(1).map { $0?.code } == [.detached])
            await onThread { client.drain() }
        }
        #expect(content("1.json").containsSubstring("\"waiting\""))
    }

    @Test func aRecordNamesNoFileOfOthers() async throws {
        for status in [200, 404] {
            folder.write("victim", Array("precious".utf8))
            try leave("status/\(status)", [.download(to: folder.path + "/f")]) { record in
                record.work = .download(
                    destination: folder.path + "/f", temporaryFile: folder.path + "/victim", resume: nil)
            }
            let client = try client()
            let request = try #require(client.restoredRequests(args: [.responseThread(.background)]).first)
            request.resume()
            await onThread { request.wait() }
            #expect(request.response?.error != nil)
            #expect(folder.read("victim") == Array("precious".utf8) && folder.read("f") == nil)
            client.close()
            await onThread { client.drain() }
        }
    }

    @Test func onlyTemporaryFilesAreTemporary() throws {
        let made = TemporaryName.part(of: "/d/f")
        #expect(DownloadFile.isTemporary(made, for: "/d/f", nil))
        for wrong in [
            "/d/f", "/d/.f.part", "/d/.f..part", "/e/.f.1a.part", "/d/.g.1a.part", "/d/.f.A/b.part", "/d/.f.1A.part",
        ] {
            #expect(!DownloadFile.isTemporary(wrong, for: "/d/f", nil), "\(wrong)")
        }
    }

    /// The disk is full when the outcome arrives. Then no later process may deliver a different outcome than this
    /// handler got.
    @Test(arguments: [false, true]) func anOutcomeThatCannotBeKeptIsTold(_ isKept: Bool) async throws {
        folder.write("body", Array("hello".utf8))
        let client = try client()
        let copies = Log<Bool>()
        let (path, copy) = (folder.path, folder.path + "/copy")
        let stub = Stub()
        stub.on("POST").answer { _ in
            if !isKept { _ = shell("mkdir '\(path)/sessions/photos/1.json.new'") }
            return StubAnswer(status: 201)
        }
        client.stub = stub
        let answered = client.request(
            "echo", args: [.file(folder.path + "/body"), .method("POST"), .responseThread(.background)])
        answered.setHandler { response in
            // The copy shows the disk as if the process ended here.
            _ = shell("cp -r '\(path)/sessions' '\(copy)'")
            copies.append(response.error == nil && response.status == 201)
        }
        answered.resume()
        #expect(await copies.first(1) == [true])
        await onThread { client.drain() }
        let next = try session("fault", .background("photos")) { $0["backgroundFolder"] = JSON(copy) }
        let found = try #require(next.restoredRequests(args: [.responseThread(.background)]).first)
        found.resume()
        await onThread { found.wait() }
        #expect(found.response?.wasDeliveredBefore == true)
        if isKept {
            #expect(found.response?.status == 201 && found.response?.error == nil)
        } else {
            #expect(found.response?.error?.message.containsSubstring("could not be stored") == true)
        }
        await onThread { next.drain() }
        #expect(records.isEmpty)
    }
}
