import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A server on a free port of the loopback interface that does exactly what a test says, byte by byte.
///
/// Each connection has its own thread. When the handler returns, the thread ends and the connection is closed.
final class RawServer: Sendable {
    typealias Handler = @Sendable (_ connection: RawConnection) -> Void

    let port: Int
    private let listener: Int32
    private let connections = Lock<[Int32]>([])
    private let count = Monitor(0)

    var url: String { "http://127.0.0.1:\(port)" }
    /// The number of accepted connections.
    var connectionCount: Int { count.withLock(inChild: 0) { $0 } }
    /// Blocks the calling thread until this many connections have been accepted.
    func waitForConnections(_ number: Int) { _ = count.wait { $0 >= number ? true : nil } }

    convenience init(_ handler: @escaping Handler) throws {
        let (listener, port) = try Self.listen()
        try self.init(listener, port, handler)
    }

    /// A server at a Unix socket.
    convenience init(atPath path: String, _ handler: @escaping Handler) throws {
        let listener = Self.closedInChildren(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) }
        }
        try #require(status == 0 && Self.systemListen(listener) == 0)
        try self.init(listener, 0, handler)
    }

    private init(_ listener: Int32, _ port: Int, _ handler: @escaping Handler) throws {
        self.listener = listener
        self.port = port
        let started = Thread.start(name: "test-server") { [connections, count] in
            while true {
                let descriptor = Self.closedInChildren(accept(listener, nil, nil))
                guard descriptor >= 0 else { break }
                let index = count.withLock(inChild: 0) { count in
                    count += 1
                    return count - 1
                }
                count.broadcast()
                connections.withLock { $0.append(descriptor) }
                let connection = RawConnection(descriptor: descriptor, index: index)
                _ = Thread.start(name: "test-connection") {
                    handler(connection)
                    connections.withLock { $0.removeAll { $0 == descriptor } }
                    close(descriptor)
                }
            }
            close(listener)
        }
        try #require(started)
    }

    deinit {
        // Wakes each thread that is blocked on one of these sockets.
        shutdown(listener, Int32(SHUT_RDWR))
        connections.withLock { for descriptor in $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    /// A port on which nobody listens.
    static func closedPort() throws -> Int {
        let (listener, port) = try listen()
        close(listener)
        return port
    }

    private static func listen() throws -> (Int32, Int) {
        let listener = closedInChildren(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && Self.systemListen(listener) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        try #require(status)
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    // A program that a test starts must not inherit these sockets. Otherwise the other side would never see their end.
    private static func closedInChildren(_ descriptor: Int32) -> Int32 {
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return descriptor
    }

    private static func systemListen(_ descriptor: Int32) -> Int32 {
        #if canImport(Glibc)
            Glibc.listen(descriptor, 1024)
        #else
            Darwin.listen(descriptor, 1024)
        #endif
    }
}

/// A server that answers immediately and counts its simultaneous requests.
final class CountingServer: Sendable {
    private let requests = Lock((now: 0, most: 0))
    private let server: RawServer

    var most: Int { requests.withLock { $0.most } }
    var connectionCount: Int { server.connectionCount }
    var url: String { server.url }

    /// - Parameter together: the first responses wait until this many requests are there at once.
    init(_ response: String, together: Int = 1) throws {
        let requests = requests
        let areTogether = Signal()
        server = try RawServer { connection in
            while connection.readRequest() != nil {
                let most = requests.withLock { requests in
                    requests.now += 1
                    requests.most = max(requests.most, requests.now)
                    return requests.most
                }
                if most >= together { areTogether.set() }
                areTogether.block()
                // Let other threads run meanwhile.
                for _ in 0..<20 { sched_yield() }
                requests.withLock { $0.now -= 1 }
                connection.send(response)
            }
        }
    }
}

/// One connection of a client, read and written with blocking calls.
final class RawConnection: @unchecked Sendable {
    // Safe to share: only the thread that serves the connection uses it.
    let descriptor: Int32
    /// The number of the connection; 0 for the server's first one.
    let index: Int
    private var received: [UInt8] = []

    struct Request: Sendable {
        var head: String
        var body: [UInt8]
        var bodyText: String { String(decoding: body, as: UTF8.self) }
        func has(_ line: String) -> Bool { (head + "\r\n").containsSubstring("\r\n" + line + "\r\n") }
        var firstLine: String { String(head.prefix { $0 != "\r\n" }) }
    }

    init(descriptor: Int32, index: Int) {
        self.descriptor = descriptor
        self.index = index
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// False if the client is gone.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + sent, bytes.count - sent) }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Ends the stream to the client.
    func end() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes so that the client sees a reset instead of an end.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// The next request with its whole body; nil if the client has closed the connection.
    func readRequest() -> Request? {
        guard let head = readHead() else { return nil }
        let lowercase = head.lowercasedASCII()
        if lowercase.containsSubstring("\r\ntransfer-encoding: chunked") {
            var body: [UInt8] = []
            while let line = readLine(), let size = Int(line, radix: 16) {
                guard let chunk = readBytes(size), readLine() != nil else { return nil }
                if size == 0 { return Request(head: head, body: body) }
                body += chunk
            }
            return nil
        }
        let length = lowercase.split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }
            .flatMap { Int($0.dropFirst(16)) }
        guard let body = readBytes(length ?? 0) else { return nil }
        return Request(head: head, body: body)
    }

    func readHead() -> String? {
        var searched = 0
        while true {
            if let end = indexOfEmptyLine(from: searched) {
                let head = String(decoding: received[..<end], as: UTF8.self)
                received.removeFirst(end + 4)
                return head
            }
            searched = max(0, received.count - 3)
            guard fill() else { return nil }
        }
    }

    /// Blocks until the client closes or sends.
    func waitForEnd() { while fill() {} }

    func readBytes(_ count: Int) -> [UInt8]? {
        while received.count < count { guard fill() else { return nil } }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    private func readLine() -> String? {
        while true {
            if let end = received.firstIndex(of: 10) {
                defer { received.removeFirst(end + 1) }
                return String(decoding: received[..<(end - 1)], as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    // Uses memchr, because a loop over each byte takes seconds for a megabyte under a sanitizer.
    private func indexOfEmptyLine(from start: Int) -> Int? {
        received.withUnsafeBytes { bytes -> Int? in
            guard let first = bytes.baseAddress else { return nil }
            var next = start
            while next + 4 <= bytes.count, let found = memchr(first + next, 13, bytes.count - next) {
                let index = first.distance(to: found)
                if bytes[index...].starts(with: [13, 10, 13, 10]) { return index }
                next = index + 1
            }
            return nil
        }
    }

    private func fill() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return false }
        received += buffer[..<count]
        return true
    }
}

/// Answers every request on a connection with the same text.
func answering(_ response: String) -> RawServer.Handler {
    { connection in while connection.readRequest() != nil, connection.send(response) {} }
}

func okResponse(_ body: String) -> String { "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)" }
