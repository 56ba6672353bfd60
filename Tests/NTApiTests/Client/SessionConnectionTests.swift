import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Proxies, certificates, interfaces and limits, as servers see them.
@Suite struct SessionConnectionTests {
    // MARK: Proxy

    /// The proxy's log of the requests whose target contains a word.
    private func asked(_ proxy: String, for word: String) async throws -> [JSON] {
        let client = try TestClient.of(proxy)
        let record = try await client.send("__log").json?.array ?? []
        return record.filter { $0["target"]?.string?.containsSubstring(word) == true }
    }

    @Test func proxyWithCredentials() async throws {
        let word = "credentials-\(SeededGenerator.ofThisRun)"
        let client = try session("fault") {
            $0.proxy = try TestServers.url("proxy_auth")
            let parts = try TestServers.url("proxy_credentials").split(separator: ":", maxSplits: 1)
            $0.proxyUser = String(parts[0])
            $0.proxyPassword = String(parts[1])
        }
        #expect(await client.error("echo", [.url("q", word)]) == nil)
        #expect(try await asked("proxy_auth", for: word).map { $0["admitted"]?.bool } == [true])
        let stranger = try session("fault") {
            $0.proxy = try TestServers.url("proxy_auth")
            $0.proxyUser = "somebody"
            $0.proxyPassword = "else"
        }
        #expect(await stranger.error("echo")?.httpStatus == 407)
        #expect(await (try session("fault") { $0.proxy = try TestServers.url("proxy_auth") }).error("echo") != nil)
    }

    @Test func proxyWithCredentialsInItsURL() async throws {
        let client = try session("fault_tls") {
            let credentials = try TestServers.url("proxy_credentials")
            let url = try TestServers.url("proxy_auth")
            $0.proxy =
                "http://\(PercentEncoding.component(credentials.split(separator: ":")[0].description)):"
                + "\(PercentEncoding.component(credentials.split(separator: ":")[1].description))@\(url.dropFirst(7))"
        }
        #expect(await client.error("echo") == nil)
    }

    /// libcurl would use another user's tunnel, because it compares the proxy's address but not its user.
    @Test func aTunnelIsNotForOthers() async throws {
        let parts = try TestServers.url("proxy_credentials").split(separator: ":", maxSplits: 1).map(String.init)
        func client(_ user: String, _ password: String) throws -> APIClient {
            try session("fault_tls") {
                // The URL differs from that of other tests, so that their tunnels are not used.
                $0.proxy = try TestServers.url("proxy_auth") + "/"
                $0.proxyUser = user
                $0.proxyPassword = password
            }
        }
        let good = try client(parts[0], parts[1])
        for _ in 0..<3 { #expect(await good.error("echo") == nil) }
        for _ in 0..<3 { #expect(await (try client(parts[0], "wrong")).error("echo") != nil) }
        for _ in 0..<3 { #expect(await good.response("echo").metrics.connectionReused) }
    }

    /// With and without a tunnel.
    @Test(arguments: ["fault", "fault_tls"]) func aProxyIsToldTheUserAgent(server: String) async throws {
        let agent = "agent-\(server)-\(SeededGenerator.ofThisRun)"
        let client = try session(server) {
            $0.proxy = try TestServers.url("proxy")
            $0.userAgent = agent
        }
        #expect(try await client.echo()["header"]?["user-agent"]?.string == agent)
        let told = try await asked("proxy", for: "").compactMap { entry in
            entry["headers"]?.array?.first { $0[1]?.string == agent }?[0]?.string
        }
        #expect(told == ["User-Agent"])
    }

    @Test func proxyIsOffPerHost() async throws {
        let word = "off-\(SeededGenerator.ofThisRun)"
        let client = try session("fault") {
            $0.proxy = try TestServers.url("proxy")
            $0.proxyExceptions = ["example.test", "127.0.0.1"]
        }
        let other = try TestServers.url("fault").replacingHost(by: "localhost")
        #expect(await client.error("echo", [.url("q", "\(word)-direct")]) == nil)
        #expect(await client.error("", [.baseURL("\(other)/echo"), .url("q", "\(word)-proxied")]) == nil)
        let targets = try await asked("proxy", for: word).compactMap { $0["target"]?.string }
        #expect(targets.count == 1 && targets[0].containsSubstring("proxied"), "\(targets)")
    }

    // MARK: TLS

    @Test func tlsMinimum() async throws {
        // This server speaks TLS 1.2 at most.
        func client(_ version: TLSVersion?) throws -> APIClient {
            try session("tls_client") {
                $0.tlsMinimumVersion = version
                $0.clientCertificate = try TestServers.url("client_cert")
                $0.clientKey = try TestServers.url("client_key")
            }
        }
        #expect(await (try client(nil)).error("echo") == nil)
        #expect(await (try client(.tls12)).error("echo") == nil)
        #expect(await (try client(.tls13)).error("echo")?.code == .tls)
        #expect(await (try session("nginx_tls") { $0.tlsMinimumVersion = .tls13 }).error("small.json") == nil)
        #expect(await (try session("tls_old") { _ in }).error("echo")?.code == .tls)
    }

    @Test func clientCertificate() async throws {
        let certificate = try TestServers.url("client_cert")
        let key = try TestServers.url("client_key")
        let with = try session("tls_client") {
            $0.clientCertificate = certificate
            $0.clientKey = key
        }
        for _ in 0..<3 { #expect(await with.error("echo") == nil) }
        // A session without the certificate does not use a connection that was opened with it.
        for _ in 0..<3 { #expect(await (try session("tls_client") { _ in }).error("echo") != nil) }
        let wrong = try session("tls_client") {
            $0.clientCertificate = certificate
            $0.clientKey = try TestServers.url("ca")
        }
        let error = await wrong.error("echo")
        #expect(
            error?.code == .tls && error?.message.containsSubstring("clientKey") == true, "\(String(describing: error))"
        )
        #expect(await with.response("echo").metrics.connectionReused)
    }

    @Test func clientKeyWithAPassword() async throws {
        let certificate = try TestServers.url("client_cert")
        let folder = try TestServers.url("tmp")
        let key = "\(folder)/locked-\(SeededGenerator.ofThisRun).key"
        let plain = try TestServers.url("client_key")
        _ = shell("openssl pkcs8 -topk8 -in \(plain) -out \(key) -passout pass:0pen")
        func client(_ password: String?) throws -> APIClient {
            try session("tls_client") {
                $0.clientCertificate = certificate
                $0.clientKey = key
                $0.clientKeyPassword = password
            }
        }
        #expect(await (try client("0pen")).error("echo") == nil)
        let error = await (try client("shut")).error("echo")
        #expect(error?.code == .tls && error?.message.containsSubstring("clientKeyPassword") == true)
        #expect(await (try client(nil)).error("echo")?.code == .tls)
        // One file has both the certificate and the key.
        let both = "\(folder)/both-\(SeededGenerator.ofThisRun).pem"
        _ = shell("cat \(certificate) \(plain) > \(both)")
        #expect(await (try session("tls_client") { $0.clientCertificate = both }).error("echo") == nil)
    }

    @Test func pinnedPublicKeys() async throws {
        let pin = try TestServers.url("pin")
        let other = "sha256//\(Base64.encode([UInt8](repeating: 7, count: 32)))"
        let swapped =
            String(pin.prefix(8)) + String(pin.dropFirst(8).map { $0.isLowercase ? Character($0.uppercased()) : $0 })
        for pins in [[pin], [other, pin]] {
            let client = try session("fault_tls") { $0.pinnedPublicKeys = pins }
            for _ in 0..<2 { #expect(await client.error("echo") == nil) }
        }
        // In the second round, there are open connections.
        for pins in [[other], [swapped]] {
            let client = try session("fault_tls") { $0.pinnedPublicKeys = pins }
            let error = await client.error("echo")
            #expect(error?.code == .tls && error?.message.containsSubstring("pinned") == true, "\(pins)")
            #expect(error?.isRetryable == false)
        }
        // The pin is checked even if the certificate is not.
        let client = try session("fault_tls") { $0.pinnedPublicKeys = [other] }
        #expect(await client.error("echo", [.option(.allowInvalidCertificate)])?.code == .tls)
    }

    @Test func caFile() async throws {
        #expect(await (try session("fault_tls") { $0.caFile = nil }).error("echo")?.code == .tls)
    }

    // MARK: Interface

    @Test func networkInterface() async throws {
        let server = try RawServer { connection in
            while connection.readRequest() != nil { connection.send(okResponse("\"\(connection.peer)\"")) }
        }
        func peer(_ interface: String?) async throws -> String? {
            let client = try session("fault") { $0.networkInterface = interface }
            return try await client.send("", args: [.baseURL(server.url)]).json?.string
        }
        #expect(try await peer("host!127.0.0.2") == "127.0.0.2")
        #expect(try await peer("127.0.0.3") == "127.0.0.3")
        // The next session does not use the connections of these.
        #expect(try await peer(nil) == "127.0.0.1")
        let client = try session("fault") { $0.networkInterface = "if!none0" }
        let error = await client.error("echo")
        #expect(error?.code == .network && error?.message.containsSubstring("networkInterface") == true)
    }

    // MARK: Limits

    @Test func connectionsPerHost() async throws {
        let server = try CountingServer(okResponse("1"), together: 3)
        let client = try session("fault") { $0.maximumConnectionsPerHost = 3 }
        let requests = (0..<60).map { _ in client.begin("", args: [.baseURL(server.url), .responseThread(.background)])
        }
        await onThread { for request in requests { request.wait() } }
        #expect(requests.allSatisfy { $0.response?.error == nil })
        #expect(server.most == 3 && server.connectionCount == 3, "\(server.most) \(server.connectionCount)")
        // The limit also holds for callers that make the transfer on their own thread.
        await withTaskGroup { group in
            for _ in 0..<20 {
                group.addTask { await onThread { _ = client.perform("", args: [.baseURL(server.url)]) } }
            }
        }
        #expect(server.connectionCount == 3)
    }

    /// All threads get the same object, whichever thread is first. Otherwise each would have its own limit.
    @Test func oneLimitForThreadsThatBeginAtOnce() async throws {
        for _ in 0..<20 {
            let client = try session("fault") { $0.maximumConnections = 1 }
            let found = await withTaskGroup(of: ObjectIdentifier?.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        await onThread { client.settings.transfer.context?.connections.map(ObjectIdentifier.init) }
                    }
                }
                return await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(found.count == 1 && !found.contains(nil))
        }
    }

    /// A limit belongs to one session: requests of another do not count.
    @Test func connectionsPerHostAreOfOneSession() async throws {
        let gate = Signal()
        let server = try RawServer { connection in
            while connection.readRequest() != nil {
                gate.block()
                connection.send(okResponse("1"))
            }
        }
        let clients = try (0..<2).map { _ in try session("fault") { $0.maximumConnectionsPerHost = 1 } }
        let requests = clients.map { $0.begin("", args: [.baseURL(server.url), .responseThread(.background)]) }
        await onThread { server.waitForConnections(2) }
        gate.set()
        await onThread { for request in requests { request.wait() } }
        #expect(requests.allSatisfy { $0.response?.error == nil } && server.connectionCount == 2)
    }

    /// Idle connections count. When the limit is reached, those to one server are closed for the next.
    @Test func connectionsInTotal() async throws {
        let open = OpenConnections()
        let servers = try (0..<4).map { _ in
            try RawServer { connection in
                open.begin()
                while connection.readRequest() != nil { connection.send(okResponse("1")) }
                open.end()
            }
        }
        let client = try session("fault") { $0.maximumConnections = 2 }
        for round in 0..<3 {
            let requests = (0..<40).map { number in
                client.begin("", args: [.baseURL(servers[number % 4].url), .responseThread(.background)])
            }
            await onThread { for request in requests { request.wait() } }
            #expect(requests.allSatisfy { $0.response?.error == nil }, "\(round)")
            #expect(await open.falls(to: 2), "\(round)")
        }
        client.close()
    }

    /// With a low limit, one loop has to count all connections.
    @Test func callersHavePartOfAHighLimit() throws {
        for (limit, isDirect) in [(63, false), (64, true)] {
            let client = try session("fault") { $0.maximumConnections = limit }
            let lent = Runtime.current.engine.directLoop(for: client.settings.transfer)
            #expect((lent != nil) == isDirect)
            if let lent { lent.loop.giveBack(lent.loan) }
            client.close()
        }
    }

    @Test func connectionsEndWithTheirSession() async throws {
        let open = OpenConnections()
        let server = try RawServer { connection in
            open.begin()
            while connection.readRequest() != nil { connection.send(okResponse("1")) }
            open.end()
        }
        do {
            let client = try session("fault") { $0.maximumConnections = 2 }
            #expect(await client.error("", [.baseURL(server.url)]) == nil)
        }
        #expect(await open.falls(to: 0) && server.connectionCount == 1)
    }

    /// Clients without a configuration, but with equal TLS settings, share their connections.
    @Test func equalIdentitiesShareConnections() throws {
        let pin = try TestServers.url("pin")
        let clients = (0..<3).map { number in
            let client = APIClient(baseURL: "https://localhost")
            client.defaults["pinnedPublicKeys"] = JSON(pin)
            client.defaults["userAgent"] = JSON("client/\(number)")
            if number == 2 { client.defaults["tlsMinimumVersion"] = "1.3" }
            return client
        }
        let own = clients.map { $0.settings.transfer.context?.connections }
        #expect(own[0] != nil && own[0] === own[1] && own[2] != nil && own[0] !== own[2])
        #expect(APIClient(baseURL: "https://localhost").settings.transfer.context?.connections == nil)
        let sessions = try (0..<2).map { _ in try session("fault_tls") { $0.pinnedPublicKeys = [pin] } }
        let ofSessions = sessions.map { $0.settings.transfer.context?.connections }
        #expect(ofSessions[0] != nil && ofSessions[0] !== ofSessions[1])
    }
}

/// The number of open connections at the servers.
private final class OpenConnections: Sendable {
    private let count = Monitor(0)

    func begin() { count.withLock(inChild: ()) { $0 += 1 } }

    func end() {
        count.withLock(inChild: ()) { $0 -= 1 }
        count.broadcast()
    }

    /// Waits until there are at most this many: a server sees a closed connection a moment later.
    func falls(to limit: Int) async -> Bool {
        await onThread {
            let deadline = MonotonicTime.now().advanced(bySeconds: patience)
            return self.count.wait(until: deadline) { $0 <= limit ? true : nil } ?? false
        }
    }
}

extension RawConnection {
    /// The address that the client has connected from.
    fileprivate var peer: String {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
        }
        return withUnsafeBytes(of: address.sin_addr.s_addr) { $0.map { "\($0)" }.joined(separator: ".") }
    }
}

extension String {
    fileprivate func replacingHost(by host: String) -> String {
        "http://\(host):\(split(separator: ":").last.map(String.init) ?? "")"
    }
}
