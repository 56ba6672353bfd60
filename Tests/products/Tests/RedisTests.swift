#if Redis
    import Foundation
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
            // Two requests start at once, and the others 10 ms apart.
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

        /// Clients that share responses as processes would.
        private func clients(_ count: Int, _ key: String, _ store: any SharedStore) throws -> [APIClient] {
            try (0..<count).map { _ in
                let cache = HTTPCache()
                try cache.share(by: store, key: key, StoreOptions(timeout: 60))
                var configuration = SessionConfiguration.ephemeral
                configuration.cache = cache
                configuration.proxy = ""
                return APIClient(baseURL: try server("fault"), configuration: configuration)
            }
        }

        @Test func cachesShareAResponse() async throws {
            let name = "swift\(UInt64.random(in: 0 ... .max))"
            let args: [APIArg] = [.url("token", name), .url("h-Cache-Control", "max-age=60")]
            let clients = try clients(4, name, try RedisStore("unix://\(server("redis"))"))
            var bodies: Set<String> = []
            try await withThrowingTaskGroup(of: String?.self) { group in
                for client in clients { group.addTask { try await client.send("cached", args: args).text } }
                for try await body in group { bodies.insert(body ?? "") }
            }
            func count() async throws -> Int? {
                try await clients[0].send("count", args: [.url("token", name)]).json?["count"]?.int
            }
            #expect(try await count() == 1 && bodies.count == 1)
            // A request that changes the resource removes the response.
            _ = await clients[0].response("cached", args: args + [.method("DELETE")])
            let before = try await count()
            _ = try await clients[0].send("cached", args: args)
            #expect(try await count() == before.map { $0 + 1 })
        }

        /// A response of a user, which the server cannot read.
        @Test func encryptedResponsesOfAUserAreShared() async throws {
            let name = "swift\(UInt64.random(in: 0 ... .max))"
            let args: [APIArg] = [.url("token", name), .url("h-Cache-Control", "private, max-age=60"), .bearer("ann")]
            var options = RedisOptions()
            for keys in [Self.keys[0], "\(Self.keys[1]) \(Self.keys[0])"] {
                options.encryptionKeys = keys
                let clients = try clients(2, name, try RedisStore("unix://\(server("redis"))", options))
                for client in clients { _ = try await client.send("cached", args: args) }
                let count = try await clients[0].send("count", args: [.url("token", name)])
                #expect(count.json?["count"]?.int == 1)
            }
            #expect(!"\(options)".contains(Self.keys[0]))
        }

        private static let keys = [1, 3].map { Data(repeating: $0, count: 32).base64EncodedString() }

        private func cipher(_ keys: String) throws -> any StoreCipher {
            var options = RedisOptions()
            options.encryptionKeys = keys
            return try #require(try RedisStore("redis://127.0.0.1", options).cipher)
        }

        /// The vectors of XAES-256-GCM (C2SP).
        @Test(arguments: [
            (0, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
            (1, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
        ])
        func theCipherIsThatOfOthers(_ key: Int, _ context: String, _ encrypted: String) throws {
            let digits = Array(encrypted)
            let body = stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(digits[$0...($0 + 1)]), radix: 16)
            }
            let value = [1] + Array("ABCDEFGHIJKLMNOPQRSTUVWX".utf8) + body
            let plain = try cipher(Self.keys[key]).decrypt(value, context: context)
            #expect(plain == Array("XAES-256-GCM".utf8))
            let other = try cipher(Self.keys[1 - key])
            #expect(throws: APIError.self) { try other.decrypt(value, context: context) }
            #expect(try cipher(Self.keys.joined(separator: ", ")).decrypt(value, context: context) == plain)
        }

        /// A changed value or another context is always detected.
        @Test func whatIsChangedIsNotDecrypted() throws {
            let cipher = try cipher(Self.keys[0])
            func isDecrypted(_ value: [UInt8], _ context: String = "a") -> Bool {
                (try? cipher.decrypt(value, context: context)) != nil
            }
            for size in [0, 1, 15, 16, 17, 1_000_000] {
                let plain = [UInt8](repeating: 7, count: size)
                let value = try cipher.encrypt(plain, context: "a")
                #expect(try value.count == size + 41 && value != cipher.encrypt(plain, context: "a"))
                #expect(try cipher.decrypt(value, context: "a") == plain)
                #expect(!isDecrypted(value, "b"))
                for place in size > 100 ? [0, 1, 24, 25, size / 2, size + 40] : Array(0..<value.count) {
                    var changed = value
                    changed[place] ^= 0x10
                    #expect(!isDecrypted(changed), "\(size), byte \(place)")
                }
                for length in [0, 1, 24, 25, 40, size + 40] { #expect(!isDecrypted(Array(value.prefix(length)))) }
            }
        }

        @Test(arguments: [
            "", " ", "abc", "\(keys[0]) x", String(keys[0].dropLast()), keys[0] + "=", keys[0] + keys[0],
            String(repeating: "=", count: 42) + "A=",
        ])
        func wrongKeysAreRefused(_ keys: String) {
            let error = #expect(throws: APIError.self) { try cipher(keys) }
            #expect(error?.message.contains("openssl rand -base64 32") == true)
        }

        /// If the server refuses a time to live, the store uses the nearest one that the server accepts.
        @Test func anyLifetimeWillDo() async throws {
            let store = try RedisStore("unix://\(server("redis"))")
            let rows: KeyValuePairs<String, [Double]> = [
                "RedisStore.set": [-.infinity, -1, 0, 0.0001, 5, 1e9, .greatestFiniteMagnitude, .infinity, .nan]
            ]
            for seconds in rows[0].value {
                let name = "swift\(UInt64.random(in: 0 ... .max))"
                let args: [APIArg] = [.url("token", name), .url("h-Cache-Control", "max-age=60")]
                let clients = try clients(2, name, Lasting(store, seconds))
                #expect(try await clients[0].send("cached", args: args).source == .network)
                let source = try await clients[1].send("cached", args: args).source
                if !(seconds < 1) { #expect(source == .cache, "\(seconds)") }
            }
        }

        /// A store that keeps all values for a time that the test chooses.
        private final class Lasting: SharedStore {
            private let other: RedisStore
            private let seconds: Double

            init(_ other: RedisStore, _ seconds: Double) { (self.other, self.seconds) = (other, seconds) }

            func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
                other.run(script, keys: keys, arguments: arguments, call)
            }

            func get(_ key: String, _ call: StoreCall) { other.get(key, call) }

            func set(_ key: String, _ value: [UInt8], seconds: Double, _ call: StoreCall) {
                other.set(key, value, seconds: self.seconds, call)
            }

            func remove(_ key: String, _ call: StoreCall) { other.remove(key, call) }
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
