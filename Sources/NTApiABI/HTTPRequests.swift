public import CNTApi
import NTApi

/// What an `ntapi_http_request` stands for: a built request while its hook runs.
final class HTTPRequestBox: TextLender, @unchecked Sendable {
    // Safe to share: a lock guards it.
    private let state: Lock<HTTPRequest>

    init(_ request: HTTPRequest) { state = Lock(request) }

    var request: HTTPRequest { state.withLock { $0 } }

    /// - Returns: false, with nothing changed, when the changed request may not be sent.
    func change(_ change: (inout HTTPRequest) -> Void) -> Bool {
        var changed = request
        change(&changed)
        guard changed.isValid else { return false }
        state.withLock { $0 = changed }
        return true
    }
}

@_cdecl("ntapi_http_request_method") @implementation
public func ntapi_http_request_method(_ http_request: OpaquePointer!) -> UnsafePointer<CChar>! {
    Handles.get(http_request, HTTPRequestBox.self).flatMap { $0.text(now: $0.request.method) }
}

@_cdecl("ntapi_http_request_set_method") @implementation
public func ntapi_http_request_set_method(
    _ http_request: OpaquePointer!, _ method: UnsafePointer<CChar>!
) -> ntapi_status { set(http_request, method) { $0.method = $1 } }

@_cdecl("ntapi_http_request_url") @implementation
public func ntapi_http_request_url(_ http_request: OpaquePointer!) -> UnsafePointer<CChar>! {
    Handles.get(http_request, HTTPRequestBox.self).flatMap { $0.text(now: $0.request.url) }
}

@_cdecl("ntapi_http_request_set_url") @implementation
public func ntapi_http_request_set_url(_ http_request: OpaquePointer!, _ url: UnsafePointer<CChar>!) -> ntapi_status {
    set(http_request, url) { $0.url = $1 }
}

@_cdecl("ntapi_http_request_header") @implementation
public func ntapi_http_request_header(
    _ http_request: OpaquePointer!, _ name: UnsafePointer<CChar>!
) -> UnsafePointer<CChar>! {
    guard let box = Handles.get(http_request, HTTPRequestBox.self), let name = String(c: name) else { return nil }
    return box.text(now: box.request.headers[name])
}

@_cdecl("ntapi_http_request_set_header") @implementation
public func ntapi_http_request_set_header(
    _ http_request: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status {
    guard let name = String(c: name) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    guard value == nil else { return set(http_request, value) { $0.headers.set(name, $1) } }
    guard let box = Handles.get(http_request, HTTPRequestBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return box.change { $0.headers.remove(name) } ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_ARGUMENT
}

private func set(
    _ http_request: OpaquePointer?, _ text: UnsafePointer<CChar>?, _ change: (inout HTTPRequest, String) -> Void
) -> ntapi_status {
    guard let box = Handles.get(http_request, HTTPRequestBox.self), let text = String(c: text) else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    return box.change { change(&$0, text) } ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_ARGUMENT
}
