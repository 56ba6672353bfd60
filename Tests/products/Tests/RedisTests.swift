#if Redis
    import NTApi
    import NTApiRedis
    import Testing

    /// Limits and tokens on a Redis server.
    @Suite struct RedisTests {
        @Test func limitersShareALimit() async throws {
            let key = "swift \(UInt64.random(in: 0 ... .max))"
            let limits = [RateLimit(requests: 100, burst: 2)]
            let clients = try (0..<2).map { _ in
                let client = try ProductTests.client(of: "weather")
                let store = try RedisStore("unix://\(server("redis"))")
                client.rateLimiter = RateLimiter(
                    limits, sharedBy: store, key: key, StoreOptions(timeout: 60, onFailure: .closed))
                return client
            }
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<20 { group.addTask { try await clients[number % 2].send("echo").status } }
                for try await status in group { #expect(status == 200) }
            }
            // Two at once, and the others 10 ms apart.
            #expect(ContinuousClock.now - start >= .milliseconds(179))
        }

        @Test func authenticatorsShareAToken() async throws {
            let name = "swift\(UInt64.random(in: 0 ... .max))"
            let clients = try (0..<4).map { _ in
                let authenticator = Authenticator { refresh in
                    let args: [APIArg] = [.url("name", name)]
                    let answer = try await refresh.client.send("token/issue", args: args).json
                    return .init(answer?["token"]?.string ?? "", lifetime: 3600, refreshToken: "ü\n")
                }
                try authenticator.share(
                    by: RedisStore("unix://\(server("redis"))"), key: name, StoreOptions(timeout: 60))
                let client = try ProductTests.client(of: "fault")
                client.authenticator = authenticator
                return client
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for client in clients {
                    group.addTask { try await client.send("token/use", args: [.url("name", name)]).status }
                }
                for try await status in group { #expect(status == 200) }
            }
            let stats = try await clients[0].send("token", args: [.url("name", name)]).json
            #expect(stats?["issued"]?.int == 1 && stats?["accepted"]?.int == 4)
        }

        @Test func aStoreThatFailsSaysWhy() async throws {
            let client = try ProductTests.client(of: "weather")
            let store = try RedisStore("redis://:s3cret@127.0.0.1:1/0")
            #expect("\(store)" == "RedisStore(127.0.0.1:1)")
            client.rateLimiter = RateLimiter(
                [RateLimit(requests: 1)], sharedBy: store, key: "a", StoreOptions(timeout: 60, onFailure: .closed))
            let error = await #expect(throws: APIError.self) { try await client.send("echo") }
            #expect(error?.code == .storeFailed)
            #expect(error?.message.hasSuffix("127.0.0.1:1: Connection refused") == true)
        }

        @Test(arguments: [
            ("http://a", "has to begin with redis://"), ("redis://a/x", "the database \"x\""), ("a\0b", "zero byte"),
        ])
        func aWrongURLIsRefused(url: String, problem: String) {
            let error = #expect(throws: APIError.self) { try RedisStore(url) }
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains(problem) == true)
        }

        @Test func optionsAreChecked() {
            var options = RedisOptions()
            options.password = "s3cret"
            options.caFile = "/nowhere"
            #expect("\(options)\(String(reflecting: options))".contains("s3cret") == false)
            let error = #expect(throws: APIError.self) { try RedisStore("rediss://a", options) }
            #expect(error?.message.contains("the ca_file \"/nowhere\" cannot be read") == true)
            options.timeout = .nan
            #expect(throws: APIError.self) { try RedisStore("redis://a", options) }
        }
    }
#endif
