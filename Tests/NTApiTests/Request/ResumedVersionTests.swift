import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Downloads from servers that change the file, or send another part than the requested one.
@Suite final class ResumedVersionTests: Sendable {
    private let folder: String
    private let path: String
    private let stub = Stub()
    private let client = APIClient(baseURL: "http://api.test")

    init() throws {
        var template = Array("\(environment("TMPDIR") ?? "/tmp")/versions.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestServers.Failure(message: "no folder") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = "\(folder)/f"
        client.stub = stub
        client.logFlags = []
    }

    deinit { _ = shell("rm -r '\(folder)'") }

    private func entries(_ folder: String? = nil) -> [String] {
        let list = shell("ls -A '\(folder ?? self.folder)'")
        return list.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }

    private func content(_ path: String? = nil) -> [UInt8] { shell("cat '\(path ?? self.path)'") }

    private static let first = [UInt8](repeating: 1, count: 1000)
    private static let second = [UInt8](repeating: 2, count: 1000)

    private func whole(_ bytes: [UInt8], _ etag: String) -> StubAnswer {
        .data(bytes, headers: ["ETag": "\"\(etag)\""])
    }

    private func part(_ bytes: [UInt8], _ etag: String, from first: Int) -> StubAnswer {
        .data(
            Array(bytes[first...]), status: 206,
            headers: ["ETag": "\"\(etag)\"", "Content-Range": "bytes \(first)-\(bytes.count - 1)/\(bytes.count)"])
    }

    /// What an unfinished download leaves after 400 bytes.
    private func unfinished(to path: String? = nil) async throws -> ResumeData {
        stub.on("GET", "f").answer(whole(Self.first, "1").with(.connectionLost(after: 400)))
        let response = await client.response("f", args: [.download(to: path ?? self.path)])
        stub.reset()
        return try #require(response.resumeData)
    }

    // MARK: Parts

    @Test(arguments: [
        (206, "bytes 500-999/1000"), (206, "bytes 0-499/1000"), (200, "bytes 500-999/1000"), (206, "bytes 500-999/*"),
        (206, nil),
    ]) func aPartThatNobodyAskedForIsNoFile(status: Int, range: String?) async throws {
        let headers: KeyValuePairs = range.map { ["Content-Range": $0] } ?? [:]
        stub.on("GET", "f").answer(.data(Array(Self.first[500...]), status: status, headers: headers))
        let response = await client.response("f", args: [.download(to: path)])
        #expect(response.error?.message.contains("is not whole: the answer is") == true)
        #expect(response.file == nil && entries().isEmpty && stub.requests.count == 1)
    }

    /// The download starts over, and gets the same wrong part.
    @Test func norAfterAResume() async throws {
        let data = try await unfinished()
        stub.on("GET", "f").answer(part(Self.first, "1", from: 500))
        let response = await client.response(args: [.resume(data)])
        #expect(response.error?.message.contains("is not whole") == true && stub.requests.count == 2)
        #expect(response.file == nil && entries().isEmpty)
    }

    @Test func aPartThatIsTheWholeOrThatTheProgramWantsIsAFile() async throws {
        stub.on("GET", "f").answer(part(Self.first, "1", from: 0), part(Self.first, "1", from: 500))
        _ = try await client.get("f", args: [.download(to: path)])
        #expect(content() == Self.first)
        _ = try await client.get("f", args: [.download(to: path), .header("Range", "bytes=500-")])
        #expect(content() == Array(Self.first[500...]))
        // A page of results, counted in the service's own unit.
        stub.on("GET", "page").answer(.json([1], status: 206, headers: ["Content-Range": "0-24/3573458"]))
        _ = try await client.get("page", args: [.download(to: path)])
        #expect(content() == Array("[1]".utf8))
    }

    @Test func theLimitHoldsForTheWholeFile() async throws {
        let data = try await unfinished()
        stub.on("GET", "f").answer(part(Self.first, "1", from: 400))
        let response = await client.response(args: [.resume(data), .option(.maximumResponseSize, 999)])
        #expect(response.error?.code == .responseTooLarge && response.resumeData == data && entries().count == 1)
        _ = try await client.send(args: [.resume(data), .option(.maximumResponseSize, 1000)])
        #expect(content() == Self.first)
    }

    /// The status is 416. Its body may be that of an error, and the client may map the response to an error of its own.
    @Test func nothingIsMissingWhateverTheAnswerSays() async throws {
        let data = try await unfinished().advanced(to: 400, of: 400)
        let other = APIClient(
            baseURL: "http://api.test",
            hooks: APIClient.Hooks(mapServiceError: { _ in APIError(code: ErrorCode("no range"), message: "") }))
        other.stub = stub
        other.logFlags = []
        stub.on("GET", "f").answer(
            .json(["error": "range"], status: 416, headers: ["Content-Range": "bytes */400", "ETag": "\"1\""]))
        let response = try await other.send(args: [.resume(data)])
        #expect(response.status == 416 && response.file == path && content() == Array(Self.first[..<400]))
    }

    // MARK: Versions

    /// Resume data that was saved before must not lead to a file with bytes of the second version.
    @Test func bytesOfAnotherVersionAreInAnotherFile() async throws {
        let old = try await unfinished()
        stub.on("GET", "f").answer(
            whole(Self.second, "2").with(.connectionLost(after: 600)), whole(Self.first, "1"))
        let stopped = await client.response(args: [.resume(old)])
        let new = try #require(stopped.resumeData)
        #expect(new.offset == 600 && new.temporaryFile != old.temporaryFile && entries().count == 1)
        // The server has the first version again.
        let last = try await client.send(args: [.resume(old)])
        #expect(last.status == 200 && content() == Self.first)
        #expect(stub.requests.map { $0.headers["Range"] } == ["bytes=400-", nil])
        stub.on("GET", "f").answer(part(Self.second, "2", from: 600))
        _ = try await client.send(args: [.resume(new)])
        #expect(content() == Self.second && entries() == ["f"])
    }

    // MARK: The end

    @Test func aFileMayGoToAnotherFileSystem() async throws {
        let memory = "/dev/shm/versions-\(UInt64.random(in: .min ... .max))"
        guard mkdir(memory, 0o700) == 0 else { return }
        defer { _ = shell("rm -r '\(memory)'") }
        for (from, to) in [("\(memory)/f", path), (path, "\(memory)/f")] {
            let data = try await unfinished(to: from)
            stub.on("GET", "f").answer(part(Self.first, "1", from: 400))
            let response = try await client.send(args: [.resume(data), .download(to: to)])
            #expect(response.file == to && content(to) == Self.first)
            unlink(to)
            #expect(entries().isEmpty && entries(memory).isEmpty)
        }
    }

    @Test func aFileThatCannotGetItsNameIsKept() async throws {
        stub.on("GET", "f").answer { [path] _ in
            mkdir(path, 0o700)
            return .data(Self.first, headers: ["ETag": "\"1\""])
        }
        let stopped = await client.response("f", args: [.download(to: path)])
        let data = try #require(stopped.resumeData)
        #expect(stopped.error?.message.contains("cannot be renamed: Is a directory") == true && data.offset == 1000)
        rmdir(path)
        stub.reset()
        stub.on("GET", "f").answer(.status(416, headers: ["Content-Range": "bytes */1000", "ETag": "\"1\""]))
        _ = try await client.send(args: [.resume(data)])
        #expect(content() == Self.first && entries() == ["f"])
    }
}
