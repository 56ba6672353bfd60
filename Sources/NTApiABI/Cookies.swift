public import CNTApi
import NTApi

/// What an `ntapi_cookie_storage` stands for.
final class CookieStorageBox: Sendable {
    let storage: CookieStorage

    init(_ storage: CookieStorage) { self.storage = storage }
}

extension Cookie {
    fileprivate var json: JSON {
        var members: [(String, JSON)] = [
            ("name", JSON(name)), ("value", JSON(value)), ("domain", JSON(domain)), ("path", JSON(path)),
        ]
        if let expires { members.append(("expires", JSON(expires))) }
        return JSON(
            members + [
                ("secure", JSON(isSecure)), ("httpOnly", JSON(isHTTPOnly)),
                ("includesSubdomains", JSON(includesSubdomains)),
            ])
    }

    /// Nil when a member is missing or of the wrong type.
    fileprivate init?(_ json: JSON) {
        guard let name = json["name"]?.string, let value = json["value"]?.string,
            let domain = json["domain"]?.string
        else { return nil }
        self.init(name: name, value: value, domain: domain)
        if let path = json["path"], !path.isNull {
            guard let text = path.string else { return nil }
            self.path = text
        }
        if let expires = json["expires"], !expires.isNull {
            guard let seconds = expires.double else { return nil }
            self.expires = seconds
        }
        for (member, property) in [
            ("secure", \Cookie.isSecure), ("httpOnly", \.isHTTPOnly), ("includesSubdomains", \.includesSubdomains),
        ] {
            guard let flag = json[member], !flag.isNull else { continue }
            guard let isOn = flag.bool else { return nil }
            self[keyPath: property] = isOn || self[keyPath: property]
        }
    }
}

@_cdecl("ntapi_client_cookies") @implementation
public func ntapi_client_cookies(_ client: OpaquePointer!) -> OpaquePointer! {
    Handles.get(client, ClientBox.self)?.cookies?.handle
}

@_cdecl("ntapi_cookie_storage_get") @implementation
public func ntapi_cookie_storage_get(_ storage: OpaquePointer!, _ url: UnsafePointer<CChar>!) -> OpaquePointer! {
    guard let box = Handles.get(storage, CookieStorageBox.self) else { return nil }
    var cookies: [Cookie]?
    if url == nil {
        cookies = box.storage.cookies
    } else if let url = String(c: url) {
        cookies = try? box.storage.cookies(for: url)
    }
    return cookies.flatMap { Handles.make(JSONBox(JSON($0.map(\.json)))) }
}

@_cdecl("ntapi_cookie_storage_set") @implementation
public func ntapi_cookie_storage_set(
    _ storage: OpaquePointer!, _ cookie: OpaquePointer!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    guard let box = Handles.get(storage, CookieStorageBox.self) else { return refused(error, noStorage) }
    guard let json = Handles.get(cookie, JSONBox.self)?.json else {
        return refused(error, "cookie is NULL, freed, or no JSON")
    }
    do throws(APIError) {
        guard let cookie = Cookie(json) else {
            throw APIError(
                domain: .request, code: .invalidRequest,
                message:
                    "a cookie is an object with the texts name, value, domain and maybe path, the number expires "
                    + "and the booleans secure, httpOnly and includesSubdomains")
        }
        try box.storage.set(cookie)
        return NTAPI_STATUS_OK
    } catch let problem {
        error?.pointee = problem.handle
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
}

@_cdecl("ntapi_cookie_storage_delete") @implementation
public func ntapi_cookie_storage_delete(
    _ storage: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ domain: UnsafePointer<CChar>!,
    _ path: UnsafePointer<CChar>!
) -> ntapi_status {
    let (domainText, pathText) = (String(c: domain), String(c: path))
    guard let name = String(c: name), domain == nil || domainText != nil, path == nil || pathText != nil else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    return with(storage) { $0.delete(name: name, domain: domainText, path: pathText) }
}

@_cdecl("ntapi_cookie_storage_clear") @implementation
public func ntapi_cookie_storage_clear(_ storage: OpaquePointer!) -> ntapi_status { with(storage) { $0.removeAll() } }

@_cdecl("ntapi_cookie_storage_save") @implementation
public func ntapi_cookie_storage_save(
    _ storage: OpaquePointer!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    guard let box = Handles.get(storage, CookieStorageBox.self) else { return refused(error, noStorage) }
    return status(error) { () throws(APIError) in try box.storage.save() }
}

private let noStorage = "storage is NULL, freed, or no cookie storage"

private func with(_ storage: OpaquePointer?, _ body: (CookieStorage) -> Void) -> ntapi_status {
    guard let box = Handles.get(storage, CookieStorageBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    body(box.storage)
    return NTAPI_STATUS_OK
}
