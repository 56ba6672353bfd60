import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Bodies that are read as they arrive: chunks, JSON lines and server-sent events.
@Suite struct StreamTests {
    private func fault() throws -> TestClient { try .of("fault") }

    /// The requests with a token that the fault server has seen.
    private func seen(_ token: String) async throws -> [JSON] {
        try await fault().send("seen", args: [.url("token", token)]).json?["requests"]?.array ?? []
    }

    private func token() -> String { "t\(UInt64.random(in: 0...UInt64.max))" }

    private static let sampleEvents = [
        ServerSentEvent(data: "first", lastEventID: "1"),
        ServerSentEvent(type: "münze", data: "é\n€𝄞", lastEventID: "1"), ServerSentEvent(data: "", lastEventID: "2"),
    ]
    private static let sampleLines: [JSON] = [["n": 1], [2, "é€𝄞"], "three", .null, ["last": true]]

    private func all<Stream: AsyncSequence>(_ stream: Stream) async throws -> [Stream.Element] {
        var all: [Stream.Element] = []
        for try await element in stream { all.append(element) }
        return all
    }

    // MARK: Chunks

    @Test func theHeadIsThereBeforeTheBody() async throws {
        let stream = try await fault().stream("lines", args: [.url("count", 2), .url("hold", 1)])
        #expect(stream.status == 200 && stream.headers["content-type"] == "application/x-ndjson")
        var iterator = stream.makeAsyncIterator()
        let chunk = try await iterator.next()
        #expect(chunk.map { String(decoding: $0, as: UTF8.self).hasPrefix("{\"n\":1}") } == true)
        stream.cancel()
        let error = await #expect(throws: APIError.self) { while try await iterator.next() != nil {} }
        #expect(error?.code == .cancelled)
    }

    @Test func aBodyArrivesWholeAndInOrder() async throws {
        let client = try TestClient.of("nginx")
        let stream = try await client.stream("pattern-8M.bin")
        var body: [UInt8] = []
        for try await chunk in stream { chunk.withUnsafeBytes { body.append(contentsOf: $0) } }
        #expect(body == shell("cat '\(try TestServers.url("nginx_root"))/pattern-8M.bin'"))
        #expect(stream.request.response?.error == nil && stream.status == 200)
        #expect(await onThread { client.drain(timeout: patience) } == 0)
    }

    /// The error is that of the status, not that of the coding. The body stays as it came.
    @Test(arguments: [503, 404]) func aStatusStandsBeforeAnUnknownCoding(_ status: Int) async throws {
        let client = try fault()
        let folder = try TemporaryFolder()
        let args: [APIArg] = [.url("status", status)]
        var errors = [await client.response("encoding/charset", args: args).error]
        errors.append(await client.response("encoding/charset", args: args + [.download(to: "\(folder.path)/f")]).error)
        errors.append(await #expect(throws: APIError.self) { try await client.stream("encoding/charset", args: args) })
        errors.append(
            await #expect(throws: APIError.self) { try await all(client.lines("encoding/charset", args: args)) })
        // Events connect again after a 503.
        if status == 404 {
            errors.append(
                await #expect(throws: APIError.self) { try await all(client.events("encoding/charset", args: args)) })
        }
        for error in errors {
            #expect(error?.code == .httpError && error?.httpStatus == status && error?.isRetryable == (status == 503))
        }
        for way: APIArg in [.download(to: "\(folder.path)/f"), .url("chunked", 0), .url("chunked", 1)] {
            let response = await client.response("encoding/charset", args: args + [way])
            #expect(response.json?["ok"]?.bool == true && response.data.count == 1321)
        }
        let large = args + [.option(.maximumResponseSize, "1000")]
        #expect(await client.response("encoding/charset", args: large).error?.code == .responseTooLarge)
    }

    /// libcurl must not decode this body. It uses the same handle for the next request, and must decode that one.
    @Test func theNextBodyIsDecoded() async throws {
        let client = try fault()
        for _ in 0..<3 {
            let left = await onThread { client.perform("encoding/charset", args: [.url("status", 404)]) }
            #expect(left.error?.code == .httpError)
            let next = await onThread { client.perform("encoding/gzip") }
            #expect(next.error == nil && next.json != nil)
        }
    }

    @Test func anUnknownCodingIsNamedAlike() async throws {
        let client = try fault()
        let folder = try TemporaryFolder()
        var errors = [await client.response("encoding/charset").error]
        errors.append(await client.response("encoding/charset", args: [.download(to: "\(folder.path)/f")]).error)
        errors.append(
            await #expect(throws: APIError.self) {
                _ = try await all(client.stream("encoding/charset"))
            })
        errors.append(await #expect(throws: APIError.self) { try await all(client.lines("encoding/charset")) })
        for error in errors {
            #expect(error?.code == .network && error?.failure == .decoding && error?.httpStatus == 200)
            let text =
                "the body is encoded as 'utf-8', and cannot be decoded: to get it as it is, set decompression to false"
            #expect(error?.message.containsSubstring(text) == true, "\(error?.message ?? "")")
        }
        #expect(try await client.send("encoding/none", args: [.download(to: "\(folder.path)/g")]).error == nil)
        #expect(try await all(client.stream("encoding/none")).isEmpty == false)
    }

    /// An empty response has nothing to decode.
    @Test(arguments: ["magic", "br", "gzip", "gzip, magic"]) func anEmptyAnswerEndsWhateverItsCoding(
        _ coding: String
    ) async throws {
        let client = try fault()
        let folder = try TemporaryFolder()
        for place: APIArg in [.url("status", 204), .url("status", 200), .url("chunked", 1)] {
            let args = [place, .url("coding", coding)]
            #expect(try await client.send("no-body", args: args).data.isEmpty)
            let file = try await client.send("no-body", args: args + [.download(to: "\(folder.path)/f")])
            #expect(try file.file.flatMap { try SystemFile.read($0) } == [])
            #expect(try await all(client.stream("no-body", args: args)).isEmpty)
            #expect(try await all(client.lines("no-body", args: args)).isEmpty)
        }
        #expect(try await all(client.events("no-body", args: [.url("status", 204), .url("coding", coding)])).isEmpty)
        for way: APIArg in [.option(.rawData), .download(to: "\(folder.path)/g")] {
            let response = await client.response("no-body", args: [.url("status", 304), .url("coding", coding), way])
            #expect(response.status == 304 && response.error?.code == .httpError)
        }
    }

    @Test func anEmptyBodyHasNoChunks() async throws {
        let stream = try await fault().stream("split/lines", args: [.url("at", 0)])
        _ = try await all(stream)
        let token = token()
        _ = try await all(fault().stream("split/lines", args: [.url("token", token)]))
        let nothing = try await fault().stream("split/lines", args: [.url("token", token)])
        let chunks = try await all(nothing)
        #expect(nothing.status == 204 && chunks.isEmpty)
    }

    @Test func anHTTPErrorIsThrownUnlessItIsIgnored() async throws {
        let client = try fault()
        let error = await #expect(throws: APIError.self) { try await client.stream("status/404") }
        #expect(error?.code == .httpError && error?.httpStatus == 404)
        let stream = try await client.stream("status/404", args: [.option(.ignoreHTTPErrors)])
        let body = try await all(stream).joined()
        #expect(stream.status == 404 && String(decoding: Array(body), as: UTF8.self).containsSubstring("as asked"))
        let refused = await #expect(throws: APIError.self) { try await client.stream("a", args: [.method("B C")]) }
        #expect(refused?.code == .invalidRequest)
    }

    @Test func whatCameBeforeABreakIsRead() async throws {
        var chunks = 0
        var problem: APIError?
        do {
            for try await _ in try await fault().stream("close/in-body") { chunks += 1 }
        } catch {
            problem = error as? APIError
        }
        #expect(chunks > 0 && problem?.code == .network)
    }

    /// The server can send no more than the buffers between can hold.
    @Test func nobodyWhoReadsHoldsUpTheNetwork() async throws {
        let stream = try await TestClient.of("nginx").stream("256M.bin", args: [.timeout(idleTimeout)])
        var iterator = stream.makeAsyncIterator()
        _ = try await iterator.next()
        _ = try await TestClient.of("weather").send("slow", args: [.url("seconds", longerThanIdle)])
        #expect(stream.request.bytesReceived.bytes < 4 << 20)
        // The stream continues as if nothing had happened.
        for _ in 0..<20 { #expect(try await iterator.next() != nil) }
        stream.cancel()
    }

    @Test func leavingTheLoopCancels() async throws {
        let client = try TestClient.of("nginx")
        let stream = try await client.stream("256M.bin")
        for try await _ in stream { break }
        #expect(await onThread { client.drain(timeout: patience) } == 0)
        #expect(stream.request.response?.error?.code == .cancelled)
        // The stream was never read.
        var dropped: ResponseStream? = try await client.stream("256M.bin")
        let request = try #require(dropped?.request)
        dropped = nil
        #expect(await onThread { client.drain(timeout: patience) } == 0)
        #expect(request.response?.error?.code == .cancelled)
    }

    @Test func aClientThatIsClosedEndsWhatNobodyReads() async throws {
        let client = try TestClient.of("nginx")
        let stream = try await client.stream("pattern-8M.bin")
        client.close()
        #expect(await onThread { client.drain(timeout: patience) } == 0)
        let error = await #expect(throws: APIError.self) { for try await _ in stream {} }
        #expect(error?.code == .cancelled)
    }

    /// While its body runs, a loop holds a piece that contains more elements.
    @Test func aClientThatIsClosedDoesNotWaitForALoop() async throws {
        let client = try fault()
        var iterator = client.lines("lines", args: [.url("hold", 1)]).makeAsyncIterator()
        #expect(try await iterator.next() == ["n": 1])
        client.close()
        #expect(await onThread { client.drain(timeout: patience) } == 0)
        let error = await #expect(throws: APIError.self) { _ = try await iterator.next() }
        #expect(error?.code == .cancelled)
    }

    @Test func cancellingTheTaskCancelsTheRequest() async throws {
        let client = try fault()
        for command in ["stall/after-headers", "stall/before", "lines"] {
            let isReading = Signal()
            let task = Task { () -> APIError? in
                do {
                    if command == "lines" {
                        for try await _ in client.lines(command, args: [.url("hold", 1)]) { isReading.set() }
                    } else {
                        isReading.set()
                        for try await _ in try await client.stream(command) {}
                    }
                    return nil
                } catch {
                    return error as? APIError
                }
            }
            await isReading.wait()
            task.cancel()
            #expect(await task.value?.code == .cancelled)
        }
        #expect(await onThread { client.drain(timeout: patience) } == 0)
    }

    /// The second of two tasks gets an error, and the first one continues.
    @Test func oneTaskReadsAStream() async throws {
        let stream = try await fault().stream("stall/after-headers")
        await withTaskGroup(of: ErrorCode?.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    var iterator = stream.makeAsyncIterator()
                    do throws(APIError) {
                        _ = try await iterator.next()
                        return nil
                    } catch {
                        return error.code
                    }
                }
            }
            #expect(await group.next() == .invalidRequest)
            #expect(stream.request.state == .running)
            stream.cancel()
            #expect(await group.next() == .cancelled)
        }
    }

    // MARK: JSON lines

    @Test func linesAreReadHoweverTheyAreCut() async throws {
        let client = try fault()
        for at in 0...60 {
            let values = try await all(client.lines("split/lines", args: [.url("at", at)]))
            #expect(values == Self.sampleLines, "cut at \(at)")
        }
        #expect(try await all(client.lines("split/lines", args: [.url("each", 1)])) == Self.sampleLines)
    }

    @Test func aBadLineIsNamedAfterThoseBefore() async throws {
        var values: [JSON] = []
        var problem: APIError?
        do {
            for try await value in try fault().lines("lines", args: [.url("bad", 3), .url("hold", 1)]) {
                values.append(value)
            }
        } catch {
            problem = error as? APIError
        }
        #expect(values == [["n": 1], ["n": 2]])
        #expect(problem?.code == .invalidJSON && problem?.message.containsSubstring("line 3") == true)
        #expect(problem?.httpStatus == 200)
    }

    @Test func aLineThatIsCutOffIsNone() async throws {
        var values: [JSON] = []
        var problem: APIError?
        do {
            for try await value in try fault().lines("lines", args: [.url("count", 3), .url("end", "mid")]) {
                values.append(value)
            }
        } catch {
            problem = error as? APIError
        }
        #expect(values == [["n": 1], ["n": 2]] && problem?.code == .network)
    }

    @Test func aLineIsBounded() async throws {
        let client = try fault()
        let limit = APIArg.option(.maximumResponseSize, "100")
        // The whole stream may have any length.
        #expect(try await all(client.lines("lines", args: [.url("count", 1000), limit])).count == 1000)
        let error = await #expect(throws: APIError.self) {
            for try await _ in client.lines("endless", args: [limit]) {}
        }
        #expect(error?.code == .responseTooLarge && error?.message.containsSubstring("line 1") == true)
        #expect(await onThread { client.drain(timeout: patience) } == 0)
    }

    /// It is kept in memory, for the response.
    @Test(arguments: [true, false]) func theBodyOfAnErrorIsBounded(isOfEvents: Bool) async throws {
        let client = try fault()
        let args: [APIArg] = [.url("status", 404), .option(.maximumResponseSize, 100_000)]
        let error = await #expect(throws: APIError.self) {
            if isOfEvents {
                for try await _ in client.events("flood", args: args) {}
            } else {
                for try await _ in client.lines("flood", args: args) {}
            }
        }
        #expect(error?.code == .responseTooLarge)
        #expect(await onThread { client.drain(timeout: patience) } == 0)
    }

    @Test func manyLinesArriveInOrder() async throws {
        let values = try await all(fault().lines("lines", args: [.url("count", 20_000)]))
        #expect(values.map { $0["n"]?.int } == (1...20_000).map { $0 })
    }

    @Test func eachIterationIsARequestOfItsOwn() async throws {
        let token = token()
        let lines = try fault().lines("split/lines", args: [.url("token", token)])
        #expect(try await all(lines).count == 5)
        #expect(try await all(lines).isEmpty)
    }

    @Test func aHandlerHearsOfLinesOnItsThread() async throws {
        let told = Log<JSON>()
        let request = try fault().request("split/lines", args: [.url("each", 1), .responseThread(.background)])
        request.setJSONLinesHandler { told.append($0) }
        let responses = Log<APIResponse>()
        request.setHandler { responses.append($0) }
        request.resume()
        let response = await responses.first(1).first
        #expect(told.all == Self.sampleLines && response?.error == nil && response?.status == 200)
    }

    @Test func nothingIsToldAfterACancelInAHandler() async throws {
        let told = Log<JSON>()
        let request = try fault().request("lines", args: [.url("count", 1000), .responseThread(.background)])
        request.setJSONLinesHandler { value in
            told.append(value)
            if told.count == 3 { request.cancel() }
        }
        let responses = Log<APIResponse>()
        request.setHandler { responses.append($0) }
        request.resume()
        #expect(await responses.first(1).first?.error?.code == .cancelled)
        #expect(told.count == 3)
    }

    /// The race: a reader begins to wait while a piece with several lines arrives. It must not skip a line.
    @Test func nothingIsPassedOverWhenReaderAndNetworkMeet() async throws {
        let server = try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            for number in stride(from: 0, to: 6000, by: 3) {
                connection.send("\(number)\n\(number + 1)\n\(number + 2)\n")
                sched_yield()
            }
        }
        let client = try fault()
        await withTaskGroup(of: [Int]?.self) { group in
            for _ in 0..<8 {
                group.addTask { try? await all(client.lines(args: [.baseURL(server.url)])).map { $0.int ?? -1 } }
            }
            for await numbers in group { #expect(numbers == Array(0..<6000)) }
        }
    }

    // MARK: Server-sent events

    @Test func eventsAreReadHoweverTheyAreCut() async throws {
        let client = try fault()
        for at in stride(from: 0, through: 130, by: 1) {
            let events = try await all(client.events("split/events", args: [.url("at", at), .url("token", token())]))
            #expect(events == Self.sampleEvents, "cut at \(at)")
        }
        let events = try await all(client.events("split/events", args: [.url("each", 1), .url("token", token())]))
        #expect(events == Self.sampleEvents)
    }

    @Test(arguments: ["close", "reset", "mid"]) func aStreamGoesOnWhereItsConnectionEnded(_ end: String) async throws {
        let token = token()
        let events = try await all(fault().events("events", args: [.url("token", token), .url("end", end)]))
        #expect(events.map { $0.json?["n"]?.int } == (1...9).map { $0 })
        #expect(events.map(\.lastEventID) == (1...9).map { "\($0)" })
        let requests = try await seen(token)
        #expect(requests.map { $0["header"]?["last-event-id"]?.string } == [nil, "3", "6", "9"])
        #expect(requests.allSatisfy { $0["header"]?["accept"]?.string == "text/event-stream" })
        #expect(requests.allSatisfy { $0["header"]?["cache-control"]?.string == "no-store" })
    }

    @Test func theServersTroublesPass() async throws {
        let token = token()
        let args: [APIArg] = [.url("token", token), .url("fails", 1), .url("retry", 1), .header("Last-Event-ID", "6")]
        let client = try fault()
        let begun = MonotonicTime.now()
        let events = try await all(client.events("events", args: args))
        #expect(events.map(\.lastEventID) == ["7", "8", "9"])
        // The server has not said how long to wait before the second connection.
        #expect(MonotonicTime.now().seconds(since: begun) >= 3)
        #expect(client.lines.all.contains { $0.level == .warn && $0.message.containsSubstring("connects again in") })
        #expect(try await seen(token).map { $0["header"]?["last-event-id"]?.string } == ["6", "6", "9"])
    }

    @Test func someAnswersEndIt() async throws {
        let client = try fault()
        for (args, code, message) in [
            ([.url("fails", 9), .url("status", 404)], ErrorCode.httpError, "404"),
            ([.url("type", "text/html")], .httpError, "text/html"),
            ([.url("fails", 9), .option(.maximumFailures, "1")], .httpError, "503"),
        ] as [([APIArg], ErrorCode, String)] {
            let error = await #expect(throws: APIError.self) {
                for try await _ in client.events("events", args: args + [.url("token", self.token())]) {}
            }
            #expect(
                error?.code == code && error?.message.containsSubstring(message) == true, "\(String(describing: error))"
            )
        }
        let refused = await #expect(throws: APIError.self) {
            for try await _ in TestClient(at: "http://127.0.0.1:1").events(args: [.option(.maximumFailures, "1")]) {}
        }
        #expect(refused?.code == .network)
        let unclear = await #expect(throws: APIError.self) {
            for try await _ in client.events("events", args: [.option(.reconnect, "perhaps")]) {}
        }
        #expect(unclear?.code == .invalidRequest)
    }

    @Test func whatAPOSTBeganIsNotGoneOnWith() async throws {
        let token = token()
        let args: [APIArg] = [.url("token", token), .json(["prompt": "x"])]
        #expect(try await all(fault().events("events", args: args)).count == 3)
        #expect(try await seen(token).count == 1)
        #expect(try await all(fault().events("events", args: args + [.option(.reconnect)])).count == 9)
        #expect(try await seen(token).map { $0["method"]?.string } == ["POST", "POST", "POST", "POST", "POST"])
        let torn = await #expect(throws: APIError.self) {
            for try await _ in try self.fault().events("events", args: args + [.url("end", "mid")]) {}
        }
        #expect(torn?.code == .network)
    }

    @Test func aPauseEndsWithACancel() async throws {
        let client = try fault()
        let token = token()
        let args: [APIArg] = [.url("token", token), .url("retry", 3_600_000)]
        let third = Signal()
        let task = Task {
            for try await event in client.events("events", args: args) where event.lastEventID == "3" { third.set() }
        }
        await third.wait()
        // Wait until the server has recorded the request: the connection has ended, or will very soon.
        try await wait { try await !seen(token).isEmpty }
        task.cancel()
        let outcome = await task.result
        #expect(throws: APIError.self) { try outcome.get() }
        #expect(await onThread { client.drain(timeout: patience) } == 0)
        #expect(try await seen(token).count == 1)
    }

    @Test func theTotalTimeoutBoundsAllConnections() async throws {
        let client = try fault()
        let error = await #expect(throws: APIError.self) {
            let args: [APIArg] = [.url("token", self.token()), .url("retry", 3_600_000), .timeout(20, .total)]
            for try await _ in client.events("events", args: args) {}
        }
        #expect(error?.code == .timeout && error?.message.containsSubstring("total timeout") == true)
    }

    @Test func aHandlerHearsOfEventsOverAllConnections() async throws {
        let told = Log<ServerSentEvent>()
        let request = try fault().request("events", args: [.url("token", token()), .responseThread(.background)])
        request.setServerEventHandler { told.append($0) }
        let responses = Log<APIResponse>()
        request.setHandler { responses.append($0) }
        request.resume()
        let response = await responses.first(1).first
        #expect(told.all.map(\.lastEventID) == (1...9).map { "\($0)" })
        #expect(response?.error == nil && response?.status == 204 && response?.metrics.retries == 3)
    }

    @Test func aSuspendedStreamGoesOnWhenItIsResumed() async throws {
        let told = Log<ServerSentEvent>()
        let args: [APIArg] = [.url("token", token()), .url("pause", 20), .responseThread(.background)]
        let request = try fault().request("events", args: args)
        request.setServerEventHandler { event in
            told.append(event)
            if told.count == 2 { request.suspend() }
        }
        let responses = Log<APIResponse>()
        request.setHandler { responses.append($0) }
        request.resume()
        _ = await told.first(2)
        _ = try await TestClient.of("weather").send("slow", args: [.url("seconds", 0.4)])
        #expect(told.count <= 3 && responses.count == 0)
        request.resume()
        _ = await responses.first(1)
        #expect(told.count == 9)
    }

    @Test func manyStreamsAtOnceAreCancelledAtAnyMoment() async throws {
        let client = try fault()
        var random = SeededGenerator(SeededGenerator.ofThisRun)
        let limits = (0..<60).map { _ in Int.random(in: 0...11, using: &random) }
        await withTaskGroup(of: Void.self) { group in
            for (number, limit) in limits.enumerated() {
                let end = ["close", "reset", "mid"][number % 3]
                group.addTask {
                    let args: [APIArg] = [.url("token", "many\(number)\(limit)"), .url("end", end), .url("per", 1)]
                    var count = 0
                    do {
                        for try await _ in client.events("events", args: args) {
                            count += 1
                            if count >= limit { break }
                        }
                    } catch {
                        Issue.record("\(error)")
                    }
                    #expect(count == max(1, min(limit, 9)))
                }
            }
        }
        #expect(await onThread { client.drain(timeout: patience) } == 0)
    }
}
