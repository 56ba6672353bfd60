import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct DescriptorTests {
    /// If a child process kept a connection open, the server would never see its end.
    @Test func childrenInheritNoConnections() async throws {
        let client = try TestClient.of("fault")
        let request = client.begin("hold", args: [.responseThread(.background)])
        _ = try await client.send("ok")
        let port = try URLParts(try TestServers.url("fault")).port
        let connections = (3..<1024 as Range<Int32>).filter { peerPort(of: $0) == port }
        let inherited = connections.filter { fcntl($0, F_GETFD) & FD_CLOEXEC == 0 }
        request.cancel()
        #expect(!connections.isEmpty && inherited.isEmpty)
    }

    private func peerPort(of descriptor: Int32) -> Int? {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
        }
        guard status == 0, address.sin_family == sa_family_t(AF_INET) else { return nil }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
