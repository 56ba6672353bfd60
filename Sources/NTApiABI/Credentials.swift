public import CNTApi
import NTApi

/// What an `ntapi_credential_storage` stands for.
final class CredentialStorageBox: Sendable {
    let storage: CredentialStorage

    init(_ storage: CredentialStorage) { self.storage = storage }
}

extension Credential.Persistence {
    init?(c persistence: ntapi_persistence) {
        switch persistence {
        case NTAPI_PERSISTENCE_NONE: self = .none
        case NTAPI_PERSISTENCE_FOR_SESSION: self = .forSession
        case NTAPI_PERSISTENCE_PERMANENT: self = .permanent
        default: return nil
        }
    }
}

extension ProtectionSpace {
    fileprivate var members: [(String, JSON)] {
        [
            ("scheme", JSON(scheme)), ("host", JSON(host)), ("port", JSON(port)),
            ("realm", realm.map { JSON($0) } ?? .null), ("authentication", JSON(authenticationScheme.rawValue)),
            ("isProxy", JSON(isProxy)),
        ]
    }

    fileprivate func json(_ credential: Credential) -> JSON {
        JSON(members + [("user", JSON(credential.user)), ("password", JSON(credential.password))])
    }
}

@_cdecl("ntapi_credential_storage_create") @implementation
public func ntapi_credential_storage_create(_ file: UnsafePointer<CChar>!) -> OpaquePointer! {
    guard file != nil else { return Handles.make(CredentialStorageBox(CredentialStorage())) }
    guard let path = String(c: file), let storage = try? CredentialStorage(file: path) else { return nil }
    return Handles.make(CredentialStorageBox(storage))
}

@_cdecl("ntapi_credential_storage_shared") @implementation
public func ntapi_credential_storage_shared() -> OpaquePointer! {
    Handles.make(CredentialStorageBox(.shared))
}

@_cdecl("ntapi_credential_storage_free") @implementation
public func ntapi_credential_storage_free(_ storage: OpaquePointer!) {
    Handles.free(storage, CredentialStorageBox.self)
}

@_cdecl("ntapi_credential_storage_set") @implementation
public func ntapi_credential_storage_set(
    _ storage: OpaquePointer!, _ space: UnsafePointer<ntapi_protection_space>!, _ user: UnsafePointer<CChar>!,
    _ password: UnsafePointer<CChar>!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    set(storage, space, user, password, error) { storage, credential, space throws(APIError) in
        try storage.set(credential, for: space)
    }
}

@_cdecl("ntapi_credential_storage_set_default") @implementation
public func ntapi_credential_storage_set_default(
    _ storage: OpaquePointer!, _ space: UnsafePointer<ntapi_protection_space>!, _ user: UnsafePointer<CChar>!,
    _ password: UnsafePointer<CChar>!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    set(storage, space, user, password, error) { storage, credential, space throws(APIError) in
        try storage.setDefaultCredential(credential, for: space)
    }
}

private func set(
    _ storage: OpaquePointer?, _ space: UnsafePointer<ntapi_protection_space>?, _ user: UnsafePointer<CChar>?,
    _ password: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<OpaquePointer?>?,
    _ body: (CredentialStorage, Credential, ProtectionSpace) throws(APIError) -> Void
) -> ntapi_status {
    guard let box = Handles.get(storage, CredentialStorageBox.self) else { return refused(error, noStorage) }
    guard let user = String(c: user), let password = String(c: password) else {
        return refused(error, "user or password is NULL or not UTF-8")
    }
    guard let space = made(space, error) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let credential = Credential(user: user, password: password)
    let result = status(error) { () throws(APIError) in try body(box.storage, credential, space) }
    return credential.fits(space.authenticationScheme) ? result : NTAPI_STATUS_INVALID_ARGUMENT
}

private let noStorage = "storage is NULL, freed, or no credential storage"

/// The space that C describes; nil, with the error for C, when no server can have it.
private func made(
    _ space: UnsafePointer<ntapi_protection_space>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> ProtectionSpace? {
    var made: ProtectionSpace?
    _ = status(error) { () throws(APIError) in made = try ProtectionSpace(c: space) }
    return made
}

@_cdecl("ntapi_credential_storage_get") @implementation
public func ntapi_credential_storage_get(
    _ storage: OpaquePointer!, _ space: UnsafePointer<ntapi_protection_space>!,
    _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> OpaquePointer! {
    guard let box = Handles.get(storage, CredentialStorageBox.self) else {
        _ = refused(error, noStorage)
        return nil
    }
    let wanted = space == nil ? nil : made(space, error)
    guard space == nil || wanted != nil else { return nil }
    var list: [JSON]?
    _ = status(error) { () throws(APIError) in
        list = try box.storage.all().filter { wanted == nil || $0.space == wanted }.map { $0.space.json($0.credential) }
    }
    return list.flatMap { Handles.make(JSONBox(JSON($0))) }
}

@_cdecl("ntapi_credential_storage_remove") @implementation
public func ntapi_credential_storage_remove(
    _ storage: OpaquePointer!, _ space: UnsafePointer<ntapi_protection_space>!, _ user: UnsafePointer<CChar>!,
    _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    guard let box = Handles.get(storage, CredentialStorageBox.self) else { return refused(error, noStorage) }
    let name = String(c: user)
    guard user == nil || name != nil else { return refused(error, "user is not UTF-8") }
    guard let space = made(space, error) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return status(error) { () throws(APIError) in try box.storage.remove(user: name, for: space) }
}

@_cdecl("ntapi_credential_storage_clear") @implementation
public func ntapi_credential_storage_clear(
    _ storage: OpaquePointer!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    guard let box = Handles.get(storage, CredentialStorageBox.self) else { return refused(error, noStorage) }
    return status(error) { () throws(APIError) in try box.storage.removeAll() }
}

@_cdecl("ntapi_configuration_set_credential_storage") @implementation
public func ntapi_configuration_set_credential_storage(
    _ configuration: OpaquePointer!, _ storage: OpaquePointer!
) -> ntapi_status {
    attach(configuration, storage, CredentialStorageBox.self) { $0.credentialStorage = $1?.storage }
}

@_cdecl("ntapi_client_credential_storage") @implementation
public func ntapi_client_credential_storage(_ client: OpaquePointer!) -> OpaquePointer! {
    Handles.get(client, ClientBox.self)?.credentialStorage?.handle
}
