import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The table that Swift, C and Python share. `Tests/conformance/README.md` explains its keys.
@Suite struct ConformanceTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let json: JSON
        var testDescription: String { json["name"]?.string ?? "" }
    }

    static let cases: [Case] = {
        guard let file = fopen("\(TestServers.packageRoot)/Tests/conformance/cases.json", "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = fgetc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        return ((try? JSON(parsing: bytes))?.array ?? []).map(Case.init)
    }()

    /// Replaces each error by one with a given code, and keeps the errors that it saw.
    private final class Mapping: TestClient, @unchecked Sendable {
        // Safe to share: the code is set before the first request, and the log is safe by itself.
        nonisolated(unsafe) var code: String?
        let errors = Log<APIError>()

        override func mapError(_ error: APIError, _ response: APIResponse) -> APIError {
            errors.append(error)
            return code.map { APIError(code: ErrorCode($0)) } ?? error
        }
    }

    @Test func theTableIsThere() { #expect(Self.cases.count > 300) }

    @Test(arguments: cases) func holds(_ template: Case) async throws {
        let json = try JSON(parsing: try TestServers.fill(template.json.text))
        let base = try json["base"]?.string ?? TestServers.url(json["server"]?.string ?? "")
        let mapping = json["map_error"].map { _ in Mapping(at: base) }
        mapping?.code = json["map_error"]?.string
        let client = mapping ?? TestClient(at: base)
        client.defaults["caFile"] = JSON(try TestServers.url("ca"))
        client.logFlags = .all
        for (status, code) in json["errors"]?.object ?? [] {
            client.statusErrors[Int(status) ?? 0] = .code(ErrorCode(code.string ?? ""))
        }
        if let name = json["attempt_header"]?.string { client.interceptors = [Self.attempts(in: name)] }
        var (response, failure): (APIResponse?, APIError?)
        do {
            let args = try APIArg.list(parsing: try #require(json["args"]).text)
            response = await client.response(json["command"]?.string ?? "", args: args)
        } catch let error as APIError {
            failure = error
        }
        let log = client.lines.all.map(\.message).joined(separator: "\n")
        let check = Check(
            response: response, error: failure ?? response?.error, mapped: mapping?.errors.all ?? [], log: log)
        for (key, value) in json["expect"]?.object ?? [] { check.expect(key, value) }
    }

    /// Sets a header that describes each attempt.
    private static func attempts(in name: String) -> Interceptor {
        Interceptor(.attempt) { call in
            var request = call.request
            request.headers.set(name, "\(call.number) \(call.reason) \(call.isOwnOrigin ? "own" : "other")")
            return try await call.next(request)
        }
    }

    private struct Check {
        let response: APIResponse?
        let error: APIError?
        let mapped: [APIError]
        let log: String

        func expect(_ key: String, _ wanted: JSON) {
            switch key {
            case "status": #expect(response?.status ?? 0 == wanted.int)
            case "error": expectError(wanted, error)
            case "mapped":
                #expect(mapped.count == wanted.count)
                for (error, wanted) in zip(mapped, wanted.array ?? []) { expectError(wanted, error) }
            case "json": for entry in wanted.array ?? [] { expectEntry(entry) }
            case "json_is_absent": #expect((response?.json == nil) == wanted.bool)
            case "prefix_text": #expect(response?.prefixText == wanted.string)
            case "data_text": #expect(response?.data.elementsEqual((wanted.string ?? "").utf8) == true)
            case "data_base64": #expect(response.map { Base64.encode($0.data) } == wanted.string)
            case "header": expectHeaders(wanted.array ?? [])
            case "trailer":
                let found = response?.trailers.map { [$0.name, $0.value] }
                #expect(found == wanted.array?.map { [$0[0]?.string ?? "", $0[1]?.string ?? ""] })
            case "reason": #expect(response?.reasonPhrase == wanted.string)
            case "url": #expect(response?.url == wanted.string)
            case "url_contains": #expect(response?.url.containsSubstring(wanted.string ?? "?") == true)
            case "log_contains":
                for text in wanted.array ?? [] { #expect(log.containsSubstring(text.string ?? "?")) }
            case "log_lacks":
                for text in wanted.array ?? [] { #expect(!log.containsSubstring(text.string ?? "")) }
            default: Issue.record("an expectation that this runner does not know: \(key)")
            }
        }

        private func expectError(_ wanted: JSON, _ error: APIError?) {
            if wanted.isNull {
                #expect(error == nil)
                return
            }
            guard let error else {
                Issue.record("no error where \(wanted) was expected")
                return
            }
            if let domain = wanted["domain"]?.string { #expect(error.domain.rawValue == domain) }
            if let code = wanted["code"]?.string { #expect(error.code == ErrorCode(code)) }
            if let retryable = wanted["retryable"]?.bool { #expect(error.isRetryable == retryable) }
            if let clock = wanted["clock"]?.string { #expect(error.clock?.rawValue == clock, "\(error)") }
            if let failure = wanted["failure"]?.string { #expect(error.failure?.rawValue == failure, "\(error)") }
            if let problem = wanted["problem"] { #expect(error.problem?.json == (problem.isNull ? nil : problem)) }
            for part in wanted["message_contains"]?.array ?? [] {
                let text = (part.string ?? "").lowercasedASCII()
                #expect(error.message.lowercasedASCII().containsSubstring(text), "\(error.message)")
            }
            for part in wanted["message_lacks"]?.array ?? [] {
                let text = (part.string ?? "").lowercasedASCII()
                #expect(!error.message.lowercasedASCII().containsSubstring(text), "\(error.message)")
            }
        }

        private func expectEntry(_ entry: JSON) {
            let path = entry["path"]?.string ?? ""
            let found = response?.json?[path: path]
            for (key, wanted) in entry.object ?? [] where key != "path" {
                switch key {
                case "string": #expect(found?.string == wanted.string, "\(path)")
                case "int": #expect(found?.kind == .int && found?.int64 == wanted.int64, "\(path)")
                case "double": #expect(found?.kind == .double && found?.double == wanted.double, "\(path)")
                case "bool": #expect(found?.bool == wanted.bool, "\(path)")
                case "null": #expect(found?.isNull == true, "\(path)")
                case "absent": #expect(found == nil, "\(path)")
                case "count":
                    let isContainer = found?.kind == .array || found?.kind == .object
                    #expect(isContainer && found?.count == wanted.int, "\(path)")
                default: Issue.record("a check that this runner does not know: \(key)")
                }
            }
        }

        /// Expects each pair among the headers, and the pairs of one name in this order.
        private func expectHeaders(_ pairs: [JSON]) {
            var rest = response.map { Array($0.headers) } ?? []
            for pair in pairs {
                let (name, value) = (pair[0]?.string ?? "", pair[1]?.string)
                let index = rest.firstIndex { $0.name.equalsIgnoringASCIICase(name) && $0.value == value }
                #expect(index != nil, "\(pair)")
                guard let index else { continue }
                rest = rest.enumerated().filter {
                    $0.offset > index || !$0.element.name.equalsIgnoringASCIICase(name)
                }.map(\.element)
            }
        }
    }
}
