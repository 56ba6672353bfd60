public import CNTApi
import NTApi

/// What an `ntapi_client` stands for.
final class ClientBox: Sendable {
    let client: CClient
    let defaults: HandleOwner<DefaultsBox>
    let cookies: HandleOwner<CookieStorageBox>?
    let cache: HandleOwner<CacheBox>?
    let credentialStorage: HandleOwner<CredentialStorageBox>?

    init(_ client: CClient) {
        self.client = client
        defaults = HandleOwner(DefaultsBox(client.defaults))
        cookies = client.cookies.map { HandleOwner(CookieStorageBox($0)) }
        cache = client.cache.map { HandleOwner(CacheBox($0)) }
        credentialStorage = client.credentialStorage.map { HandleOwner(CredentialStorageBox($0)) }
    }
}

@_cdecl("ntapi_client_create") @implementation
public func ntapi_client_create(_ class_handle: OpaquePointer!, _ base_url: UnsafePointer<CChar>!) -> OpaquePointer! {
    let url = String(c: base_url)
    guard base_url == nil || url != nil else { return nil }
    let ofClass = Handles.get(class_handle, ClassBox.self)
    guard class_handle == nil || ofClass != nil else { return nil }
    return Handles.make(CClient(inheriting: ofClass?.place, ofClass?.interceptors.list, baseURL: url).box)
}

@_cdecl("ntapi_client_create_with_configuration") @implementation
public func ntapi_client_create_with_configuration(
    _ class_handle: OpaquePointer!, _ base_url: UnsafePointer<CChar>!, _ configuration: OpaquePointer!
) -> OpaquePointer! {
    let url = String(c: base_url)
    let ofClass = Handles.get(class_handle, ClassBox.self)
    let box = Handles.get(configuration, ConfigurationBox.self)
    guard base_url == nil || url != nil, class_handle == nil || ofClass != nil, configuration == nil || box != nil
    else {
        return nil
    }
    let configuration = box.map { ($0.kind, $0.settings, $0.cache, $0.credentialStorage, $0.interceptors) }
    return Handles.make(
        CClient(inheriting: ofClass?.place, ofClass?.interceptors.list, baseURL: url, configuration: configuration).box)
}

@_cdecl("ntapi_client_free") @implementation
public func ntapi_client_free(_ client: OpaquePointer!) { Handles.free(client, ClientBox.self) }

@_cdecl("ntapi_client_close") @implementation
public func ntapi_client_close(_ client: OpaquePointer!) -> ntapi_status { withClient(client) { $0.close() } }

@_cdecl("ntapi_client_finish_and_invalidate") @implementation
public func ntapi_client_finish_and_invalidate(_ client: OpaquePointer!) -> ntapi_status {
    withClient(client) { $0.finishAndInvalidate() }
}

@_cdecl("ntapi_client_invalidate_and_cancel") @implementation
public func ntapi_client_invalidate_and_cancel(_ client: OpaquePointer!) -> ntapi_status {
    withClient(client) { $0.invalidateAndCancel() }
}

@_cdecl("ntapi_client_cancel_all") @implementation
public func ntapi_client_cancel_all(_ client: OpaquePointer!) -> ntapi_status { withClient(client) { $0.cancelAll() } }

@_cdecl("ntapi_client_drain") @implementation
public func ntapi_client_drain(_ client: OpaquePointer!, _ timeout: Double) -> Int {
    // 0 would mean that all are done. As a `size_t`, -1 is SIZE_MAX.
    Handles.get(client, ClientBox.self)?.client.drain(timeout: seconds(timeout)) ?? -1
}

@_cdecl("ntapi_client_set_args") @implementation
public func ntapi_client_set_args(_ client: OpaquePointer!, _ args: OpaquePointer!) -> ntapi_status {
    attach(client, args, ArgsBox.self) { $0.args = $1?.args ?? [] }
}

@_cdecl("ntapi_client_args") @implementation
public func ntapi_client_args(_ client: OpaquePointer!) -> OpaquePointer! {
    Handles.get(client, ClientBox.self).flatMap { Handles.make(ArgsBox($0.client.args)) }
}

@_cdecl("ntapi_client_base_url") @implementation
public func ntapi_client_base_url(_ client: OpaquePointer!) -> UnsafeMutablePointer<CChar>! {
    (Handles.get(client, ClientBox.self)?.client.defaults["baseUrl"]?.string).map(newText)
}

/// Attaches the object of a handle to a client; NULL removes it. After a wrong handle, the client's requests fail.
func attach<Object: AnyObject>(
    _ client: OpaquePointer?, _ handle: OpaquePointer?, _ type: Object.Type, function: StaticString = #function,
    _ set: (CClient, Object?) -> Void
) -> ntapi_status {
    guard let client = Handles.get(client, ClientBox.self)?.client else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let object = Handles.get(handle, type)
    let isWrong = handle != nil && object == nil
    if !isWrong { set(client, object) }
    client.note(isWrong ? "the handle is freed, or of another kind" : nil, in: String(name(of: function)))
    return isWrong ? NTAPI_STATUS_INVALID_ARGUMENT : NTAPI_STATUS_OK
}

func withClient(_ client: OpaquePointer?, _ body: (CClient) -> Void) -> ntapi_status {
    guard let box = Handles.get(client, ClientBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    body(box.client)
    return NTAPI_STATUS_OK
}
