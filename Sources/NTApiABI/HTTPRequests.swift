public import CNTApi
import NTApi

/// What an `ntapi_http_request` stands for: a built request that the program may change.
final class HTTPRequestBox: Sendable {
    private let state: Lock<HTTPRequest>

    init(_ request: HTTPRequest) { state = Lock(request) }

    var request: HTTPRequest { state.withLock { $0 } }

    /// If that cannot be set, the request fails, unless the same setter then sets a right value: the caller may not look at
    /// the status, and the request would be sent without it.
    ///
    /// - Parameters:
    ///   - setter: the function, and what it sets.
    ///   - change: returns whether that can be used.
    func change(_ setter: String, _ change: (inout HTTPRequest) -> Bool) -> ntapi_status {
        let (isRight, replaced) = state.withLock { request in
            var changed = request
            let isRight = change(&changed) && changed.isValid()
            let replaced = isRight ? exchange(&request, with: changed) : changed
            if !isRight || !request.refusedSetters.isEmpty {
                request.refusedSetters.removeAll { $0.equalsIgnoringASCIICase(setter) }
                if !isRight { request.refusedSetters.append(setter) }
            }
            return (isRight, replaced)
        }
        // Releasing a body stream may run the program's code, so it must outlive the lock.
        withExtendedLifetime(replaced) {}
        return isRight ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_ARGUMENT
    }

    /// The last setter that was refused does not fail the request: its caller knows.
    func forgetMistake() { state.withLock { _ = $0.refusedSetters.popLast() } }
}

@_cdecl("ntapi_http_request_method") @implementation
public func ntapi_http_request_method(_ http_request: OpaquePointer!) -> UnsafeMutablePointer<CChar>! {
    (Handles.get(http_request, HTTPRequestBox.self)?.request.method).map(newText)
}

@_cdecl("ntapi_http_request_set_method") @implementation
public func ntapi_http_request_set_method(
    _ http_request: OpaquePointer!, _ method: UnsafePointer<CChar>!
) -> ntapi_status { set(http_request, String(c: method)) { $0.method = $1 } }

@_cdecl("ntapi_http_request_url") @implementation
public func ntapi_http_request_url(_ http_request: OpaquePointer!) -> UnsafeMutablePointer<CChar>! {
    (Handles.get(http_request, HTTPRequestBox.self)?.request.url).map(newText)
}

@_cdecl("ntapi_http_request_set_url") @implementation
public func ntapi_http_request_set_url(_ http_request: OpaquePointer!, _ url: UnsafePointer<CChar>!) -> ntapi_status {
    set(http_request, String(c: url)) { $0.url = $1 }
}

@_cdecl("ntapi_http_request_headers") @implementation
public func ntapi_http_request_headers(_ http_request: OpaquePointer!) -> OpaquePointer! {
    Handles.get(http_request, HTTPRequestBox.self).flatMap { Handles.make(HeadersBox($0.request.headers)) }
}

@_cdecl("ntapi_http_request_set_header") @implementation
public func ntapi_http_request_set_header(
    _ http_request: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status {
    set(http_request, pair(name, value), of: text(name)) { request, header in
        if let value = header.value {
            request.headers[header.name] = value
        } else {
            request.headers.remove(header.name)
        }
    }
}

@_cdecl("ntapi_http_request_set_secret_header") @implementation
public func ntapi_http_request_set_secret_header(
    _ http_request: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status {
    set(http_request, value == nil ? nil : pair(name, value), of: text(name)) {
        $0.headers.set($1.name, $1.value ?? "", isSecret: true)
    }
}

@_cdecl("ntapi_http_request_get_body_kind") @implementation
public func ntapi_http_request_get_body_kind(_ http_request: OpaquePointer!) -> ntapi_body_kind {
    switch Handles.get(http_request, HTTPRequestBox.self)?.request.body {
    case nil, .some(.none): NTAPI_BODY_KIND_NONE
    case .bytes: NTAPI_BODY_KIND_BYTES
    case .multipart: NTAPI_BODY_KIND_MULTIPART
    case .file: NTAPI_BODY_KIND_FILE
    case .stream: NTAPI_BODY_KIND_STREAM
    }
}

@_cdecl("ntapi_http_request_body") @implementation
public func ntapi_http_request_body(
    _ http_request: OpaquePointer!, _ length: UnsafeMutablePointer<Int>!
) -> UnsafeMutablePointer<CChar>! {
    length?.pointee = 0
    guard let box = Handles.get(http_request, HTTPRequestBox.self), case .bytes(let bytes) = box.request.body else {
        return nil
    }
    length?.pointee = bytes.count
    return newText(bytes)
}

@_cdecl("ntapi_http_request_set_body") @implementation
public func ntapi_http_request_set_body(
    _ http_request: OpaquePointer!, _ bytes: UnsafeRawPointer!, _ length: Int
) -> ntapi_status {
    let isRight = length >= 0 && (bytes != nil || length == 0)
    let buffer = isRight ? UnsafeRawBufferPointer(start: bytes, count: length) : nil
    return set(http_request, buffer) { $0.body = bytes == nil ? .none : .bytes(Array($1)) }
}

@_cdecl("ntapi_http_request_timeout") @implementation
public func ntapi_http_request_timeout(_ http_request: OpaquePointer!, _ clock: ntapi_clock) -> Double {
    guard let box = Handles.get(http_request, HTTPRequestBox.self), let clock = TimeoutClock(c: clock) else {
        return -1
    }
    return box.request.timeouts[clock] ?? -1
}

@_cdecl("ntapi_http_request_set_timeout") @implementation
public func ntapi_http_request_set_timeout(
    _ http_request: OpaquePointer!, _ clock: ntapi_clock, _ seconds: Double
) -> ntapi_status {
    set(http_request, TimeoutClock(c: clock), of: "\(clock.rawValue)") {
        $0.timeouts[$1] = seconds < 0 || seconds == .infinity ? nil : seconds
    }
}

@_cdecl("ntapi_http_request_cache_policy") @implementation
public func ntapi_http_request_cache_policy(_ http_request: OpaquePointer!) -> ntapi_cache_policy {
    Handles.get(http_request, HTTPRequestBox.self)?.request.cachePolicy.c ?? NTAPI_CACHE_POLICY_NONE
}

@_cdecl("ntapi_http_request_set_cache_policy") @implementation
public func ntapi_http_request_set_cache_policy(
    _ http_request: OpaquePointer!, _ policy: ntapi_cache_policy
) -> ntapi_status {
    set(http_request, CachePolicy(c: policy)) { $0.cachePolicy = $1 }
}

@_cdecl("ntapi_http_request_option") @implementation
public func ntapi_http_request_option(
    _ http_request: OpaquePointer!, _ name: UnsafePointer<CChar>!
) -> UnsafeMutablePointer<CChar>! {
    guard let box = Handles.get(http_request, HTTPRequestBox.self), let name = String(c: name) else { return nil }
    return box.request.options[APIOption(name)].map(newText)
}

@_cdecl("ntapi_http_request_set_option") @implementation
public func ntapi_http_request_set_option(
    _ http_request: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status {
    set(http_request, pair(name, value), of: text(name)) { $0.options[APIOption($1.name)] = $1.value }
}

@_cdecl("ntapi_http_request_priority") @implementation
public func ntapi_http_request_priority(_ http_request: OpaquePointer!) -> Double {
    Handles.get(http_request, HTTPRequestBox.self)?.request.priority ?? 0
}

@_cdecl("ntapi_http_request_set_priority") @implementation
public func ntapi_http_request_set_priority(_ http_request: OpaquePointer!, _ priority: Double) -> ntapi_status {
    set(http_request, (0...1).contains(priority) ? priority : nil) { $0.priority = $1 }
}

extension CachePolicy {
    init?(c policy: ntapi_cache_policy) {
        guard let known = Self.allCases.first(where: { $0.c == policy }) else { return nil }
        self = known
    }

    var c: ntapi_cache_policy {
        switch self {
        case .protocol: NTAPI_CACHE_POLICY_PROTOCOL
        case .reloadIgnoringCache: NTAPI_CACHE_POLICY_RELOAD_IGNORING_CACHE
        case .returnCachedElseLoad: NTAPI_CACHE_POLICY_RETURN_CACHED_ELSE_LOAD
        case .returnCachedDontLoad: NTAPI_CACHE_POLICY_RETURN_CACHED_DONT_LOAD
        case .reloadRevalidating: NTAPI_CACHE_POLICY_RELOAD_REVALIDATING
        case .noStore: NTAPI_CACHE_POLICY_NO_STORE
        }
    }
}

private func text(_ name: UnsafePointer<CChar>?) -> String { name.map { String(cString: $0) } ?? "" }

/// A name and its value, which may be NULL; nil if one of them cannot be used.
private func pair(
    _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> (name: String, value: String?)? {
    guard let name = String(c: name) else { return nil }
    guard let value else { return (name, nil) }
    return String(c: value).map { (name, $0) }
}

/// - Parameters:
///   - value: nil if it cannot be used.
///   - part: which one is set, when there are several.
private func set<Value>(
    _ http_request: OpaquePointer?, _ value: Value?, of part: String = "", function: StaticString = #function,
    _ change: (inout HTTPRequest, Value) -> Void
) -> ntapi_status {
    guard let box = Handles.get(http_request, HTTPRequestBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let setter = "\(name(of: function)) \(part)"
    return box.change(setter) { request in
        guard let value else { return false }
        change(&request, value)
        return true
    }
}
