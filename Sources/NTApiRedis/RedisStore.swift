#if Redis
    import CNTApiRedis
    public import NTApi

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Darwin)
        import Darwin
    #endif

    /// A store on a Redis or Valkey server: see ``NTApi/RateLimiter/init(_:sharedBy:key:_:)``.
    ///
    /// It connects when it is first asked, and again after a failure. It has one connection and one thread. Sentinels
    /// and Redis Clusters are refused when it connects.
    public final class RedisStore: SharedStore, CustomStringConvertible {
        private let link: Link
        /// Where the server is, without the password.
        public let description: String
        /// That of ``RedisOptions/encryptionKeys``.
        public let cipher: (any StoreCipher)?

        /// Makes a store on a server: Redis 7 or later, or Valkey.
        ///
        /// - Parameter url: `redis://HOST:PORT/DATABASE`; `rediss:` uses TLS, and verifies the server's certificate;
        ///   `unix:///PATH?db=DATABASE` is a Unix socket.
        /// - Throws: what is wrong with the URL or the options.
        public init(_ url: String, _ options: RedisOptions = RedisOptions()) throws(APIError) {
            let texts: [String?] = [
                url, options.username, options.password, options.caFile, options.clientCertificate, options.clientKey,
                options.encryptionKeys, ntapiVersion,
            ]
            guard texts.allSatisfy({ $0?.utf8.contains(0) != true }) else {
                throw APIError(
                    domain: .request, code: .invalidRequest, message: "an option of the store has a zero byte")
            }
            let copies = texts.map { $0.flatMap { strdup($0) } }
            defer { for copy in copies { free(copy) } }
            var given = redis_link_options()
            given.url = UnsafePointer(copies[0])
            given.username = UnsafePointer(copies[1])
            given.password = UnsafePointer(copies[2])
            given.ca_file = UnsafePointer(copies[3])
            given.client_certificate = UnsafePointer(copies[4])
            given.client_key = UnsafePointer(copies[5])
            given.encryption_keys = UnsafePointer(copies[6])
            given.version = UnsafePointer(copies[7])
            given.timeout = options.timeout
            var problem: UnsafeMutablePointer<CChar>?
            guard let pointer = redis_link_create(&given, &problem) else {
                defer { free(problem) }
                throw APIError(
                    domain: .request, code: .invalidRequest, message: problem.map { String(cString: $0) } ?? "no memory"
                )
            }
            let link = Link(pointer)
            self.link = link
            cipher = redis_link_encrypts(pointer) ? RedisCipher(link: link) : nil
            description = "RedisStore(\(String(cString: redis_link_name(pointer))))"
        }

        /// Runs a script of the library on the server.
        public func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
            let texts = (keys + arguments).map { strdup($0) }
            defer { for text in texts { free(text) } }
            let all = texts.map { UnsafePointer($0) }
            redis_link_run(
                link.pointer, script.lua, Array(all.prefix(keys.count)), keys.count, Array(all.dropFirst(keys.count)),
                arguments.count,
                { context, values, count, problem in
                    guard let context else { return }
                    let call = Unmanaged<StoreCall>.fromOpaque(context).takeRetainedValue()
                    if let values {
                        let texts = UnsafeBufferPointer(start: values, count: count)
                        call.reply(texts.map { $0.map { String(cString: $0) } ?? "" })
                    } else {
                        call.fail(problem.map { String(cString: $0) } ?? "")
                    }
                }, Unmanaged.passRetained(call).toOpaque())
        }
    }

    extension RedisStore {
        /// Reads a value.
        public func get(_ key: String, _ call: StoreCall) {
            redis_link_get(link.pointer, key, replyValue, Unmanaged.passRetained(call).toOpaque())
        }

        /// Keeps a value until it expires.
        public func set(_ key: String, _ value: [UInt8], seconds: Double, _ call: StoreCall) {
            redis_link_set(
                link.pointer, key, value, value.count, seconds, replyValue, Unmanaged.passRetained(call).toOpaque())
        }

        /// Removes a value.
        public func remove(_ key: String, _ call: StoreCall) {
            redis_link_remove(link.pointer, key, replyValue, Unmanaged.passRetained(call).toOpaque())
        }
    }

    private let replyValue: redis_link_value_fn = { context, value, size, problem in
        guard let context else { return }
        let call = Unmanaged<StoreCall>.fromOpaque(context).takeRetainedValue()
        if let problem {
            call.fail(String(cString: problem))
        } else {
            call.reply(value: value.map { Array(UnsafeRawBufferPointer(start: $0, count: size)) })
        }
    }

    private struct RedisCipher: StoreCipher {
        let link: Link

        func encrypt(_ value: [UInt8], context: String) throws -> [UInt8] {
            var size = 0
            return try taken(redis_link_encrypt(link.pointer, context, value, value.count, &size), size, "encrypted")
        }

        func decrypt(_ value: [UInt8], context: String) throws -> [UInt8] {
            var size = 0
            return try taken(redis_link_decrypt(link.pointer, context, value, value.count, &size), size, "decrypted")
        }

        private func taken(_ made: UnsafeMutableRawPointer?, _ size: Int, _ word: String) throws(APIError) -> [UInt8] {
            guard let made else {
                throw APIError(domain: .request, code: .storeFailed, message: "it cannot be \(word) with these keys")
            }
            defer { free(made) }
            return Array(UnsafeRawBufferPointer(start: made, count: size))
        }
    }

    /// Frees the C object.
    private final class Link: @unchecked Sendable {
        // Safe to use from any thread, as CNTApiRedis.h says.
        let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) { self.pointer = pointer }

        deinit { redis_link_free(pointer) }
    }
#else
    /// Needs the package's trait Redis.
    @available(*, unavailable, message: "depend on the package with traits: [\"Redis\"]")
    public final class RedisStore {}
#endif
