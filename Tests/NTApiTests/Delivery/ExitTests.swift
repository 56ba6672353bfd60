import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A program ends while requests run. Each of their handlers is called once before its end.
#if os(Linux)
    @Suite struct ExitTests {
        private static let count = 12

        @Test(arguments: ["exit", "dropped", "closed"]) func everyHandlerIsCalledOnce(_ how: String) async throws {
            let (lines, status) = try await ChildProcess.run(
                "ExitTests/child", variables: ["NTAPI_EXIT_CHILD=\(how)"])
            #expect(status == 37)
            let calls = lines.filter { $0.hasPrefix("handled ") }.sorted()
            #expect(calls == (10..<10 + Self.count).map { "handled \($0) request cancelled" }, "\(lines)")
        }

        /// When the process ends, the server still holds requests. Their handlers run in every kind of place.
        @Test(.enabled(if: environment("NTAPI_EXIT_CHILD") != nil)) func child() async throws {
            var client: APIClient? = try session("fault") { _ in }
            let places: [CallbackThread] = [.background, .main, .current]
            for number in 0..<Self.count {
                client?.begin("hold", args: [.responseThread(places[number % 3])]) { response in
                    let line = "handled \(number + 10) \(response.error?.code.name ?? "done")\n"
                    _ = write(STDOUT_FILENO, line, line.utf8.count)
                }
            }
            if environment("NTAPI_EXIT_CHILD") == "closed" { client?.close() }
            if environment("NTAPI_EXIT_CHILD") == "dropped" { client = nil }
            withExtendedLifetime(client) { exit(37) }
        }
    }
#endif
