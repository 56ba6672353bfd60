public import NTApi

/// A stub on a real port, for any client: it has TLS, HTTP/2, broken connections and what else needs a wire.
///
///     let server = try await MockServer()
///     try await server.enqueue(["status": 503], ["json": ["name": "London"]])
///     let client = APIClient(baseURL: server.url)
///     …
///     try await server.close()
///
/// It runs in a process of its own: `python3` with the package `ntapi` and its extra `server`. Answers and requests are
/// JSON, with the members that the documentation's page on the mock server lists. The process ends with ``close()``,
/// with this object, and with the program. Any task may call any function.
public final class MockServer: Sendable {
    /// What the server has refused, or an expectation that was not met.
    public struct Failure: Error, CustomStringConvertible {
        /// The server's words.
        public let description: String
    }

    /// The URL of the server, without a slash at its end.
    public let url: String
    /// A PEM file with the authority of the server's certificates, for `caFile`; nil without `--tls`.
    public let caFile: String?
    /// A PEM file with a certificate that the server accepts, and its key; nil without `--tls`.
    public let clientCertificateFile: String?
    private let process: MockServerProcess

    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - options: those of its command line, such as `--tls`, or `--recording` and a file.
    ///   - python: the name or the path of the interpreter.
    /// - Throws: a ``Failure`` when the server has not started, and its standard error, which is that of the program,
    ///   says why; `CancellationError` when the task is cancelled.
    public init(_ options: String..., python: String = "python3") async throws {
        process = try MockServerProcess([python, "-m", "ntapi.testing.server"] + options)
        let ready: JSON
        do {
            ready = try await process.firstLine()
        } catch {
            process.end()
            throw error
        }
        url = ready["url"]?.string ?? ""
        caFile = ready["ca"]?.string
        clientCertificateFile = ready["client_certificate"]?.string
    }

    deinit { process.end() }

    /// Adds answers to the queue: each is for one request, before all rules.
    public func enqueue(_ answers: JSON...) async throws {
        for answer in answers { try await run(["do": "enqueue", "answer": answer]) }
    }

    /// Adds a rule: requests with this method and URL get these answers, one after the other.
    public func on(_ method: String, _ url: String, _ answers: JSON...) async throws {
        try await run(["do": "on", "method": JSON(method), "url": JSON(url), "answers": JSON(answers)])
    }

    /// Awaits the next request that has come, with its body, for 30 seconds at most.
    ///
    /// If the task is cancelled, the server goes on waiting for that request, which is then not taken again.
    public func takeRequest() async throws -> JSON { try await run(["do": "take_request"])["request"] ?? .null }

    /// Awaits an answer that holds at a latch, for 30 seconds at most.
    public func waitForLatch(_ latch: String) async throws {
        try await run(["do": "wait_for_latch", "latch": JSON(latch)])
    }

    /// Lets the answers go on that hold at a latch, now and later.
    public func release(_ latch: String) async throws { try await run(["do": "release", "latch": JSON(latch)]) }

    /// Carries out a command, such as `["do": "fail_connections", "kind": "alert"]`.
    ///
    /// - Returns: the server's reply.
    /// - Throws: a ``Failure`` with the error in the reply, or when the server has ended; `CancellationError` when the
    ///   task is cancelled.
    @discardableResult public func run(_ command: JSON) async throws -> JSON { try await process.run(command) }

    /// Ends the server and all its connections.
    ///
    /// - Throws: a ``Failure`` when an expectation was not met, or a request had no answer. It names what was nearest.
    public func close() async throws {
        defer { process.end() }
        try await run(["do": "verify"])
    }
}
