public import CNTApi
import NTApi

/// What an `ntapi_store` stands for.
final class StoreBox: Sendable {
    let store: any SharedStore

    init(_ store: any SharedStore) { self.store = store }
}

/// What an `ntapi_store_call` stands for. Dropping it without an answer counts as a failure.
final class StoreCallBox: Sendable {
    fileprivate let call: StoreCall

    fileprivate init(_ call: StoreCall) { self.call = call }
}

/// The functions of a store that was written in C which encrypt.
private struct CCipher: StoreCipher {
    let encrypting, decrypting: ntapi_store_cipher_fn
    let userData: UserData

    func encrypt(_ value: [UInt8], context: String) throws -> [UInt8] { try change(value, context, encrypting) }

    func decrypt(_ value: [UInt8], context: String) throws -> [UInt8] { try change(value, context, decrypting) }

    private func change(
        _ value: [UInt8], _ context: String, _ function: ntapi_store_cipher_fn
    ) throws(APIError) -> [UInt8] {
        try StoreCall.value { call in
            context.withCString { context in
                value.withUnsafeBytes {
                    function(userData.pointer, context, $0.baseAddress, $0.count, Handles.make(StoreCallBox(call)))
                }
            }
        }
    }
}

/// A store that was written in C.
private final class CStore: SharedStore {
    private let functions: ntapi_store_functions
    private let runScript: ntapi_store_run_fn
    private let userData: UserData
    let cipher: (any StoreCipher)?

    init(_ functions: ntapi_store_functions, _ userData: UserData) throws(APIError) {
        guard let run = functions.run else { throw .invalidArgument("the store has no function run") }
        switch (functions.encrypt, functions.decrypt) {
        case (let encrypt?, let decrypt?):
            cipher = CCipher(encrypting: encrypt, decrypting: decrypt, userData: userData)
        case (nil, nil): cipher = nil
        default: throw .invalidArgument("the store has one of encrypt and decrypt: it needs both or none")
        }
        self.functions = functions
        runScript = run
        self.userData = userData
    }

    func get(_ key: String, _ call: StoreCall) {
        guard let get = functions.get else { return call.failWithoutValues() }
        key.withCString { get(userData.pointer, $0, Handles.make(StoreCallBox(call))) }
    }

    func set(_ key: String, _ value: [UInt8], seconds: Double, _ call: StoreCall) {
        guard let set = functions.set else { return call.failWithoutValues() }
        key.withCString { key in
            value.withUnsafeBytes {
                set(userData.pointer, key, $0.baseAddress, $0.count, seconds, Handles.make(StoreCallBox(call)))
            }
        }
    }

    func remove(_ key: String, _ call: StoreCall) {
        guard let remove = functions.remove else { return call.failWithoutValues() }
        key.withCString { remove(userData.pointer, $0, Handles.make(StoreCallBox(call))) }
    }

    func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
        let texts = (keys + arguments).map { UnsafePointer(newText($0)) as UnsafePointer<CChar>? }
        defer { for text in texts { ntapi_text_free(UnsafeMutablePointer(mutating: text)) } }
        script.name.withCString { name in
            script.lua.withCString { lua in
                texts.withUnsafeBufferPointer { all in
                    runScript(
                        userData.pointer, name, lua, all.baseAddress, keys.count,
                        all.baseAddress.map { $0 + keys.count },
                        arguments.count, Handles.make(StoreCallBox(call)))
                }
            }
        }
    }
}

extension RateLimit {
    fileprivate init(c given: UnsafeRawPointer) throws(APIError) {
        let limit = try ntapi_rate_limit(c: given)
        self.init(
            requests: limit.requests, seconds: limit.seconds, burst: Int(limit.burst),
            maximumPause: limit.maximum_pause)
    }
}

extension StoreOptions {
    /// - Parameters:
    ///   - timeout: in seconds; 0 is the default.
    ///   - lease: the same.
    init(
        timeout: Double, _ substitute: ntapi_store_substitute = NTAPI_STORE_SUBSTITUTE_NONE, lease: Double = 0
    ) throws(APIError) {
        self.init()
        if timeout != 0 { self.timeout = timeout }
        if lease != 0 { self.lease = lease }
        switch substitute {
        case NTAPI_STORE_SUBSTITUTE_NONE: break
        case NTAPI_STORE_SUBSTITUTE_LOCAL: onFailure = .local
        case NTAPI_STORE_SUBSTITUTE_OPEN: onFailure = .open
        case NTAPI_STORE_SUBSTITUTE_CLOSED: onFailure = .closed
        default: throw .invalidArgument("on_failure is no ntapi_store_substitute")
        }
    }
}

func storeAndKey(
    _ store: OpaquePointer?, _ key: UnsafePointer<CChar>?
) throws(APIError) -> (any SharedStore, String) {
    guard let store = Handles.get(store, StoreBox.self)?.store else { throw .wrongHandle("store", "a store") }
    guard let key = String(c: key) else { throw .invalidArgument("key is NULL or not UTF-8") }
    return (store, key)
}

extension RateLimiter {
    fileprivate static func make(_ given: UnsafePointer<ntapi_rate_limiter_options>?) throws(APIError) -> RateLimiter {
        guard let given else { throw .invalidArgument("options is NULL") }
        let options = try ntapi_rate_limiter_options(c: given)
        var limits: [RateLimit] = []
        if options.limit_count > 0 {
            guard let first = options.limits.map({ UnsafeRawPointer($0) }) else {
                throw .invalidArgument("limits is NULL, but limit_count is \(options.limit_count)")
            }
            var place = first
            for _ in 0..<options.limit_count {
                limits.append(try RateLimit(c: place))
                place += place.loadUnaligned(as: Int.self)
            }
        }
        guard options.store != nil else {
            guard options.key == nil else { throw .invalidArgument("there is a key, but no store") }
            return RateLimiter(limits)
        }
        let (store, key) = try storeAndKey(options.store, options.key)
        var stored = try StoreOptions(timeout: options.store_timeout, options.on_failure)
        if options.batch != 0 { stored.batch = Int(options.batch) }
        return RateLimiter(limits, sharedBy: store, key: key, stored)
    }
}

@_cdecl("ntapi_store_create") @implementation
public func ntapi_store_create(
    _ functions: UnsafePointer<ntapi_store_functions>!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> OpaquePointer! {
    let userData = UserData(user_data, destroy)
    do throws(APIError) {
        guard let functions else { throw .invalidArgument("functions is NULL") }
        return Handles.make(StoreBox(try CStore(ntapi_store_functions(c: functions), userData)))
    } catch let problem {
        error?.pointee = problem.handle
        return nil
    }
}

@_cdecl("ntapi_store_free") @implementation
public func ntapi_store_free(_ store: OpaquePointer!) { Handles.free(store, StoreBox.self) }

@_cdecl("ntapi_file_store_create") @implementation
public func ntapi_file_store_create(_ path: UnsafePointer<CChar>!) -> OpaquePointer! {
    guard let path = String(c: path), !path.isEmpty else { return nil }
    return Handles.make(StoreBox(FileStore(path)))
}

@_cdecl("ntapi_store_call_reply") @implementation
public func ntapi_store_call_reply(
    _ call: OpaquePointer!, _ values: UnsafePointer<UnsafePointer<CChar>?>!, _ count: Int
) -> ntapi_status {
    guard let box = Handles.free(call, StoreCallBox.self), count >= 0, values != nil || count == 0 else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    let texts = UnsafeBufferPointer(start: values, count: count).map { String(c: $0) }
    guard !texts.contains(nil) else {
        box.call.fail("a value of its reply is NULL or not UTF-8")
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    box.call.reply(texts.compactMap(\.self))
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_store_call_reply_value") @implementation
public func ntapi_store_call_reply_value(
    _ call: OpaquePointer!, _ value: UnsafeRawPointer!, _ size: Int
) -> ntapi_status {
    guard let box = Handles.free(call, StoreCallBox.self), size >= 0, value != nil || size == 0 else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    box.call.reply(value: value.map { Array(UnsafeRawBufferPointer(start: $0, count: size)) })
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_store_call_fail") @implementation
public func ntapi_store_call_fail(_ call: OpaquePointer!, _ problem: UnsafePointer<CChar>!) -> ntapi_status {
    guard let box = Handles.free(call, StoreCallBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    box.call.fail(String(c: problem) ?? "the program does not say why")
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_rate_limiter_create_with") @implementation
public func ntapi_rate_limiter_create_with(
    _ options: UnsafePointer<ntapi_rate_limiter_options>!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> OpaquePointer! {
    do throws(APIError) {
        let limiter = try RateLimiter.make(options)
        if let problem = limiter.problem { throw .invalidArgument(problem.message) }
        return Handles.make(RateLimiterBox(limiter))
    } catch let problem {
        error?.pointee = problem.handle
        return nil
    }
}
