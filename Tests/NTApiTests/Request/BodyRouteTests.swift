import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Bodies that go to a handler or a file, and requests that are suspended meanwhile.
@Suite struct BodyRouteTests {
    /// Begins a request and waits for its response.
    private func run(
        _ client: TestClient, _ command: String, _ args: [APIArg], _ configure: (APIRequest) -> Void = { _ in }
    ) async throws -> APIResponse {
        let request = client.request(command, args: args + [.responseThread(.background)])
        let responses = Log<APIResponse>()
        configure(request)
        request.setHandler { responses.append($0) }
        request.resume()
        return try await responses.element(0)
    }

    private func temporaryFolder() throws -> String {
        var template = Array("\(try TestServers.url("tmp"))/download.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestServers.Failure(message: "no folder") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A file to which the pieces are written. `cmp` compares the megabytes later, which is faster than this debug
    /// build.
    private final class Sink: Sendable {
        private let path: String
        private let descriptor: Int32
        let sizes = Log<Int>()

        init(in folder: String) {
            path = "\(folder)/pieces"
            descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }

        deinit { close(descriptor) }

        func append(_ piece: ResponseData) {
            piece.withUnsafeBytes { _ = write(descriptor, $0.baseAddress, $0.count) }
            sizes.append(piece.count)
        }

        func isSame(as file: String) throws -> Bool {
            shell("cmp '\(try TestServers.url("nginx_root"))/\(file)' '\(path)' && echo same") == Array("same\n".utf8)
        }
    }

    /// Waits this many seconds, by a request to a server that answers after them.
    private func pass(_ seconds: Double) async throws {
        _ = try await TestClient.of("weather").send("slow", args: [.url("seconds", seconds)])
    }

    /// The value, once it no longer changes.
    private func settled<Value: Equatable>(_ value: () -> Value) async throws -> Value {
        var (before, now) = (value(), value())
        repeat {
            before = now
            try await pass(0.3)
            now = value()
        } while now != before
        return now
    }

    private func entries(of folder: String) -> [String] {
        shell("ls -A '\(folder)'").split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Data handler

    @Test func aBodyGoesToItsHandlerInOrder() async throws {
        let pieces = Sink(in: try temporaryFolder())
        let response = try await run(.of("nginx"), "pattern-8M.bin", []) { $0.setDataHandler { pieces.append($0) } }
        #expect(response.error == nil && response.status == 200 && response.data.isEmpty)
        #expect(pieces.sizes.all.allSatisfy { (1...320 * 1024).contains($0) })
        #expect(try pieces.isSame(as: "pattern-8M.bin"))
        #expect(response.metrics.bytesDecoded == 8 << 20)
        #expect(response.request.receivedStatus == 200)
        #expect(response.request.receivedHeaders["content-length"] == "\(8 << 20)")
    }

    @Test func aBodyThatIsCompressedArrivesDecompressed() async throws {
        let pieces = Sink(in: try temporaryFolder())
        let response = try await run(.of("nginx"), "gzip/big-100k.json", []) {
            $0.setDataHandler { pieces.append($0) }
        }
        #expect(response.error == nil)
        #expect(try pieces.isSame(as: "big-100k.json"))
        #expect(response.metrics.bytesReceived < response.metrics.bytesDecoded)
        #expect(response.request.bytesDecoded == 100 * 1024)
    }

    @Test func progressIsInWireAndInDecodedBytes() async throws {
        let told = Log<(wire: Int64, decoded: Int64)>()
        let response = try await run(
            try .of("fault"), "gzip-bomb", [.url("mib", 8), .option(.rawData), .downloadProgressThread(.background)]
        ) { request in
            request.setDownloadProgress { told.append(($0.bytes, request.bytesDecoded)) }
        }
        #expect(response.error == nil && response.request.bytesDecoded == 8 << 20)
        #expect(told.all.last.map { $0.wire < 100_000 && $0.decoded == 8 << 20 } == true)
        #expect(zip(told.all, told.all.dropFirst()).allSatisfy { $0.decoded <= $1.decoded })
    }

    /// Without a handler, the client's hook may read the body.
    @Test func theCountsOfADownloadMoveWithoutAProgressHandler() async throws {
        let client = try TestClient.of("fault")
        let folder = try temporaryFolder()
        let request = client.request(
            "drip",
            args: [
                .url("size", 100_000_000), .url("bytes", 1000), .download(to: "\(folder)/a.bin"),
                .responseThread(.background),
            ])
        let responses = Log<APIResponse>()
        request.setHandler { responses.append($0) }
        request.resume()
        while request.bytesReceived.bytes == 0 { try await pass(0.05) }
        #expect(request.bytesReceived.total == 100_000_000 && request.bytesDecoded > 0 && responses.count == 0)
        request.cancel()
        _ = await responses.first(1)
    }

    @Test func theBodyOfAnErrorIsInTheResponse() async throws {
        let pieces = Log<[UInt8]>()
        let response = try await run(.of("nginx"), "404", []) { $0.setDataHandler { pieces.append(Array($0)) } }
        #expect(response.error?.code == .httpError && !response.data.isEmpty && pieces.count == 0)
    }

    @Test func aRedirectIsFollowedBeforeTheBodyIsHandledOn() async throws {
        let pieces = Log<[UInt8]>()
        let response = try await run(.of("httpbin"), "redirect-to", [.url("url", "/bytes/5000"), .option(.rawData)]) {
            $0.setDataHandler { pieces.append(Array($0)) }
        }
        #expect(response.error == nil && pieces.all.joined().count == 5000 && response.metrics.redirects == 1)
    }

    /// A slow handler stops the network: the server can send no more than the buffers between can hold.
    @Test func aHandlerThatIsBehindHoldsUpTheNetwork() async throws {
        let release = Signal()
        let told = Log<Int>()
        let first = Signal()
        let client = try TestClient.of("nginx")
        let request = client.request("256M.bin", args: [.responseThread(.background), .timeout(idleTimeout)])
        request.setDataHandler { piece in
            told.append(piece.count)
            first.set()
            release.block()
        }
        let responses = Log<APIResponse>()
        request.setHandler { responses.append($0) }
        request.resume()
        await first.wait()
        // The server is not to blame for a slow handler, so there is no idle timeout.
        try await pass(longerThanIdle)
        #expect(told.count == 1 && responses.count == 0)
        request.cancel()
        release.set()
        let response = try await responses.element(0)
        #expect(response.error?.code == .cancelled)
        #expect(response.metrics.bytesReceived < 2 << 20)
    }

    @Test func whatCameBeforeABreakIsTold() async throws {
        let pieces = Log<[UInt8]>()
        let response = try await run(.of("fault"), "close/in-body", [.option(.rawData)]) {
            $0.setDataHandler { pieces.append(Array($0)) }
        }
        #expect(response.error?.domain == .network && response.error?.code == .network)
        #expect(!pieces.all.isEmpty)
    }

    @Test func noPieceComesAfterACancelOrTheResponse() async throws {
        let client = try TestClient.of("nginx")
        for _ in 0..<20 {
            let order = Log<String>()
            let request = client.request("pattern-8M.bin", args: [.responseThread(.background)])
            request.setDataHandler { _ in
                request.cancel()
                order.append("piece")
            }
            let responses = Log<APIResponse>()
            request.setHandler {
                order.append("response")
                responses.append($0)
            }
            request.resume()
            let response = try await responses.element(0)
            #expect(order.all.last == "response" && order.all.count == 2)
            #expect(response.error?.code == .cancelled)
        }
        #expect(await client.drain(timeout: patience) == 0)
    }

    @Test func aResponseThatIsTooLargeEndsTheStream() async throws {
        let pieces = Log<Int>()
        let response = try await run(.of("nginx"), "pattern-8M.bin", [.option(.maximumResponseSize, 1_000_000)]) {
            $0.setDataHandler { pieces.append($0.count) }
        }
        #expect(response.error?.code == .responseTooLarge && pieces.all.reduce(0, +) <= 1_000_000)
    }

    // MARK: Suspend

    @Test func aSuspendedRequestMovesNoByteAndGoesOn() async throws {
        // nginx is not used here: after a pause, its rate limit holds back data for seconds.
        let client = try TestClient.of("fault")
        let request = client.request(
            "drip",
            args: [
                .url("size", 4_000_000), .url("bytes", 20_000), .url("ms", 10), .responseThread(.background),
                .timeout(idleTimeout),
            ])
        let (pieces, moved, responses) = (Sink(in: try temporaryFolder()), Signal(), Log<APIResponse>())
        request.setDataHandler {
            pieces.append($0)
            guard pieces.sizes.count == 1 else { return }
            #expect(request.suspend() && request.state == .suspended && request.isRunning)
            #expect(!request.suspend())
            moved.set()
        }
        request.setHandler { responses.append($0) }
        #expect(!request.suspend(), "the request does not run yet")
        request.resume()
        await moved.wait()
        // Once the suspension has taken effect, no byte moves.
        let before = try await settled { pieces.sizes.count }
        try await pass(longerThanIdle)
        #expect(pieces.sizes.count == before && responses.count == 0)
        #expect(request.resume() && request.state == .running)
        #expect(!request.resume())
        let response = try await responses.element(0)
        #expect(response.error == nil)
        #expect(pieces.sizes.all.reduce(0, +) == 4_000_000)
        #expect(!request.suspend() && !request.resume())
    }

    @Test func anUploadIsSuspendedToo() async throws {
        let client = try TestClient.of("weather")
        let bytes = [UInt8](repeating: 5, count: 8_000_000)
        let request = client.request(
            "upload",
            args: [.data(bytes), .url("rate", 4_000_000), .handlers(.all, on: .background), .timeout(idleTimeout)])
        let (told, suspended, responses) = (Log<Int64>(), Signal(), Log<APIResponse>())
        request.setUploadProgress {
            told.append($0.bytes)
            if $0.bytes > 300_000, !suspended.isSet, request.suspend() { suspended.set() }
        }
        request.setHandler { responses.append($0) }
        request.resume()
        await suspended.wait()
        let before = try await settled { told.all.last }
        try await pass(longerThanIdle)
        #expect(told.all.last == before && responses.count == 0)
        #expect(request.resume())
        let response = try await responses.element(0)
        #expect(response.error == nil && response.json?["size"]?.int == 8_000_000)
    }

    @Test func aSuspendedRequestIsCancelled() async throws {
        let client = try TestClient.of("nginx")
        let request = client.request("slow/256M.bin", args: [.responseThread(.background)])
        let (moved, responses) = (Signal(), Log<APIResponse>())
        request.setDataHandler { _ in moved.set() }
        request.setHandler { responses.append($0) }
        request.resume()
        await moved.wait()
        request.suspend()
        #expect(request.cancel())
        let response = try await responses.element(0)
        #expect(response.error?.code == .cancelled && request.state == .cancelled)
    }

    /// A suspended request gives up its place in the server's queue, and gets a new one later.
    @Test func aQueuedRequestIsSuspended() async throws {
        // The client has its own limit: a request that waits for a lower limit blocks those behind it.
        var configuration = SessionConfiguration.ephemeral
        configuration.maximumConnectionsPerHost = 1
        let client = APIClient(baseURL: try TestServers.url("nginx"), configuration: configuration)
        client.defaults["proxy"] = ""
        let (moved, responses) = (Signal(), Log<APIResponse>())
        let first = client.request("slow/256M.bin", args: [.responseThread(.background)])
        first.setDataHandler { _ in moved.set() }
        first.setHandler { _ in }
        first.resume()
        await moved.wait()
        let second = client.begin("small.json", args: [.responseThread(.background)]) { responses.append($0) }
        #expect(second.suspend())
        let third = client.begin("small.json", args: [.responseThread(.background)]) { responses.append($0) }
        first.cancel()
        let one = try await responses.element(0)
        #expect(one.request === third && one.error == nil)
        second.resume()
        let other = try await responses.element(1)
        #expect(other.request === second && other.error == nil)
    }

    // MARK: Download

    @Test func aDownloadIsTheFileAndNothingElse() async throws {
        let folder = try temporaryFolder()
        let told = Log<TransferProgress>()
        let response = try await run(
            try .of("nginx"), "pattern-8M.bin",
            [.download(to: "\(folder)/a.bin"), .downloadProgressThread(.background)]
        ) { $0.setDownloadProgress { told.append($0) } }
        #expect(response.error == nil && response.file == "\(folder)/a.bin" && response.data.isEmpty)
        #expect(entries(of: folder) == ["a.bin"])
        let root = try TestServers.url("nginx_root")
        #expect(shell("cmp '\(root)/pattern-8M.bin' '\(folder)/a.bin' && echo same") == Array("same\n".utf8))
        #expect(told.all.last == TransferProgress(bytes: 8 << 20, total: 8 << 20))
    }

    @Test func aDownloadReplacesTheFileOnlyWhenItIsWhole() async throws {
        let folder = try temporaryFolder()
        _ = shell("echo old > '\(folder)/a.bin'")
        let broken = try await run(.of("fault"), "close/in-body", [.download(to: "\(folder)/a.bin")])
        #expect(broken.error?.domain == .network && broken.file == nil)
        #expect(shell("cat '\(folder)/a.bin'") == Array("old\n".utf8))
        let missing = try await run(.of("nginx"), "404", [.download(to: "\(folder)/a.bin")])
        #expect(missing.error?.code == .httpError && !missing.data.isEmpty && missing.file == nil)
        #expect(shell("cat '\(folder)/a.bin'") == Array("old\n".utf8) && entries(of: folder) == ["a.bin"])
        let whole = try await run(.of("nginx"), "small.json", [.download(to: "\(folder)/a.bin")])
        #expect(whole.error == nil && whole.json == nil)
        #expect(shell("cat '\(folder)/a.bin'") == shell("cat '\(try TestServers.url("nginx_root"))/small.json'"))
        #expect(entries(of: folder) == ["a.bin"])
    }

    @Test func anEmptyBodyIsAnEmptyFile() async throws {
        let folder = try temporaryFolder()
        let response = try await run(.of("httpbin"), "bytes/0", [.download(to: "\(folder)/empty")])
        #expect(
            response.error == nil && response.file != nil && shell("wc -c < '\(folder)/empty'") == Array("0\n".utf8))
    }

    @Test func aDownloadAsksForNoEncodingAndDecodesOneAllTheSame() async throws {
        let folder = try temporaryFolder()
        let asked = try await run(.of("httpbin"), "headers", [.download(to: "\(folder)/headers")])
        #expect(asked.error == nil)
        let headers = try JSON(parsing: String(decoding: shell("cat '\(folder)/headers'"), as: UTF8.self))
        #expect(headers[path: "headers.Accept-Encoding"]?.string == "identity")
        let encoded = try await run(.of("httpbin"), "gzip", [.download(to: "\(folder)/gzip")])
        #expect(encoded.error == nil)
        #expect(
            try JSON(parsing: String(decoding: shell("cat '\(folder)/gzip'"), as: UTF8.self))["gzipped"]?.bool == true)
    }

    @Test func badDestinationsAreNamed() async throws {
        let folder = try temporaryFolder()
        let client = try TestClient.of("nginx")
        for (path, reason) in [
            ("\(folder)/no/such", "no such folder"), (folder, "not a regular file"),
            ("\(folder)/", "does not name a file"),
            ("a\0b", "NUL"), ("", "does not name a file"),
        ] {
            let response = try await run(client, "small.json", [.download(to: path)])
            #expect(
                response.error?.code == .invalidRequest && response.error?.message.contains(reason) == true, "\(path)")
        }
        let full = try await run(client, "small.json", [.download(to: "/dev/full")])
        #expect(full.error?.code == .invalidRequest)
    }

    @Test func aCancelledDownloadLeavesWhatItCanGoOnFrom() async throws {
        let folder = try temporaryFolder()
        let client = try TestClient.of("nginx")
        let request = client.request(
            "slow/256M.bin",
            args: [.download(to: "\(folder)/a.bin"), .handlers(.all, on: .background)])
        let (moved, responses) = (Signal(), Log<APIResponse>())
        request.setDownloadProgress { if $0.bytes > 0 { moved.set() } }
        request.setHandler { responses.append($0) }
        request.resume()
        await moved.wait()
        #expect(entries(of: folder).count == 1)
        request.cancel()
        let response = try await responses.element(0)
        #expect(response.error?.code == .cancelled && response.file == nil)
        #expect(entries(of: folder).count == 1 && entries(of: folder)[0].hasSuffix(".part"))
        response.resumeData?.discard()
        #expect(entries(of: folder).isEmpty)
    }

    /// A waiting caller runs the transfer of its download itself.
    @Test func performDownloads() async throws {
        let folder = try temporaryFolder()
        let client = try TestClient.of("nginx")
        let response = await onThread { client.perform("pattern-8M.bin", args: [.download(to: "\(folder)/a.bin")]) }
        #expect(response.error == nil, "\(response.metrics)")
        #expect(entries(of: folder) == ["a.bin"])
    }
}
