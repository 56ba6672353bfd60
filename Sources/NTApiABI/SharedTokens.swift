public import CNTApi
import NTApi

extension Authenticator.Token {
    fileprivate init(c given: UnsafePointer<ntapi_token>?) throws(APIError) {
        guard let given else { throw .invalidArgument("token is NULL") }
        let token = try ntapi_token(c: given)
        guard let text = String(c: token.text) else { throw .invalidArgument("the token is NULL or not UTF-8") }
        let refreshToken = String(c: token.refresh_token)
        guard token.refresh_token == nil || refreshToken != nil else {
            throw .invalidArgument("refresh_token is not UTF-8")
        }
        self.init(text, lifetime: token.lifetime > 0 ? token.lifetime : nil, refreshToken: refreshToken)
    }
}

@_cdecl("ntapi_authenticator_share") @implementation
public func ntapi_authenticator_share(
    _ authenticator: OpaquePointer!, _ sharing: UnsafePointer<ntapi_token_sharing>!,
    _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    let box = Handles.get(authenticator, AuthenticatorBox.self)
    do throws(APIError) {
        guard let box else { throw .wrongHandle("authenticator", "an authenticator") }
        guard let sharing else { throw .invalidArgument("sharing is NULL") }
        let given = try ntapi_token_sharing(c: sharing)
        let options = try StoreOptions(timeout: given.store_timeout, given.on_failure, lease: given.lease)
        let (store, key) = try storeAndKey(given.store, given.key)
        try box.authenticator.share(by: store, key: key, options)
        return NTAPI_STATUS_OK
    } catch let problem {
        // The caller may not look at the status, and each process would refresh alone.
        box?.authenticator.refuse(because: .invalidArgument("ntapi_authenticator_share: \(problem.message)"))
        error?.pointee = problem.handle
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
}

@_cdecl("ntapi_authenticator_set_token_with") @implementation
public func ntapi_authenticator_set_token_with(
    _ authenticator: OpaquePointer!, _ token: UnsafePointer<ntapi_token>!
) -> ntapi_status {
    guard let box = Handles.get(authenticator, AuthenticatorBox.self), let given = try? Authenticator.Token(c: token)
    else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    box.authenticator.setToken(given)
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_refresh_refresh_token") @implementation
public func ntapi_refresh_refresh_token(_ refresh: OpaquePointer!) -> UnsafePointer<CChar>! {
    Handles.get(refresh, RefreshBox.self)?.refreshToken
}

@_cdecl("ntapi_refresh_succeed_with") @implementation
public func ntapi_refresh_succeed_with(
    _ refresh: OpaquePointer!, _ token: UnsafePointer<ntapi_token>!
) -> ntapi_status {
    succeed(refresh) { try? Authenticator.Token(c: token) }
}
