import Testing

@testable import NTApi

/// The files that a session leaves. Each case runs in a process with its own home folder.
#if os(Linux)
    @Suite struct SessionFilesTests {
        private func filesLeft(by kind: String) async throws -> [String] {
            let folder = try TemporaryFolder()
            let variables = ["HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "TMPDIR"]
            let (lines, status) = try await ChildProcess.run(
                "SessionFilesTests/child",
                variables: variables.map { "\($0)=\(folder.path)" } + ["NTAPI_SESSION_CHILD=\(kind)"])
            #expect(status == 0 && lines.contains("a=1 cached"), "\(lines)")
            return folder.modes
        }

        @Test func anEphemeralSessionLeavesNoFile() async throws {
            #expect(try await filesLeft(by: "ephemeral") == [])
        }

        /// Proves that the test above would notice files that are left.
        @Test func aDefaultSessionKeepsCookiesAndCache() async throws {
            let files = try await filesLeft(by: "default")
            #expect(files.contains { $0.hasSuffix("/cookies.txt") }, "\(files)")
            #expect(files.count > 3, "\(files)")
        }

        /// Gets a persistent cookie and a cacheable response, and exits normally.
        @Test(.enabled(if: environment("NTAPI_SESSION_CHILD") != nil)) func child() async throws {
            let isEphemeral = environment("NTAPI_SESSION_CHILD") == "ephemeral"
            let client = try session("fault", isEphemeral ? .ephemeral : .default) { _ in }
            _ = try await client.send("set-cookie", args: [.url("set", "a=1; Path=/; Max-Age=1000")])
            let page: [APIArg] = [.url("token", "files-\(isEphemeral)"), .url("h-Cache-Control", "max-age=1000")]
            _ = try await client.send("cached", args: page)
            let again = try await client.send("cached", args: page)
            let sent = try await client.echo()["header"]?["cookie"]?.string ?? "none"
            try client.cookies?.save()
            client.finishAndInvalidate()
            await onThread { client.drain() }
            print("\(sent) \(again.metrics.fromCache ? "cached" : "loaded")")
        }
    }
#endif
