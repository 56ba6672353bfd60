public import CNTApi
import NTApi

/// What an `ntapi_authenticator` stands for.
final class AuthenticatorBox: Sendable {
    let authenticator: Authenticator

    init(_ authenticator: Authenticator) { self.authenticator = authenticator }
}

/// What an `ntapi_refresh` stands for. Dropping it without an answer counts as a failure.
final class RefreshBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    let refresh: TokenRefresh

    init(_ refresh: TokenRefresh) { self.refresh = refresh }

    var token: UnsafePointer<CChar>? { text(.token) { refresh.expiredToken } }
}

@_cdecl("ntapi_authenticator_create") @implementation
public func ntapi_authenticator_create(
    _ refresh: ntapi_refresh_fn!, _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> OpaquePointer! {
    let userData = UserData(user_data, destroy)
    guard let refresh else { return nil }
    let authenticator = Authenticator(
        Authenticator.Options(), .answering { refresh(userData.pointer, Handles.make(RefreshBox($0))) })
    return Handles.make(AuthenticatorBox(authenticator))
}

@_cdecl("ntapi_authenticator_free") @implementation
public func ntapi_authenticator_free(_ authenticator: OpaquePointer!) {
    Handles.free(authenticator, AuthenticatorBox.self)
}

@_cdecl("ntapi_authenticator_set_token") @implementation
public func ntapi_authenticator_set_token(
    _ authenticator: OpaquePointer!, _ token: UnsafePointer<CChar>!, _ lifetime: Double
) -> ntapi_status {
    let text = String(c: token)
    guard token == nil || text != nil, let box = get(authenticator) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    box.authenticator.setToken(text.map { Authenticator.Token($0, lifetime: known(lifetime)) })
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_authenticator_token") @implementation
public func ntapi_authenticator_token(_ authenticator: OpaquePointer!) -> UnsafeMutablePointer<CChar>! {
    get(authenticator)?.authenticator.token.map(newText)
}

@_cdecl("ntapi_authenticator_set_header") @implementation
public func ntapi_authenticator_set_header(
    _ authenticator: OpaquePointer!, _ header: UnsafePointer<CChar>!, _ scheme: UnsafePointer<CChar>!
) -> ntapi_status {
    guard let header = String(c: header), let scheme = String(c: scheme), HTTPHeaders.canHave(header, scheme) else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    return change(authenticator) {
        $0.header = header
        $0.scheme = scheme
    }
}

@_cdecl("ntapi_authenticator_set_statuses") @implementation
public func ntapi_authenticator_set_statuses(
    _ authenticator: OpaquePointer!, _ statuses: UnsafePointer<CInt>!, _ count: Int
) -> ntapi_status {
    guard let statuses, (1...900).contains(count) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let values = UnsafeBufferPointer(start: statuses, count: count).map { Int($0) }
    guard values.allSatisfy((100..<1000).contains) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(authenticator) { $0.statuses = Set(values) }
}

@_cdecl("ntapi_authenticator_add_origin") @implementation
public func ntapi_authenticator_add_origin(
    _ authenticator: OpaquePointer!, _ url: UnsafePointer<CChar>!
) -> ntapi_status {
    guard let url = String(c: url), Authenticator.isOrigin(url) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(authenticator) { $0.origins.append(url) }
}

@_cdecl("ntapi_authenticator_set_timeout") @implementation
public func ntapi_authenticator_set_timeout(_ authenticator: OpaquePointer!, _ seconds: Double) -> ntapi_status {
    guard seconds > 0 else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(authenticator) { $0.timeout = seconds }
}

@_cdecl("ntapi_authenticator_set_mailbox") @implementation
public func ntapi_authenticator_set_mailbox(
    _ authenticator: OpaquePointer!, _ mailbox: OpaquePointer!
) -> ntapi_status {
    let box = Handles.get(mailbox, MailboxBox.self)
    guard mailbox == nil || box != nil else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(authenticator) { $0.thread = box.map { .mailbox($0.mailbox) } ?? .background }
}

@_cdecl("ntapi_client_set_authenticator") @implementation
public func ntapi_client_set_authenticator(
    _ client: OpaquePointer!, _ authenticator: OpaquePointer!
) -> ntapi_status {
    attach(client, authenticator, AuthenticatorBox.self) { $0.authenticator = $1?.authenticator }
}

@_cdecl("ntapi_refresh_token") @implementation
public func ntapi_refresh_token(_ refresh: OpaquePointer!) -> UnsafePointer<CChar>! {
    Handles.get(refresh, RefreshBox.self)?.token
}

@_cdecl("ntapi_refresh_response") @implementation
public func ntapi_refresh_response(_ refresh: OpaquePointer!) -> OpaquePointer! {
    Handles.get(refresh, RefreshBox.self)?.refresh.response.flatMap { ResponseBox($0).handle }
}

@_cdecl("ntapi_refresh_succeed") @implementation
public func ntapi_refresh_succeed(
    _ refresh: OpaquePointer!, _ token: UnsafePointer<CChar>!, _ lifetime: Double
) -> ntapi_status {
    // Dropping it without an answer counts as a failure.
    guard let box = Handles.free(refresh, RefreshBox.self), let text = String(c: token) else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    return status(box.refresh.succeed(Authenticator.Token(text, lifetime: known(lifetime))))
}

@_cdecl("ntapi_refresh_fail") @implementation
public func ntapi_refresh_fail(_ refresh: OpaquePointer!, _ error: OpaquePointer!) -> ntapi_status {
    guard let box = Handles.free(refresh, RefreshBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let given = Handles.get(error, ErrorBox.self)?.error
    let reason = APIError(domain: .request, code: .generic, message: "the program says so")
    let done = status(box.refresh.fail(given ?? reason))
    return error == nil || given != nil ? done : NTAPI_STATUS_INVALID_ARGUMENT
}

@_cdecl("ntapi_refresh_decline") @implementation
public func ntapi_refresh_decline(_ refresh: OpaquePointer!) -> ntapi_status {
    guard let box = Handles.free(refresh, RefreshBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return status(box.refresh.decline())
}

@_cdecl("ntapi_refresh_free") @implementation
public func ntapi_refresh_free(_ refresh: OpaquePointer!) { Handles.free(refresh, RefreshBox.self) }

private func get(_ authenticator: OpaquePointer?) -> AuthenticatorBox? {
    Handles.get(authenticator, AuthenticatorBox.self)
}

private func change(
    _ authenticator: OpaquePointer?, _ change: (inout Authenticator.Options) -> Void
) -> ntapi_status {
    guard let box = get(authenticator) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    change(&box.authenticator.options)
    return NTAPI_STATUS_OK
}

private func known(_ lifetime: Double) -> Double? { lifetime >= 0 ? lifetime : nil }

private func status(_ isDone: Bool) -> ntapi_status { isDone ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_STATE }
