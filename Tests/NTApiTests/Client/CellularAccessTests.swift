import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

#if os(Linux)
    /// Connections over a mobile interface. A folder of the test describes the loopback interface as mobile.
    @Suite(.serialized) final class CellularAccessTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
            _ = shell("mkdir '\(folder.path)/lo'")
            describe("INTERFACE=lo\nIFINDEX=1\nDEVTYPE=wwan\n")
            let path = folder.path
            CellularInterface.folder.withLock { $0 = path }
        }

        deinit { CellularInterface.folder.withLock { $0 = "/sys/class/net" } }

        private func describe(_ text: String) { folder.write("lo/uevent", Array(text.utf8)) }

        private func server() throws -> RawServer {
            try RawServer { connection in
                while connection.readRequest() != nil { _ = connection.send(okResponse("{}")) }
            }
        }

        private func session(
            _ url: String, _ change: (inout SessionConfiguration) -> Void = { $0.allowsCellularAccess = false }
        ) -> APIClient {
            var configuration = SessionConfiguration.ephemeral
            configuration.proxy = ""
            change(&configuration)
            let client = APIClient(baseURL: url, configuration: configuration)
            client.logFlags = []
            return client
        }

        /// The outcome of a request, on the network thread and on a caller's.
        private func errors(_ client: APIClient) async -> [APIError?] {
            [await client.response().error, await onThread { client.perform().error }]
        }

        private func check(_ errors: [APIError?], sourceLocation: SourceLocation = #_sourceLocation) {
            for error in errors {
                #expect(
                    error?.code == .noInternet && error?.domain == .network, "\(error as Any)",
                    sourceLocation: sourceLocation)
                let words = ["mobile interface lo", "allowsCellularAccess is false"]
                #expect(
                    words.allSatisfy { error?.message.containsSubstring($0) == true }, "\(error as Any)",
                    sourceLocation: sourceLocation)
                #expect(
                    error?.isRetryable == true && error?.failure == .unreachable, sourceLocation: sourceLocation)
            }
        }

        @Test func areRefused() async throws {
            let server = try server()
            check(await errors(session(server.url)))
            check([await session(server.url).response(args: [.form("a", "b")]).error])
            #expect(server.connectionCount == 0)
            for allowed in [true, nil] {
                let client = session(server.url) { $0.allowsCellularAccess = allowed }
                #expect(await errors(client).allSatisfy { $0 == nil })
            }
        }

        @Test(arguments: ["", "INTERFACE=lo\n", "DEVTYPE=wlan\n", "XDEVTYPE=wwan\n", "DEVTYPE=wwanx"])
        func othersAreNot(_ text: String) async throws {
            describe(text)
            let server = try server()
            #expect(await errors(session(server.url)).allSatisfy { $0 == nil })
        }

        @Test func asADefaultOfAClass() async throws {
            final class Frugal: TestClient, @unchecked Sendable {}
            Frugal.defaults["allowsCellularAccess"] = false
            check(await errors(try Frugal.of("fault_tls")))
            let client = try Frugal.of("fault_tls")
            client.defaults["allowsCellularAccess"] = true
            #expect(try await client.send("echo").status == 200)
            client.defaults["allowsCellularAccess"] = "no"
            #expect(await client.response("echo").error?.code == .invalidRequest)
        }

        @Test func proxiesCountAsWell() async throws {
            let proxy = try server()
            for url in ["http://example.test", "https://example.test"] {
                check(
                    await errors(
                        session(url) {
                            $0.allowsCellularAccess = false
                            $0.proxy = proxy.url
                        }))
            }
            #expect(proxy.connectionCount == 0)
        }

        /// Clients without a configuration share connections, but not those with different settings for cellular
        /// access.
        @Test func connectionsOfOthersAreNotUsed() async throws {
            let server = try server()
            let open = TestClient(at: server.url)
            #expect(await errors(open).allSatisfy { $0 == nil })
            let count = server.connectionCount
            let frugal = TestClient(at: server.url)
            frugal.defaults["allowsCellularAccess"] = false
            check(await errors(frugal))
            #expect(server.connectionCount == count)
            #expect(await errors(open).allSatisfy { $0 == nil })
        }

        @Test(arguments: ["lo", "if!lo", "127.0.0.1", "host!127.0.0.1"]) func boundConnections(_ name: String)
            async throws
        {
            let server = try server()
            check(
                await errors(
                    session(server.url) {
                        $0.allowsCellularAccess = false
                        $0.networkInterface = name
                    }))
            #expect(server.connectionCount == 0)
        }

        /// After the connection was opened, its address belongs to a mobile interface.
        @Test func aConnectionThatIsThereIsLookedAt() async throws {
            describe("")
            let server = try server()
            let client = session(server.url)
            #expect(await errors(client).allSatisfy { $0 == nil })
            describe("DEVTYPE=wwan\n")
            check(await errors(client))
            #expect(server.connectionCount == 2)
        }

        @Test func addresses() {
            #expect(CellularInterface.having("127.0.0.1") == "lo" && CellularInterface.having("192.0.2.1") == nil)
            #expect(CellularInterface.having("") == nil && CellularInterface.having("lo") == nil)
            for name in ["", ".", "..", "../lo", "lo/", "none"] { #expect(!CellularInterface.isCellular(name)) }
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = 443
            address.sin6_addr = in6addr_loopback
            let size = socklen_t(MemoryLayout<sockaddr_in6>.size)
            let found = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    CellularInterface.towards($0, size, boundTo: nil)
                }
            }
            // A machine without IPv6 cannot test this.
            #expect(found == CellularInterface.having("::1"))
        }
    }
#endif
