@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A connection to the Redis server of the tests. It sends one command at a time.
final class RedisConnection: Sendable {
    struct Failure: Error, CustomStringConvertible { let description: String }

    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard status == 0 else { throw Failure(description: "no Redis server at \(path)") }
    }

    deinit { close(descriptor) }

    /// Sends a command, and returns the texts and integers of its reply.
    func values(_ words: [String]) throws -> [String] {
        var sent = Array("*\(words.count)\r\n".utf8)
        for word in words { sent += Array("$\(word.utf8.count)\r\n\(word)\r\n".utf8) }
        var rest = sent[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Failure(description: "the connection has ended") }
            rest = rest.dropFirst(count)
        }
        let line = try line()
        guard line.hasPrefix("*"), let count = Int(line.dropFirst()) else { throw Failure(description: line) }
        return try (0..<count).map { _ in
            let line = try self.line()
            switch line.first {
            case ":": return String(line.dropFirst())
            case "$": return try self.line()
            default: throw Failure(description: line)
            }
        }
    }

    func run(_ lua: String, _ keys: [String], _ arguments: [String]) throws -> [String] {
        try values(["EVAL", lua, "\(keys.count)"] + keys + arguments)
    }

    private func line() throws -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while !bytes.suffix(2).elementsEqual([13, 10]) {
            guard recv(descriptor, &byte, 1, 0) == 1 else { throw Failure(description: "the connection has ended") }
            bytes.append(byte)
        }
        return String(decoding: bytes.dropLast(2), as: UTF8.self)
    }
}

/// A store on that server. Each script has its own connection and thread.
final class RedisStore: SharedStore {
    private let path: String

    init() throws { path = try TestServers.url("redis") }

    func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
        let hasStarted = Thread.start(name: "redis") { [path] in
            do {
                call.reply(try RedisConnection(path).run(script.lua, keys, arguments))
            } catch {
                call.fail("\(error)")
            }
        }
        guard hasStarted else { return call.fail("a thread cannot be started") }
    }
}
