public import CNTApi
import NTApi

/// What an `ntapi_http_request` stands for: a built request that the program may change.
final class HTTPRequestBox: Sendable {
    private let state: Lock<HTTPRequest>

    init(_ request: HTTPRequest) { state = Lock(request) }

    var request: HTTPRequest { state.withLock { $0 } }

    /// - Returns: false, with nothing changed, when the changed request may not be sent.
    func change(_ change: (inout HTTPRequest) -> Void) -> Bool {
        var changed = request
        change(&changed)
        guard changed.isValid() else { return false }
        state.withLock { $0 = changed }
        return true
    }
}

@_cdecl("ntapi_http_request_method") @implementation
public func ntapi_http_request_method(_ http_request: OpaquePointer!) -> UnsafeMutablePointer<CChar>! {
    (Handles.get(http_request, HTTPRequestBox.self)?.request.method).map(newText)
}

@_cdecl("ntapi_http_request_set_method") @implementation
public func ntapi_http_request_set_method(
    _ http_request: OpaquePointer!, _ method: UnsafePointer<CChar>!
) -> ntapi_status { set(http_request, method) { $0.method = $1 } }

@_cdecl("ntapi_http_request_url") @implementation
public func ntapi_http_request_url(_ http_request: OpaquePointer!) -> UnsafeMutablePointer<CChar>! {
    (Handles.get(http_request, HTTPRequestBox.self)?.request.url).map(newText)
}

@_cdecl("ntapi_http_request_set_url") @implementation
public func ntapi_http_request_set_url(_ http_request: OpaquePointer!, _ url: UnsafePointer<CChar>!) -> ntapi_status {
    set(http_request, url) { $0.url = $1 }
}

@_cdecl("ntapi_http_request_headers") @implementation
public func ntapi_http_request_headers(_ http_request: OpaquePointer!) -> OpaquePointer! {
    Handles.get(http_request, HTTPRequestBox.self).flatMap { Handles.make(HeadersBox($0.request.headers)) }
}

@_cdecl("ntapi_http_request_set_header") @implementation
public func ntapi_http_request_set_header(
    _ http_request: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status {
    guard let name = String(c: name) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    guard value == nil else { return set(http_request, value) { $0.headers[name] = $1 } }
    guard let box = Handles.get(http_request, HTTPRequestBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return box.change { $0.headers.remove(name) } ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_ARGUMENT
}

@_cdecl("ntapi_http_request_set_secret_header") @implementation
public func ntapi_http_request_set_secret_header(
    _ http_request: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status {
    guard let name = String(c: name) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return set(http_request, value) { $0.headers.set(name, $1, isSecret: true) }
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
    guard length >= 0, bytes != nil || length == 0 else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let body = bytes.map { HTTPRequest.Body.bytes(Array(UnsafeRawBufferPointer(start: $0, count: length))) }
    return changeRequest(http_request) { $0.body = body ?? .none }
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
    guard let clock = TimeoutClock(c: clock) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return changeRequest(http_request) { $0.timeouts[clock] = seconds < 0 || seconds == .infinity ? nil : seconds }
}

@_cdecl("ntapi_http_request_cache_policy") @implementation
public func ntapi_http_request_cache_policy(_ http_request: OpaquePointer!) -> ntapi_cache_policy {
    Handles.get(http_request, HTTPRequestBox.self)?.request.cachePolicy.c ?? NTAPI_CACHE_POLICY_NONE
}

@_cdecl("ntapi_http_request_set_cache_policy") @implementation
public func ntapi_http_request_set_cache_policy(
    _ http_request: OpaquePointer!, _ policy: ntapi_cache_policy
) -> ntapi_status {
    guard let policy = CachePolicy(c: policy) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return changeRequest(http_request) { $0.cachePolicy = policy }
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
    let text = String(c: value)
    guard let name = String(c: name), value == nil || text != nil else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return changeRequest(http_request) { $0.options[APIOption(name)] = text }
}

@_cdecl("ntapi_http_request_priority") @implementation
public func ntapi_http_request_priority(_ http_request: OpaquePointer!) -> Double {
    Handles.get(http_request, HTTPRequestBox.self)?.request.priority ?? 0
}

@_cdecl("ntapi_http_request_set_priority") @implementation
public func ntapi_http_request_set_priority(_ http_request: OpaquePointer!, _ priority: Double) -> ntapi_status {
    guard (0...1).contains(priority) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return changeRequest(http_request) { $0.priority = priority }
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

func changeRequest(_ http_request: OpaquePointer?, _ change: (inout HTTPRequest) -> Void) -> ntapi_status {
    guard let box = Handles.get(http_request, HTTPRequestBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return box.change(change) ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_ARGUMENT
}

private func set(
    _ http_request: OpaquePointer?, _ text: UnsafePointer<CChar>?, _ change: (inout HTTPRequest, String) -> Void
) -> ntapi_status {
    guard let box = Handles.get(http_request, HTTPRequestBox.self), let text = String(c: text) else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    return box.change { change(&$0, text) } ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_ARGUMENT
}
