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
    let client: HandleOwner<ClientBox>?

    init(_ refresh: TokenRefresh) {
        self.refresh = refresh
        client = (refresh.client as? CClient).map { HandleOwner($0.box) }
    }

    var token: UnsafePointer<CChar>? { text(.token) { refresh.expiredToken } }
    var refreshToken: UnsafePointer<CChar>? { text(.refreshToken) { refresh.refreshToken } }
}

extension Authenticator.Options {
    fileprivate init(c options: UnsafePointer<ntapi_authenticator_options>?) throws(APIError) {
        self.init()
        guard let options else { return }
        let given = try ntapi_authenticator_options(c: options)
        guard let header = given.header == nil ? header : String(c: given.header),
            let scheme = given.scheme == nil ? scheme : String(c: given.scheme), HTTPHeaders.canHave(header, scheme)
        else { throw .invalidArgument("the header or its scheme cannot be sent") }
        self.header = header
        self.scheme = scheme
        if let listed = given.statuses {
            let values = UnsafeBufferPointer(start: listed, count: max(0, given.status_count))
            guard !values.isEmpty, values.allSatisfy({ (100..<1000).contains($0) }) else {
                throw .invalidArgument("statuses has to have at least one, each from 100 to 999")
            }
            statuses = Set(values.map { Int($0) })
        }
        guard given.origin_count >= 0 else { throw .invalidArgument("origin_count is out of range") }
        for place in UnsafeBufferPointer(start: given.origins, count: given.origins == nil ? 0 : given.origin_count) {
            guard let url = String(c: place), Authenticator.isOrigin(url) else {
                throw .invalidArgument("an origin is not an http or https URL")
            }
            origins.append(url)
        }
        guard given.timeout >= 0 else {
            throw .invalidArgument("timeout has to be above 0 seconds")
        }
        if given.timeout > 0 { timeout = given.timeout }
    }
}

@_cdecl("ntapi_authenticator_create") @implementation
public func ntapi_authenticator_create(
    _ options: UnsafePointer<ntapi_authenticator_options>!, _ refresh: ntapi_refresh_fn!,
    _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!,
    _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> OpaquePointer! {
    let userData = UserData(user_data, destroy)
    do throws(APIError) {
        guard let refresh else { throw .invalidArgument("refresh is NULL") }
        let authenticator = Authenticator(
            try Authenticator.Options(c: options),
            .answering { refresh(userData.pointer, Handles.make(RefreshBox($0))) })
        return Handles.make(AuthenticatorBox(authenticator))
    } catch let problem {
        error?.pointee = problem.handle
        return nil
    }
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

@_cdecl("ntapi_authenticator_set_mailbox") @implementation
public func ntapi_authenticator_set_mailbox(
    _ authenticator: OpaquePointer!, _ mailbox: OpaquePointer!
) -> ntapi_status {
    let box = Handles.get(mailbox, MailboxBox.self)
    guard mailbox == nil || box != nil else { return NTAPI_STATUS_INVALID_ARGUMENT }
    guard let authenticator = get(authenticator)?.authenticator else { return NTAPI_STATUS_INVALID_ARGUMENT }
    authenticator.options.thread = box.map { .mailbox($0.mailbox) } ?? .background
    return NTAPI_STATUS_OK
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

@_cdecl("ntapi_refresh_client") @implementation
public func ntapi_refresh_client(_ refresh: OpaquePointer!) -> OpaquePointer! {
    Handles.get(refresh, RefreshBox.self)?.client?.handle
}

@_cdecl("ntapi_refresh_succeed") @implementation
public func ntapi_refresh_succeed(
    _ refresh: OpaquePointer!, _ token: UnsafePointer<CChar>!, _ lifetime: Double
) -> ntapi_status {
    succeed(refresh) { String(c: token).map { Authenticator.Token($0, lifetime: known(lifetime)) } }
}

/// - Parameter token: nil for one that cannot be used.
func succeed(_ refresh: OpaquePointer?, with token: () -> Authenticator.Token?) -> ntapi_status {
    // Dropping it without an answer counts as a failure.
    guard let box = Handles.free(refresh, RefreshBox.self), let token = token() else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    do throws(APIError) {
        try token.check()
    } catch {
        box.refresh.fail(error)
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    return status(box.refresh.succeed(token))
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

private func known(_ lifetime: Double) -> Double? { lifetime >= 0 ? lifetime : nil }

private func status(_ isDone: Bool) -> ntapi_status { isDone ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_STATE }
