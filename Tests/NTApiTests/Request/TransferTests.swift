import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Progress, uploads from every source, and bodies that are sent twice.
@Suite struct TransferTests {
    private func isRising(_ told: [TransferProgress]) -> Bool {
        zip(told, told.dropFirst()).allSatisfy { $0.bytes < $1.bytes || ($0.bytes == $1.bytes && $0.total != $1.total) }
    }

    @Test func downloadProgress() async throws {
        let client = try TestClient.of("weather")
        let told = Log<TransferProgress>()
        let response = try await client.send(
            "download", args: [.url("size", 400_000), .url("rate", 2_000_000), .option(.rawData)],
            downloadProgress: { told.append($0) })
        let all = told.all
        #expect(all.first == TransferProgress(bytes: 0, total: 400_000))
        #expect(all.last == TransferProgress(bytes: 400_000, total: 400_000))
        #expect(isRising(all) && all.allSatisfy { $0.total == 400_000 })
        #expect(response.request.bytesReceived == all.last && response.data.count == 400_000)
        #expect(all.last?.fraction == 1 && TransferProgress(bytes: 1, total: nil).fraction == nil)
    }

    @Test func uploadProgress() async throws {
        let client = try TestClient.of("weather")
        let told = Log<TransferProgress>()
        let bytes = [UInt8](repeating: 7, count: 3_000_000)
        let response = try await client.send(
            "photo", args: [.multipart("photo", data: bytes, fileExtension: "png"), .url("rate", 20_000_000)],
            uploadProgress: { told.append($0) })
        let (all, total) = (told.all, told.all.last?.total ?? 0)
        #expect(all.first?.bytes == 0 && all.last?.bytes == total && total > 3_000_000 && isRising(all))
        #expect(response.json?[path: "parts[0].filename"]?.string == "photo.png")
        #expect(response.json?[path: "parts[0].size"]?.int == 3_000_000 && response.json?["size"]?.int64 == total)
        #expect(response.request.bytesSent == all.last)
    }

    @Test func aBodyOfUnknownLengthEndsAtItsTotal() async throws {
        let client = try TestClient.of("httpbin")
        let told = Log<TransferProgress>()
        let response = try await client.send(
            "stream-bytes/50000", args: [.url("chunk_size", 1000), .option(.rawData)],
            downloadProgress: { told.append($0) })
        #expect(response.data.count == 50_000 && isRising(told.all))
        #expect(told.all.last == TransferProgress(bytes: 50_000, total: 50_000))
    }

    @Test func aSlowHandlerHearsOfTheLatestOnly() async throws {
        /// Its signal is set when everything has been received, even if no handler has run yet.
        final class Client: TestClient, @unchecked Sendable {
            let isComplete = Signal()
            override func requestCompleted(_ request: APIRequest, _ response: APIResponse) { isComplete.set() }
        }
        let client = try Client.of("weather")
        let told = Log<Int64>()
        _ = try await client.send(
            "download", args: [.url("size", 1_000_000), .url("rate", 5_000_000), .option(.rawData)],
            downloadProgress: { progress in
                told.append(progress.bytes)
                client.isComplete.block()
            })
        #expect(told.all == [0, 1_000_000])
    }

    /// The progress of the redirect's own body must not be added.
    @Test func progressOverARedirect() async throws {
        let client = try TestClient.of("fault")
        let told = Log<TransferProgress>()
        let url = "\(try TestServers.url("weather"))/download?size=20000"
        let response = try await client.send(
            "redirect/to", args: [.url("url", url), .option(.rawData)], downloadProgress: { told.append($0) })
        #expect(response.data.count == 20_000 && told.all.last == TransferProgress(bytes: 20_000, total: 20_000))
        #expect(isRising(told.all) && told.all.first?.bytes == 0, "\(told.all.map(\.bytes))")
    }

    // MARK: Sources of a body

    /// A stream over this many bytes of a pattern, in pieces of odd sizes.
    private func stream(_ count: Int, length: Int64?, rewinds: Log<Int>? = nil) -> BodyStream {
        let position = Lock(0)
        let rewind: (@Sendable () -> Bool)? = rewinds.map { log in
            { @Sendable in
                log.append(1)
                position.withLock { $0 = 0 }
                return true
            }
        }
        return BodyStream(length: length, rewind: rewind) { buffer in
            position.withLock { position in
                let size = min(buffer.count, count - position, 1 + position % 9973)
                for offset in 0..<size { buffer[offset] = UInt8(truncatingIfNeeded: (position + offset) % 251) }
                position += size
                return size
            }
        }
    }

    @Test(arguments: [0, 1, 70_000, 5_000_000]) func aStream(_ size: Int) async throws {
        let client = try TestClient.of("weather")
        let known = try await client.send(
            "upload", args: [.stream(stream(size, length: Int64(size)), contentType: "a/b")])
        #expect(known.json?["size"]?.int == size && known.json?["content_type"]?.string == "a/b")
        #expect(known.json?["content_length"]?.string == "\(size)")
        let unknown = try await client.send("upload", args: [.stream(stream(size, length: nil))])
        #expect(unknown.json?["size"]?.int == size && unknown.json?["transfer_encoding"]?.string == "chunked")
        #expect(known.json?["sha256"] == unknown.json?["sha256"])
    }

    @Test func aStreamThatFails() async throws {
        struct Broken: Error {}
        let client = try TestClient.of("weather")
        let error = await client.response("upload", args: [.stream(BodyStream { _ in throw Broken() })]).error
        #expect(error?.domain == .request || error?.domain == .network)
        #expect(error?.code != .cancelled && error?.isRetryable == false)
    }

    @Test func aStreamThatIsShorterThanItSaid() async throws {
        let client = try TestClient.of("weather")
        #expect(await client.response("upload", args: [.stream(stream(10, length: 100)), .timeout(5)]).error != nil)
    }

    @Test func aSuspendedUploadSendsNoByteAndGoesOn() async throws {
        let client = try TestClient.of("weather")
        let body = [UInt8](repeating: 7, count: 8 << 20)
        let request = client.request(
            "upload",
            args: [.url("rate", 16 << 20), .data(body), .timeout(idleTimeout), .handlers(.all, on: .background)])
        let (held, responses) = (Log<Bool>(), Log<APIResponse>())
        request.setUploadProgress {
            if $0.bytes > 0, held.count == 0, request.suspend() { held.append(true) }
        }
        request.setHandler { responses.append($0) }
        request.resume()
        _ = try await held.element(0)
        // Wait until the change has taken effect.
        var before: Int64
        repeat {
            before = request.bytesSent.bytes
            _ = try await client.send("slow", args: [.url("seconds", 0.3)])
        } while request.bytesSent.bytes != before
        _ = try await client.send("slow", args: [.url("seconds", longerThanIdle)])
        #expect(request.bytesSent.bytes == before && before < Int64(body.count) && responses.count == 0)
        #expect(request.resume())
        #expect(try await responses.element(0).json?["size"]?.int == body.count)
    }

    @Test func files() async throws {
        let client = try TestClient.of("weather")
        let path = "\(try TestServers.url("tmp"))/bytes.bin"
        #expect(try await client.send("upload", args: [.file(path)]).json?["size"]?.int == 256)
        let parts = try await client.send("photo", args: [.multipart("f", file: path), .multipart("t", "text")]).json
        #expect(parts?[path: "parts[0].filename"]?.string == "bytes.bin" && parts?[path: "parts[0].size"]?.int == 256)
        #expect(parts?[path: "parts[1].text"]?.string == "text")
        // A worker may open the file before libcurl has sent the part before it, or later.
        for _ in 0..<200 {
            let json = try await client.send("photo", args: [.multipart("f", file: path)]).json
            #expect(json?[path: "parts[0].size"]?.int == 256)
        }
    }

    // MARK: Bodies that are sent again

    @Test(arguments: [307, 308]) func bodiesAreSentAgain(_ status: Int) async throws {
        let client = try TestClient.of("fault")
        let to: [APIArg] = [.url("url", "/echo"), .url("status", status)]
        let rewinds = Log<Int>()
        let expected = (0..<5000).map { UInt8(truncatingIfNeeded: $0 % 251) }
        let bodies: [APIArg] = [
            .data(expected), .stream(stream(5000, length: 5000, rewinds: rewinds)),
            .stream(stream(5000, length: nil, rewinds: rewinds)),
        ]
        for body in bodies {
            let json = try await client.send("redirect/to", args: to + [body]).json
            #expect(json?["method"]?.string == "POST")
            #expect(
                json?["body_base64"]?.string.flatMap(Base64.decode) == expected || json?["size"]?.int == 5000, "\(body)"
            )
        }
        #expect(rewinds.count == 2)
        let response = await client.response("redirect/to", args: to + [.stream(stream(5000, length: 5000))])
        #expect(response.error?.code == .httpError && response.status == status)
        #expect(response.error?.message.containsSubstring("stream") == true)
    }

    // MARK: Secrets and redirects

    @Test func secretsDoNotFollowToAnotherOrigin() async throws {
        let client = try TestClient.of("fault")
        let token = "secrets-\(SeededGenerator.ofThisRun)"
        _ = try await client.send(
            "redirect/other",
            args: [
                .url("token", token), .bearer("s3cr3t"), .header("X-API-Key", "s3cr3t"), .header("Cookie", "a=s3cr3t"),
                .header("X-Mine", "s3cr3t").secret, .header("X-Plain", "kept"),
            ])
        let seen = try #require(try await client.send("seen", args: [.url("token", token)]).json)
        #expect(seen["count"]?.int == 1 && seen.text.containsSubstring("kept"))
        #expect(!seen.text.containsSubstring("s3cr3t"), "\(seen)")
        // Secrets are sent to the same origin.
        let same = try await client.send(
            "redirect/echo", args: [.bearer("s3cr3t"), .header("X-Mine", "s3cr3t").secret])
        #expect(same.json?[path: "header.authorization"]?.string == "Bearer s3cr3t")
        #expect(same.json?[path: "header.x-mine"] ?? same.json?["header"]?["x-mine"] != nil)
    }
}
