import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Downloads without a destination. The file exists as long as the response.
@Suite struct TemporaryDownloadTests {
    private func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return stat(path, &status) == 0 ? UInt32(status.st_mode) & 0o777 : 0
    }

    private func expected() async throws -> [UInt8] {
        Array(try await TestClient.of("nginx").send("small.json").data)
    }

    private func gone(_ path: String) -> Bool {
        // A worker may release the library's last reference to an ended request a moment later.
        let deadline = MonotonicTime.now().advanced(bySeconds: patience)
        while exists(path), MonotonicTime.now() < deadline { sched_yield() }
        return !exists(path)
    }

    @Test func isThereAsLongAsTheResponse() async throws {
        let client = try TestClient.of("nginx")
        var response: APIResponse? = try await client.send("small.json", args: [.download()])
        let path = try #require(response?.temporaryFile)
        #expect(response?.file == nil && response?.data.isEmpty == true && response?.json == nil)
        #expect(mode(path) == 0o600 && path.hasPrefix(environment("TMPDIR") ?? "/tmp/"))
        let expected = try await expected()
        #expect(path.containsSubstring("/ntapi-") && shell("cat '\(path)'") == expected)
        response = nil
        #expect(gone(path))
        response = await onThread { client.perform("small.json", args: [.download()]) }
        let other = try #require(response?.temporaryFile)
        #expect(other != path && exists(other))
        response = nil
        #expect(gone(other))
    }

    @Test func isThereUntilTheHandlerHasReturned() async throws {
        let client = try TestClient.of("nginx")
        let seen = Log<(path: String, wasThere: Bool)>()
        client.begin("small.json", args: [.download(), .responseThread(.background)]) { response in
            let path = response.temporaryFile ?? ""
            seen.append((path, access(path, F_OK) == 0))
        }
        let first = await seen.first(1)
        #expect(first[0].wasThere && gone(first[0].path))
    }

    @Test func whatIsMovedStays() async throws {
        let folder = try TemporaryFolder()
        do {
            let response = try await TestClient.of("nginx").send("small.json", args: [.download()])
            let path = try #require(response.temporaryFile)
            #expect(rename(path, "\(folder.path)/kept") == 0)
        }
        let expected = try await expected()
        #expect(folder.read("kept") == expected)
    }

    @Test func nothingIsLeftAfterAnError() async throws {
        let client = try TestClient.of("nginx")
        let missing = await client.response("404", args: [.download()])
        #expect(missing.status == 404 && missing.temporaryFile == nil && !missing.data.isEmpty)
        let fault = try TestClient.of("fault")
        let cut = await fault.response("range/none", args: [.url("cut", 40_000), .download()])
        #expect(cut.error?.domain == .network && cut.temporaryFile == nil && cut.resumeData == nil)
    }

    @Test func canBeGoneOnWith() async throws {
        let fault = try TestClient.of("fault")
        for toFile in [false, true] {
            let folder = try TemporaryFolder()
            let first = await fault.response("range", args: [.url("cut", 40_000), .download()])
            let data = try #require(first.resumeData)
            #expect(data.isTemporary && mode(data.temporaryFile) == 0o600 && first.temporaryFile == nil)
            #expect(try ResumeData(data.text) == data)
            let place = toFile ? [APIArg.download(to: "\(folder.path)/f")] : []
            var second: APIResponse? = try await fault.send(
                args: [.resume(text: data.text), .header("X-Again", "1")] + place)
            #expect(second?.status == 206 && !exists(data.temporaryFile))
            let path = try #require(toFile ? second?.file : second?.temporaryFile)
            #expect(shell("wc -c < '\(path)'").starts(with: "100000".utf8) && (toFile || mode(path) == 0o600))
            second = nil
            #expect(toFile ? exists(path) : gone(path))
        }
        let left = try #require(await fault.response("range", args: [.url("cut", 40_000), .download()]).resumeData)
        left.discard()
        #expect(!exists(left.temporaryFile))
        // Resumes a named file into a temporary one.
        let folder = try TemporaryFolder()
        let named = await fault.response("range", args: [.url("cut", 40_000), .download(to: "\(folder.path)/f")])
        let rest = try await fault.send(args: [.resume(named.resumeData), .header("X-Again", "1"), .download()])
        #expect(rest.file == nil && rest.temporaryFile != nil && folder.modes.isEmpty)
    }

    @Test func isLeftToTheResumeDataWhenItIsCancelled() async throws {
        let client = try TestClient.of("weather")
        let request = client.request(
            "download",
            args: [
                .url("size", 400_000), .url("rate", 1_000_000), .download(), .downloadProgressThread(.background),
                .responseThread(.background),
            ])
        request.setDownloadProgress { if $0.bytes > 50_000 { request.cancel() } }
        let done = Log<APIResponse>()
        request.setHandler { done.append($0) }
        request.resume()
        let response = await done.first(1)[0]
        #expect(response.error?.code == .cancelled && response.temporaryFile == nil)
        let data = try #require(response.resumeData)
        #expect(exists(data.temporaryFile))
        data.discard()
    }

    /// Nobody reads the resume data, so nobody else would remove the file.
    @Test(arguments: [false, true]) func whatNobodyGoesOnWithIsRemoved(_ asksTheRequest: Bool) async throws {
        let client = try TestClient.of("weather")
        let request = client.request(
            "download",
            args: [
                .url("size", 40_000_000), .url("rate", 1_000_000), .download(), .handlers(.all, on: .background),
            ])
        let (begun, done) = (Log<ResumeData?>(), Log<ErrorCode?>())
        request.setDownloadProgress { progress in
            guard progress.bytes > 0, begun.count == 0 else { return }
            begun.append(asksTheRequest ? request.resumeData : nil)
            request.cancel()
        }
        request.setHandler { done.append($0.error?.code) }
        request.resume()
        #expect(await done.first(1) == [.cancelled])
        let taken = begun.all.compactMap { $0 }.last
        #expect((taken != nil) == asksTheRequest)
        if let taken {
            #expect(exists(taken.temporaryFile))
            taken.discard()
        }
        let left = try await TestClient.of("fault").response("range", args: [.url("cut", 40_000), .download()])
        // Reads the path without the response's property, which would keep the file.
        let path = try #require(left.content.resumeData?.temporaryFile)
        #expect(exists(path))
        _ = consume left
        #expect(gone(path))
    }

    @Test func asADecision() async throws {
        let client = try TestClient.of("nginx")
        let request = client.request("small.json", args: [.responseThread(.background)])
        request.setDecisionHandler(for: .response) { $0.becomeDownload() }
        let done = Log<APIResponse>()
        request.setHandler { done.append($0) }
        request.resume()
        let path = try #require(await done.first(1)[0].temporaryFile)
        let expected = try await expected()
        #expect(shell("cat '\(path)'") == expected)
    }

    @Test func theLastDownloadArgCounts() async throws {
        let folder = try TemporaryFolder()
        let client = try TestClient.of("nginx")
        let named = try await client.send("small.json", args: [.download(), .download(to: "\(folder.path)/f")])
        #expect(named.file == "\(folder.path)/f" && named.temporaryFile == nil)
        let temporary = try await client.send(
            "small.json", args: [.download(to: "\(folder.path)/g"), .download(), .download(to: nil)])
        #expect(temporary.file == nil && temporary.temporaryFile != nil && folder.read("g") == nil)
        #expect("\(APIArg.download())" == "download()")
        #expect(try APIArg.list(parsing: #"[["download"]]"#).map(\.description) == ["download()"])
    }

    @Test func notInTheBackground() async throws {
        let home = try TemporaryFolder()
        let (lines, status) = try await ChildProcess.run(
            "TemporaryDownloadChild",
            variables: [
                "XDG_STATE_HOME=\(home.path)", "XDG_DATA_HOME=\(home.path)", "TMPDIR=\(home.path)",
                "NTAPI_DOWNLOAD_CHILD=1",
            ])
        #expect(status == 0, "\(lines)")
        // Files that are left are removed at the exit of the process.
        #expect(home.modes.allSatisfy { !$0.containsSubstring("ntapi-") }, "\(home.modes)")
        #expect(lines.contains { $0.hasPrefix("kept \(home.path)/ntapi-") }, "\(lines)")
    }
}

/// Runs only in the process that the test above starts.
@Suite(.enabled(if: environment("NTAPI_DOWNLOAD_CHILD") != nil)) struct TemporaryDownloadChild {
    private static let kept = Lock<APIResponse?>(nil)

    @Test func refusesAndKeeps() async throws {
        let background = APIClient(baseURL: try TestServers.url("nginx"), configuration: .background("downloads"))
        let error = await background.response("small.json", args: [.download()]).error
        #expect(error?.code == .invalidRequest && error?.message.containsSubstring("temporary") == true)
        let response = try await TestClient.of("nginx").send("small.json", args: [.download()])
        Self.kept.withLock { $0 = response }
        print("kept \(response.temporaryFile ?? "")")
    }
}
