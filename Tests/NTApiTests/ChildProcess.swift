@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A child process with pipes to its input and from its output. It is killed when its last reference goes.
final class ChildProcess {
    let identifier: pid_t
    private var input: Int32
    private let output: UnsafeMutablePointer<FILE>
    private var status: Int32?

    /// - Parameters:
    ///   - arguments: the program, which is looked up in PATH, and its arguments.
    ///   - variables: entries "NAME=value" that are added to the environment of this process.
    init(_ arguments: [String], variables: [String] = []) throws {
        var (toIt, fromIt): ([Int32], [Int32]) = ([0, 0], [0, 0])
        pipe(&toIt)
        pipe(&fromIt)
        // Another test may start a process at the same time. That process must not inherit these pipes.
        for descriptor in toIt + fromIt { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toIt[0], 0)
        posix_spawn_file_actions_adddup2(&actions, fromIt[1], 1)
        var inherited: [String] = []
        var next = environ
        while let variable = next.pointee {
            inherited.append(String(cString: variable))
            next += 1
        }
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var environment: [UnsafeMutablePointer<CChar>?] = (variables + inherited).map { strdup($0) } + [nil]
        var process = pid_t()
        let status = posix_spawnp(&process, arguments[0], &actions, nil, &words, &environment)
        for text in words + environment { free(text) }
        close(toIt[0])
        close(fromIt[1])
        guard status == 0, let stream = fdopen(fromIt[0], "r") else {
            throw APIError.file("start", arguments[0], status)
        }
        identifier = process
        input = toIt[1]
        output = stream
    }

    /// The next line of its output, without the line feed; nil at the end of the output.
    func readLine() -> String? {
        var text: [UInt8] = []
        while true {
            let byte = fgetc(output)
            if byte == EOF { return nil }
            if byte == 10 { return String(decoding: text, as: UTF8.self) }
            text.append(UInt8(truncatingIfNeeded: byte))
        }
    }

    func closeInput() {
        guard input >= 0 else { return }
        close(input)
        input = -1
    }

    func end() {
        if status == nil { kill(identifier, SIGKILL) }
    }

    /// - Returns: its exit status; nil when a signal ended it.
    @discardableResult func wait() -> Int32? {
        if status == nil {
            var value: Int32 = 0
            while waitpid(identifier, &value, 0) < 0, errno == EINTR {}
            status = value
        }
        guard let status, status & 0x7F == 0 else { return nil }
        return status >> 8 & 0xFF
    }

    deinit {
        end()
        wait()
        closeInput()
        fclose(output)
    }
}

extension ChildProcess {
    /// Runs one test of this program in a new process, with the same servers, and waits for the end of the process.
    ///
    /// - Returns: the lines that it printed, and its exit status.
    static func run(
        _ test: String, variables: [String]
    ) async throws -> (lines: [String], status: Int32?) {
        let servers = "NTAPI_TEST_SERVERS=\(try TestServers.text())"
        return try await onThread {
            Result {
                let child = try ChildProcess(
                    ["/proc/self/exe", "--testing-library", "swift-testing", "--filter", test],
                    variables: variables + [servers])
                var lines: [String] = []
                while let line = child.readLine() { lines.append(line) }
                return (lines, child.wait())
            }
        }.get()
    }
}
