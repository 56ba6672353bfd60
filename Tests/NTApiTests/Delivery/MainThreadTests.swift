import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The main thread belongs to the test runner, so the example "tour" tests handlers on it.
@Suite struct MainThreadTests {
    /// The path of the example, which is in the folder of the test program.
    private static let example: String = {
        var path = [UInt8](repeating: 0, count: 4096)
        let count = max(0, readlink("/proc/self/exe", &path, path.count))
        let own = String(decoding: path.prefix(count), as: UTF8.self)
        // The runner may be one program for all packages; the tests' own bundle is then among its arguments.
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? own
        return "\(bundle[..<(bundle.lastIndex(of: "/") ?? bundle.startIndex)])/tour"
    }()

    private func run(_ words: String) -> [Substring] {
        let output = String(decoding: shell("'\(Self.example)' \(words) 2>&1"), as: UTF8.self)
        return output.split { $0 == "\n" || $0 == "\r" }
    }

    @Test func theTour() async throws {
        let url = try TestServers.url("weather")
        let lines = await onThread { run(url) }
        #expect(lines.contains { $0.hasPrefix("   main ") && $0.hasSuffix("ran on the main thread") })
        #expect(
            lines.contains { $0.hasPrefix("   background ") && $0.hasSuffix("ran on a worker thread of the library") })
        #expect(lines.contains { $0.hasPrefix("   current ") && $0.hasSuffix("ran on the thread that began it") })
        #expect(lines.contains { $0.hasPrefix("   executor ") && $0.hasSuffix("ran on the executor's thread") })
        // Into a pipe, each bar is printed once, in its final state.
        #expect(lines.filter { $0.hasSuffix("] 100 %") }.count == 2)
        #expect(lines.contains { $0.contains("error \"request cancelled\"") })
        #expect(lines.contains { $0.contains("error \"404\": city not found") })
        #expect(lines.last == "done: 20 requests, 2 errors as expected", "\(lines)")
    }

    @Test func itGetsAnyURL() async throws {
        let url = try TestServers.url("fault")
        let lines = await onThread { run("--get '\(url)/status/418?message=tea'") }
        #expect(lines.contains { $0.hasPrefix("status 418 after ") } && lines.last?.contains("tea") == true, "\(lines)")
    }
}
