import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A resumed download is either the server's current file, byte for byte, or an error. Two versions are never mixed.
@Suite struct ResumeTests {
    private static func folder() throws -> String {
        var template = Array("\(try TestServers.url("tmp"))/resume.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestServers.Failure(message: "no folder") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func entries(of folder: String) -> [String] {
        shell("ls -A '\(folder)'").split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The content of a version in the scenario `range`.
    private func content(_ version: Int, size: Int = 100_000) -> [UInt8] {
        var bytes: [UInt8] = []
        for place in 0..<((size + 3) / 4) {
            withUnsafeBytes(of: UInt32(place * 16 + version).bigEndian) { bytes.append(contentsOf: $0) }
        }
        return Array(bytes.prefix(size))
    }

    /// The parameters that keep the server from failing again.
    private let again: [APIArg] = [.header("X-Again", "1")]

    private func requests(_ token: String) async throws -> [JSON] {
        let seen = try await TestClient.of("fault").send("seen", args: [.url("token", token)]).json
        return seen?["requests"]?.array ?? []
    }

    /// Makes a download that fails after this many bytes.
    private func broken(
        _ how: String, to path: String, _ args: [APIArg] = [], cut: Int = 40_000
    ) async throws -> APIResponse {
        try await TestClient.of("fault").response(
            "range/\(how)", args: args + [.url("cut", cut), .download(to: path)])
    }

    @Test(arguments: ["", "date", "latin-1", "utf-8"]) func goesOnWhereItEnded(_ how: String) async throws {
        let (folder, token) = (try Self.folder(), "resume-\(how)-\(SeededGenerator.ofThisRun)")
        let first = try await broken(how, to: "\(folder)/f", [.url("token", token)])
        let data = try #require(first.resumeData)
        #expect(first.error?.domain == .network && first.file == nil && entries(of: folder).count == 1)
        #expect(data.destination == "\(folder)/f" && data.offset == 40_000 && data.totalLength == 100_000)
        let told = Log<TransferProgress>()
        // Only the text is passed on, as if to another program.
        let second = try await TestClient.of("fault").send(
            args: [.resume(text: data.text), .header("X-Again", "1")], downloadProgress: { told.append($0) })
        #expect(second.status == 206 && second.file == "\(folder)/f" && second.resumeData == nil)
        #expect(shell("cat '\(folder)/f'") == content(1) && entries(of: folder) == ["f"])
        #expect(second.metrics.bytesReceived == 60_000)
        #expect(second.request.bytesReceived.bytes == 100_000 && second.request.bytesDecoded == 100_000)
        #expect(told.all.first == TransferProgress(bytes: 40_000, total: 100_000))
        #expect(told.all.last == TransferProgress(bytes: 100_000, total: 100_000))
        let last = try await requests(token).last
        #expect(last?[path: "header.range"]?.string == "bytes=40000-")
        #expect(last?[path: "header.if-range"]?.string?.isEmpty == false)
        #expect(last?[path: "header.x-again"]?.string == "1")
        #expect(last?[path: "header.accept-encoding"]?.string == "identity")
    }

    /// Even if the response is wrong, the file is the server's latest version, and complete.
    @Test(arguments: ["ignored", "shifted", "other-total", "no-range", "encoded"]) func startsOver(_ how: String)
        async throws
    {
        let folder = try Self.folder()
        let data = try #require(try await broken(how, to: "\(folder)/f").resumeData)
        let second = try await TestClient.of("fault").send(args: [.resume(data)] + again)
        #expect(second.status == 200 && second.file == "\(folder)/f")
        #expect(shell("cat '\(folder)/f'") == content(1) && entries(of: folder) == ["f"])
    }

    @Test(arguments: ["", "date"]) func aChangedFileIsFetchedWhole(_ how: String) async throws {
        let (folder, token) = (try Self.folder(), "changed-\(how)-\(SeededGenerator.ofThisRun)")
        let first = try await broken(how, to: "\(folder)/f", [.url("token", token), .url("changes", 1)])
        let second = try await TestClient.of("fault").send(args: [.resume(first.resumeData)] + again)
        #expect(second.status == 200)
        #expect(shell("cat '\(folder)/f'") == content(2) && entries(of: folder) == ["f"])
    }

    @Test(arguments: ["weak", "fresh-date", "none", "no-ranges"]) func whatCannotBeTrustedIsNotKept(_ how: String)
        async throws
    {
        let folder = try Self.folder()
        let first = try await broken(how, to: "\(folder)/f")
        #expect(first.error?.domain == .network && first.resumeData == nil && entries(of: folder).isEmpty)
    }

    @Test func aServerMayGiveOneShortPartAfterTheOther() async throws {
        let (folder, token) = (try Self.folder(), "parts-\(SeededGenerator.ofThisRun)")
        let first = try await broken("", to: "\(folder)/f", [.url("token", token), .url("part", 25_000)])
        let second = try await TestClient.of("fault").send(args: [.resume(first.resumeData)] + again)
        #expect(second.error == nil && shell("cat '\(folder)/f'") == content(1))
        let ranges = try await requests(token).map { $0[path: "header.range"]?.string ?? "" }
        #expect(ranges == ["", "bytes=40000-", "bytes=65000-", "bytes=90000-"])
    }

    /// All bytes have arrived, but the transfer has not ended.
    @Test func nothingIsMissing() async throws {
        let folder = try Self.folder()
        let first = try await broken("", to: "\(folder)/f")
        let data = try #require(first.resumeData)
        let bytes = content(1)
        _ = bytes.withUnsafeBytes { all in
            let file = open(data.temporaryFile, O_WRONLY | O_TRUNC)
            defer { close(file) }
            return write(file, all.baseAddress, all.count)
        }
        let whole = try data.advanced(to: 100_000, of: 100_000)
        let second = try await TestClient.of("fault").send(args: [.resume(whole)])
        #expect(second.status == 416 && second.file == "\(folder)/f")
        #expect(shell("cat '\(folder)/f'") == bytes && entries(of: folder) == ["f"])
    }

    @Test func anErrorKeepsWhatIsThere() async throws {
        let folder = try Self.folder()
        let data = try #require(try await broken("error", to: "\(folder)/f").resumeData)
        let client = try TestClient.of("fault")
        let second = await client.response(args: [.resume(data)] + again)
        #expect(second.status == 503 && second.error?.code == .httpError && second.resumeData == data)
        let nowhere = await client.response(
            args: [.resume(data), .timeout(5)])
        #expect(nowhere.resumeData == data && entries(of: folder).count == 1)
        // No server answers at all.
        let moved = try ResumeData(data.text.replacing(try TestServers.url("fault"), with: "http://127.0.0.1:9"))
        let third = await client.response(args: [.resume(moved)])
        #expect(third.error?.domain == .network && third.resumeData == moved)
        data.discard()
        #expect(entries(of: folder).isEmpty)
    }

    @Test func aTemporaryFileThatIsGoneIsFetchedAgain() async throws {
        let folder = try Self.folder()
        let data = try #require(try await broken("", to: "\(folder)/f").resumeData)
        unlink(data.temporaryFile)
        let second = try await TestClient.of("fault").send(args: [.resume(data)] + again)
        #expect(second.status == 200 && shell("cat '\(folder)/f'") == content(1) && entries(of: folder) == ["f"])
    }

    @Test func whatIsCancelledGoesOnManyTimes() async throws {
        let folder = try Self.folder()
        let client = try TestClient.of("nginx")
        var data: ResumeData?
        for _ in 0..<4 {
            let request = client.request(
                "slow/pattern-8M.bin",
                args: [.download(to: "\(folder)/f"), .resume(data), .handlers(.all, on: .background)])
            let (goal, responses) = ((data?.offset ?? 0) + 1 << 19, Log<APIResponse>())
            request.setDownloadProgress { if $0.bytes > goal { request.cancel() } }
            request.setHandler { responses.append($0) }
            request.resume()
            let response = try await responses.element(0)
            #expect(response.error?.code == .cancelled && request.resumeData == nil)
            let next = try #require(response.resumeData)
            #expect(next.offset ?? 0 > data?.offset ?? 0 && next.totalLength == 8 << 20)
            data = next
        }
        let fast = ResumeTests.fast(try #require(data))
        let last = try await client.send(args: [.resume(fast)])
        #expect(last.file == "\(folder)/f" && entries(of: folder) == ["f"])
        let root = try TestServers.url("nginx_root")
        #expect(shell("cmp '\(root)/pattern-8M.bin' '\(folder)/f' && echo same") == Array("same\n".utf8))
    }

    /// The same file on a URL without a speed limit.
    private static func fast(_ data: ResumeData) -> ResumeData {
        (try? ResumeData(data.text.replacing("/slow/", with: "/"))) ?? data
    }

    /// A program may be killed while a request is suspended. Then it has the text that it saved before.
    @Test func aRequestThatRunsTellsWhatToGoOnFrom() async throws {
        let folder = try Self.folder()
        let client = try TestClient.of("nginx")
        let request = client.request(
            "slow/256M.bin", args: [.download(to: "\(folder)/f"), .handlers(.all, on: .background)])
        let (moved, responses) = (Signal(), Log<APIResponse>())
        request.setDownloadProgress {
            guard $0.bytes > 0 else { return }
            request.suspend()
            moved.set()
        }
        request.setHandler { responses.append($0) }
        #expect(request.resumeData == nil)
        request.resume()
        await moved.wait()
        let saved = try #require(request.resumeData)
        #expect(saved.totalLength == 256 << 20)
        // A second download that resumed the same file would corrupt it.
        let other = await client.response(args: [.resume(saved)])
        #expect(other.error?.message.contains("another download") == true, "\(String(describing: other.error))")
        request.cancel()
        #expect(try await responses.element(0).resumeData != nil)
    }

    @Test func badResumeDataIsNamed() async throws {
        let client = try TestClient.of("fault")
        for text in ["", "{}", "[1]", "{\"ntapiResumeData\":99}"] {
            let response = await client.response(args: [.resume(text: text)])
            #expect(response.error?.code == .invalidRequest && response.error?.message.contains("resume data") == true)
        }
        let folder = try Self.folder()
        let data = try #require(try await broken("", to: "\(folder)/f").resumeData)
        let post = await client.response(args: [.resume(data), .form("a", "b")])
        #expect(post.error?.code == .invalidRequest && post.error?.message.contains("POST") == true)
        // A symbolic link in place of the temporary file is not followed.
        unlink(data.temporaryFile)
        symlink("\(folder)/victim", data.temporaryFile)
        let linked = await client.response(args: [.resume(data)] + again)
        #expect(linked.error?.domain == .request && entries(of: folder).contains("victim") == false)
    }
}
