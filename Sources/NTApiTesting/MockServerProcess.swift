import Foundation
import NTApi

/// The process of a ``MockServer``, and the socket that is its standard input and output.
final class MockServerProcess: Sendable {
    private typealias Waiter = CheckedContinuation<JSON, any Error>

    private struct State {
        var lastNumber = 0
        /// Those who wait for the reply with this number.
        var waiters: [Int: Waiter] = [:]
        var hasEnded = false
    }

    /// The number of the line that the server prints first.
    private static let first = 0

    private let socket: FileHandle
    private let state = Lock(State())
    /// Held while a line is sent.
    private let sending = Lock(())

    init(_ command: [String]) throws {
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = Int32(SOCK_STREAM.rawValue)
        #endif
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw MockServer.Failure(description: "the mock server has no socket: \(String(cString: strerror(errno)))")
        }
        socket = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        let other = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        // A process that inherited our end would keep the server alive.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        #if canImport(Darwin)
            var isOn: Int32 = 1
            setsockopt(ends[0], SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<Int32>.size))
        #endif
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardInput = other
        process.standardOutput = other
        try process.run()
        try other.close()
    }

    /// Awaits that the server has started. Called once.
    func firstLine() async throws -> JSON {
        // A reply is lost that comes before somebody waits for it.
        try await reply(to: Self.first) { Foundation.Thread.detachNewThread { self.read() } }
    }

    func run(_ command: JSON) async throws -> JSON {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let members = (command.object ?? []).map { ($0.key, $0.value) } + [("id", JSON(number))]
        let reply = try await reply(to: number) { self.send(JSON(members).utf8() + [UInt8(ascii: "\n")]) }
        guard reply["ok"]?.bool == true else {
            throw MockServer.Failure(description: reply["error"]?.string ?? "the mock server: \(reply.text)")
        }
        return reply
    }

    /// The server sees the end of its input, and ends.
    func end() { shutdown(socket.fileDescriptor, Int32(SHUT_WR)) }

    private func reply(to number: Int, _ send: () -> Void) async throws -> JSON {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let hasEnded = state.withLock { state in
                    if !state.hasEnded { state.waiters[number] = waiter }
                    return state.hasEnded
                }
                guard !hasEnded else { return waiter.resume(throwing: Self.ended) }
                // The task may have been cancelled before it waited.
                guard !Task.isCancelled else { return resume(number, .failure(CancellationError())) }
                send()
            }
        } onCancel: {
            resume(number, .failure(CancellationError()))
        }
    }

    private static let ended = MockServer.Failure(
        description: "the mock server has ended: its standard error says why, or it was closed")

    private func resume(_ number: Int, _ result: Result<JSON, any Error>) {
        state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(with: result)
    }

    /// A server that has ended gets nothing: `read` tells those who wait.
    private func send(_ line: [UInt8]) {
        #if canImport(Darwin)
            let flags: Int32 = 0
        #else
            let flags = Int32(MSG_NOSIGNAL)
        #endif
        sending.withLock { _ in
            var rest = line[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Foundation.send(socket.fileDescriptor, $0.baseAddress, $0.count, flags)
                }
                guard count > 0 || (count < 0 && errno == EINTR) else { return }
                rest = rest.dropFirst(max(0, count))
            }
        }
    }

    private func read() {
        var (line, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 1 << 16))
        while case let count = recv(socket.fileDescriptor, &buffer, buffer.count, 0),
            count > 0 || (count < 0 && errno == EINTR)
        {
            for byte in buffer[..<max(0, count)] {
                guard byte == UInt8(ascii: "\n") else {
                    line.append(byte)
                    continue
                }
                if let reply = try? JSON(parsing: line) { resume(reply["id"]?.int ?? Self.first, .success(reply)) }
                line = []
            }
        }
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume(throwing: Self.ended) }
    }
}
