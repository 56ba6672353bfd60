import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The work must grow linearly with the number of args, not with its square.
@Suite struct ManyArgsTests {
    @Test(arguments: ["header", "addHeader", "form", "multipart", "option", "path", "url"])
    func areAppliedInTheirOrder(_ kind: String) throws {
        let few = try processorTime { try apply(12_500, kind) }
        let many = try processorTime { try apply(100_000, kind) }
        // There are eight times as many args. With the square, it would take 64 times as long.
        #expect(many < 24 * few)
    }

    /// Seconds of processor time of this thread. Other threads and a sanitizer do not change how this time grows.
    private func processorTime(_ body: () throws -> Void) rethrows -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let begun = now()
        try body()
        return now() - begun
    }

    private func apply(_ count: Int, _ kind: String) throws {
        let applied = try AppliedArgs(
            (0..<count).map { number in
                switch kind {
                case "header": .header("X-\(number)", "1")
                case "addHeader": .addHeader("X-\(number)", "1")
                case "form": .form("f\(number)", "1")
                case "multipart": .multipart("f\(number)", "1")
                case "option": .option(APIOption("o\(number)"), "1")
                case "path": .path("p\(number)", "1")
                default: .url("u\(number)", "1")
                }
            })
        let command = kind == "path" ? (0..<count).map { "{p\($0)}" }.joined() : ""
        let url = try URLBuilder.url(
            base: BaseURL("http://h.test/a"), replacement: nil, command: command, path: applied.path,
            query: kind == "url" ? QueryArgs(args: []) : applied.query)
        #expect(url.hasPrefix("http://h.test/a"))
        #expect(applied.headers.count == (kind.hasSuffix("eader") ? count : 0))
    }

    @Test func headersAreSetAsBefore() {
        var headers = HTTPHeaders()
        for number in 0..<200 { headers.set("X-\(number)", "a") }
        headers.set("x-7", "b")
        headers.add("X-8", "c")
        headers.add("X-8", "d")
        headers.set("X-8", "e")
        headers.set("X-300", "f")
        headers.remove("X-9")
        headers.set("X-9", "g")
        headers.set("X-10", "h")
        #expect(headers.count == 201 && headers.all("X-7") == ["b"] && headers.all("X-8") == ["e"])
        #expect(headers.all("X-9") == ["g"] && headers.all("X-10") == ["h"] && headers["X-300"] == "f")
        #expect(headers.map(\.name).last == "X-9" && headers[7].name == "x-7")
    }

    @Test func optionsAreSetAsBefore() {
        var options = APIOptions()
        for round in 0..<2 { for number in 0..<100 { options.set("o\(number)", "\(round)") } }
        #expect(options.all.count == 100 && options.all.allSatisfy { $0.value == "1" })
    }
}
