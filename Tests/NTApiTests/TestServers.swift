@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The servers of `Tests/servers`: those that NTAPI_TEST_SERVERS names, or servers that this process starts once.
///
/// They end with the process, because `run.py` ends when its standard input does.
enum TestServers {
    struct Failure: Error { var message: String }

    private static let table: Result<JSON, Failure> = {
        if let text = environment("NTAPI_TEST_SERVERS") { return parse(text) }
        return start()
    }()

    // The stress test has its own server, so that its load does not make other tests time out.
    private static let ofStress: Result<JSON, Failure> = start(["--only", "fault"])

    static func stressURL() throws -> String { try ofStress.get()["fault"]?.string ?? "" }

    /// An entry of the table, usually a base URL.
    static func url(_ name: String) throws -> String {
        guard let url = try table.get()[name]?.string else { throw Failure(message: "no server named \(name)") }
        return url
    }

    /// The whole table, as NTAPI_TEST_SERVERS for a child process.
    static func text() throws -> String { try table.get().text }

    /// The text with each `{{key}}` replaced by that entry of the table.
    static func fill(_ text: String) throws -> String {
        var filled = text
        for (key, value) in try table.get().object ?? [] {
            filled = replace("{{\(key)}}", in: filled, by: value.string ?? "")
        }
        return filled
    }

    static let packageRoot: String = {
        let here = #filePath
        let components = here.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        return components.joined(separator: "/")
    }()

    private static func replace(_ key: String, in text: String, by value: String) -> String {
        var (result, rest) = ("", text[...])
        while let range = rest.firstRange(of: key) {
            result += rest[..<range.lowerBound] + value
            rest = rest[range.upperBound...]
        }
        return result + rest
    }

    private static func parse(_ text: String) -> Result<JSON, Failure> {
        do {
            return .success(try JSON(parsing: text))
        } catch {
            return .failure(Failure(message: "the servers' table is not JSON: \(error): \(text)"))
        }
    }

    private static func start(_ options: [String] = []) -> Result<JSON, Failure> {
        let python = environment("NTAPI_TEST_PYTHON") ?? "\(packageRoot)/.venv/bin/python"
        guard let (input, output) = spawn([python, "\(packageRoot)/Tests/servers/run.py"] + options) else {
            return .failure(Failure(message: "cannot run \(python): see Tests/servers/README.md"))
        }
        // The pipe is never closed here. It ends with this process.
        _ = input
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        return parse(String(decoding: line, as: UTF8.self))
    }

    /// Starts a program with pipes for standard input and output, which no other child inherits.
    private static func spawn(_ words: [String]) -> (input: Int32, output: Int32)? {
        var (input, output): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard pipe(&input) == 0, pipe(&output) == 0 else { return nil }
        for descriptor in input + output { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        posix_spawn_file_actions_adddup2(&actions, output[1], 1)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        let status = posix_spawn(&process, words[0], &actions, nil, &arguments, environ)
        close(input[0])
        close(output[1])
        return status == 0 ? (input[1], output[0]) : nil
    }
}
