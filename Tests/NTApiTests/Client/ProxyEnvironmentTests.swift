import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Which proxy a request uses: the one of the environment, which is read once, or the one of a setting.
///
/// Each case is a child process, because a process has one environment. The C tests have more cases.
#if os(Linux)
    @Suite(.serialized) struct ProxyEnvironmentTests {
        struct Situation: Sendable {
            var server: String
            var variables: [String]
            var settings: [String: String] = [:]
            var way: String
            /// Entries of the environment that a warning lists.
            var ignored: [String] = []
        }

        @Test(arguments: [
            Situation(server: "fault", variables: [], way: "direct"),
            Situation(server: "fault", variables: ["http_proxy=OPEN", "all_proxy=NOBODY"], way: "through"),
            // A CGI server sets HTTP_PROXY from a request's Proxy header: it is not a setting.
            Situation(server: "fault", variables: ["HTTP_PROXY=NOBODY"], way: "direct"),
            Situation(server: "fault", variables: ["ALL_PROXY=OPEN"], way: "through"),
            Situation(
                server: "fault_tls", variables: ["https_proxy=ADMITTING", "HTTPS_PROXY=NOBODY"], way: "direct"),
            Situation(server: "fault_tls", variables: ["HTTPS_PROXY=GUARDED"], way: "refused"),
            Situation(server: "fault", variables: ["http_proxy=NOBODY", "no_proxy=127.0.0.1"], way: "direct"),
            Situation(server: "fault_tls", variables: ["https_proxy=NOBODY", "NO_PROXY=*"], way: "direct"),
            Situation(
                server: "fault",
                variables: ["http_proxy=NOBODY", "no_proxy=*.corp.example 127.0.0.0/33,http://h, 127.1.2.3/8"],
                way: "direct", ignored: ["*.corp.example", "127.0.0.0/33", "http://h"]),
            Situation(
                server: "fault", variables: ["http_proxy=OPEN", "no_proxy=*.1"], way: "through", ignored: ["*.1"]),
            // Without a proxy, there is no warning.
            Situation(server: "fault", variables: ["no_proxy=*.corp.example"], way: "direct"),
            // A setting wins, and also replaces the environment's list of exceptions.
            Situation(
                server: "fault", variables: ["http_proxy=NOBODY", "no_proxy=127.0.0.1"], settings: ["proxy": "OPEN"],
                way: "through"),
            Situation(server: "fault_tls", variables: ["https_proxy=NOBODY"], settings: ["proxy": ""], way: "direct"),
            Situation(
                server: "fault", variables: ["http_proxy=NOBODY"], settings: ["proxyExceptions": "127.0.0.1"],
                way: "direct"),
            Situation(
                server: "fault", variables: ["http_proxy=GUARDED"],
                settings: ["proxyUser": "USER", "proxyPassword": "PASSWORD"], way: "through"),
        ]) func aRequestTakes(_ situation: Situation) async throws {
            let places = try Self.places()
            let none =
                ["http", "https", "HTTPS", "all", "ALL", "HTTP"].map { "\($0)_proxy=" } + ["no_proxy=", "NO_PROXY="]
            let variables = situation.variables.map { variable in
                let parts = variable.split(separator: "=", maxSplits: 1).map(String.init)
                return "\(parts[0])=\(places[parts[1]] ?? parts[1])"
            }
            let settings = JSON(situation.settings.map { ($0.key, JSON(places[$0.value] ?? $0.value)) })
            let (lines, _) = try await ChildProcess.run(
                "ProxyEnvironmentTests/child",
                variables: variables + none + [
                    "NTAPI_PROXY_CHILD=\(situation.server)", "NTAPI_PROXY_SETTINGS=\(settings.text)",
                ])
            #expect(lines.contains("way \(situation.way)"), "\(lines)")
            let warnings = lines.filter { $0.hasPrefix("warn no_proxy: ") }
            #expect(warnings.count == situation.ignored.count, "\(lines)")
            for entry in situation.ignored {
                #expect(warnings.contains { $0.containsSubstring("\"\(entry)\" is ignored") }, "\(lines)")
            }
        }

        /// Placeholders for proxies in the cases.
        private static func places() throws -> [String: String] {
            let (open, guarded) = (try TestServers.url("proxy"), try TestServers.url("proxy_auth"))
            let credentials = try TestServers.url("proxy_credentials")
            let parts = credentials.split(separator: ":", maxSplits: 1).map(String.init)
            return [
                "OPEN": open, "GUARDED": guarded, "ADMITTING": "http://\(credentials)@\(guarded.dropFirst(7))",
                "NOBODY": "http://127.0.0.1:9", "USER": parts[0], "PASSWORD": parts[1],
            ]
        }

        @Test(.enabled(if: environment("NTAPI_PROXY_CHILD") != nil)) func child() async throws {
            APILog.sink = { print("\($0) \($1)") }
            // The second client prints no second warning.
            _ = APIClient()
            let client = try session(environment("NTAPI_PROXY_CHILD") ?? "") {
                $0.proxy = nil
                for (name, value) in try JSON(parsing: environment("NTAPI_PROXY_SETTINGS") ?? "").object ?? [] {
                    $0[name] = value
                }
            }
            // A change comes too late: the environment was read when the client was made.
            for name in ["http_proxy", "https_proxy", "all_proxy"] { setenv(name, "http://127.0.0.1:9", 1) }
            let response = await client.response("ok")
            let isRefused = response.status == 407 || response.error?.message.containsSubstring("407") == true
            let way = response.status != 200 ? "lost" : response.headers["Via"] == nil ? "direct" : "through"
            print("way \(isRefused ? "refused" : way)")
        }
    }
#endif
