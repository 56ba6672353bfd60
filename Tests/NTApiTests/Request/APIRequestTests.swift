import Testing

@testable import NTApi

@Suite struct APIRequestTests {
    @Test func aSuspendedRequest() async throws {
        let client = try TestClient.of("fault")
        let statuses = Log<Int>()
        let request = client.request("ok", args: [.responseThread(.background), .option("mine", 5)])
        #expect(request.state == .suspended && !request.isRunning && request.response == nil)
        #expect(request.command == "ok" && request.client === client && request.options["mine"] == "5")
        #expect(request.httpRequest?.method == "GET" && request.curlCommand?.hasASCIIPrefix("curl ") == true)
        #expect(request.setHandler { statuses.append($0.status) })
        #expect(request.resume() && !request.resume())
        #expect(!request.setHandler(nil) && !request.setUploadProgress(nil) && !request.setDownloadProgress(nil))
        #expect(await statuses.first(1) == [200])
        _ = await onThread { request.wait() }
        #expect(request.state == .completed && !request.isRunning && request.response?.status == 200)
        #expect(!request.cancel() && request.state == .completed && statuses.count == 1)
    }

    @Test func identifiersAreTheClientsOwn() {
        let (one, other) = (TestClient(at: "http://h"), TestClient(at: "http://h"))
        #expect((0..<3).map { _ in one.request().identifier } == [1, 2, 3] && other.request("{").identifier == 1)
    }

    @Test func descriptionAndPriority() {
        let request = TestClient(at: "http://h").request()
        #expect(request.taskDescription == nil && request.priority == 0.5)
        request.taskDescription = "mine"
        #expect(request.taskDescription == "mine")
        for (given, kept) in [(0.7, 0.7), (-1, 0), (7, 1), (.nan, 0.5), (.infinity, 1)] as [(Double, Double)] {
            request.priority = given
            #expect(request.priority == kept)
        }
    }

    @Test func cancelledBeforeItWasResumed() async throws {
        let client = try TestClient.of("fault")
        let errors = Log<APIError?>()
        let request = client.request("ok", args: [.responseThread(.background)])
        request.setHandler { errors.append($0.error) }
        #expect(request.cancel() && !request.cancel() && !request.resume())
        #expect(await errors.first(1) == [.cancelled])
        #expect(await onThread { request.wait(timeout: patience) } == .completed)
        #expect(request.state == .cancelled && errors.count == 1)
    }

    @Test func aSuspendedRequestThatIsDroppedTellsNothing() throws {
        weak var weakClient: TestClient?
        let log = Log<Int>()
        do {
            let client = TestClient(at: "http://127.0.0.1:1")
            weakClient = client
            let request = client.request("x")
            request.setHandler { _ in log.append(1) }
        }
        #expect(weakClient == nil && log.count == 0)
    }

    /// A running request keeps its client alive, and releases it when it ends.
    @Test func aRunningRequestKeepsItsClient() async throws {
        /// Records its release.
        final class Owned: Sendable {
            let gone: Signal
            init(_ gone: Signal) { self.gone = gone }
            deinit { gone.set() }
        }
        final class OwningClient: TestClient, @unchecked Sendable {
            // Safe to share: set before the client is.
            var owned: Owned?
        }
        let (clientIsGone, handlerIsGone) = (Signal(), Signal())
        let statuses = Log<Int>()
        do {
            let client = try OwningClient.of("fault")
            client.owned = Owned(clientIsGone)
            let owned = Owned(handlerIsGone)
            client.begin("late", args: [.url("ms", 100), .responseThread(.background)]) { response in
                withExtendedLifetime(owned) { statuses.append(response.status) }
            }
        }
        #expect(await statuses.first(1) == [200])
        await clientIsGone.wait()
        await handlerIsGone.wait()
    }

    // MARK: The response

    @Test func responseFields() async throws {
        let client = try TestClient.of("fault")
        let response = await client.response(
            "headers",
            args: [.url("X-Twice", "1"), .url("x-twice", "2"), .url("Set-Cookie", "a=1"), .url("Set-Cookie", "b=2")])
        #expect(response.status == 200 && response.error == nil && response.text == #"{"ok":true}"#)
        #expect(response.headers.all("X-TWICE") == ["1", "2"] && response.headers["x-Twice"] == "1, 2")
        #expect(response.headers.all("set-cookie") == ["a=1", "b=2"] && response.headers["Set-Cookie"] == "a=1")
        #expect(Array(response.data) == Array(response.text.utf8) && response.data.withUnsafeBytes(\.count) == 11)
        #expect(response.startTime > 1.7e9 && response.endTime >= response.startTime)
        #expect(response.elapsed >= 0 && response.elapsed < patience && response.request.identifier == 1)
        #expect(try response.get().status == 200)
    }

    @Test func metrics() async throws {
        let client = try TestClient.of("fault")
        let base = try TestServers.url("fault")
        let first = await client.response("chain/2")
        #expect(
            first.url.hasASCIIPrefix("\(base)/chain/0") && first.metrics.redirects == 2 && first.metrics.retries == 0)
        #expect(first.metrics.httpVersion == 1.1 && first.metrics.bytesReceived == Int64(first.data.count))
        #expect(first.metrics.total > 0 && first.metrics.firstByte > 0 && first.metrics.tls == 0)
        #expect(!first.metrics.fromCache)
        let upload = await client.response("echo", args: [.data([UInt8](repeating: 1, count: 1000))])
        #expect(upload.metrics.bytesSent == 1000)
        let secure = await (try TestClient.of("fault_tls")).response("ok")
        #expect(secure.error == nil && (secure.metrics.connectionReused || secure.metrics.tls > 0))
        #expect(secure.metrics.tls >= secure.metrics.connect || secure.metrics.connectionReused)
    }

    @Test func noAnswer() async throws {
        let response = await TestClient(at: "http://127.0.0.1:1/x").response()
        #expect(response.status == 0 && response.headers.isEmpty && response.data.isEmpty && response.text == "")
        #expect(response.error?.domain == .network && response.url == "http://127.0.0.1:1/x" && response.json == nil)
    }

    @Test func prefixTextAndRawData() async throws {
        let client = try TestClient.of("weather")
        let response = try await client.send("php")
        #expect(response.prefixText?.hasASCIIPrefix("<br />") == true && response.json?["city"]?.string == "Zürich")
        let raw = try await client.send("php", args: [.option(.rawData)])
        #expect(raw.json == nil && raw.prefixText == nil && raw.data.count == response.data.count)
    }

    // MARK: The client's end

    @Test func aClosedClientRefusesAndCancels() async throws {
        let client = try TestClient.of("fault")
        let errors = Log<APIError?>()
        for _ in 0..<5 {
            client.begin("hold", args: [.responseThread(.background)]) { errors.append($0.error) }
        }
        #expect(!client.isClosed)
        client.close()
        client.close()
        #expect(client.isClosed)
        #expect(await errors.first(5) == [APIError?](repeating: .cancelled, count: 5))
        let refused = await client.response("ok")
        #expect(refused.error?.code == .invalidRequest && refused.error?.message.containsSubstring("closed") == true)
        #expect(await onThread { client.drain(timeout: patience) } == 0)
    }

    @Test func cancelAllLeavesTheClientOpen() async throws {
        let client = try TestClient.of("fault")
        let errors = Log<APIError?>()
        client.begin("hold", args: [.responseThread(.background)]) { errors.append($0.error) }
        client.cancelAll()
        #expect(await errors.first(1) == [.cancelled])
        #expect(try await client.send("ok").status == 200)
    }

    @Test func cancelAllCancelsWhatIsNotResumedYet() async throws {
        let client = try TestClient.of("fault")
        let before = client.request("ok", args: [.responseThread(.background)])
        client.cancelAll()
        let after = client.request("ok", args: [.responseThread(.background)])
        for request in [before, after] { #expect(request.resume()) }
        #expect(await onThread { client.drain(timeout: patience) } == 0)
        #expect(before.response?.error == .cancelled && after.response?.status == 200)
    }

    @Test func drainSaysWhatIsLeft() async throws {
        let client = try TestClient.of("fault")
        for _ in 0..<3 { client.begin("hold", args: [.responseThread(.background)]) }
        #expect(await onThread { client.drain(timeout: 0.05) } == 3)
        client.cancelAll()
        #expect(await onThread { client.drain(timeout: patience) } == 0)
    }
}
