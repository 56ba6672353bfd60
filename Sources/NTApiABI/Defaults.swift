public import CNTApi
import NTApi

/// What an `ntapi_defaults` stands for.
final class DefaultsBox: Sendable {
    let defaults: Defaults

    init(_ defaults: Defaults) { self.defaults = defaults }

    /// Lives as long as the process.
    static let globalHandle = HandleOwner(DefaultsBox(.global))
}

/// A lent handle, which ends with its owner.
final class HandleOwner<Object: AnyObject>: @unchecked Sendable {
    // Safe to share: constant.
    let handle: OpaquePointer?

    init(_ object: Object) { handle = Handles.lend(object) }

    deinit { Handles.free(handle, Object.self) }
}

/// What an `ntapi_class` stands for.
final class ClassBox: Sendable {
    let place: Defaults
    let defaults: HandleOwner<DefaultsBox>
    let interceptors: ClassInterceptors

    init(_ name: String, parent: ClassBox?) {
        place = Defaults(name: name, parent: parent?.place ?? APIClient.defaults)
        defaults = HandleOwner(DefaultsBox(place))
        interceptors = ClassInterceptors(parent: parent?.interceptors)
    }
}

@_cdecl("ntapi_defaults_global") @implementation
public func ntapi_defaults_global() -> OpaquePointer! { DefaultsBox.globalHandle.handle }

@_cdecl("ntapi_class_create") @implementation
public func ntapi_class_create(_ name: UnsafePointer<CChar>!, _ parent: OpaquePointer!) -> OpaquePointer! {
    guard let name = String(c: name) else { return nil }
    let box = Handles.get(parent, ClassBox.self)
    guard parent == nil || box != nil else { return nil }
    return Handles.make(ClassBox(name, parent: box))
}

@_cdecl("ntapi_class_free") @implementation
public func ntapi_class_free(_ class_handle: OpaquePointer!) { Handles.free(class_handle, ClassBox.self) }

@_cdecl("ntapi_class_defaults") @implementation
public func ntapi_class_defaults(_ class_handle: OpaquePointer!) -> OpaquePointer! {
    Handles.get(class_handle, ClassBox.self)?.defaults.handle
}

@_cdecl("ntapi_client_defaults") @implementation
public func ntapi_client_defaults(_ client: OpaquePointer!) -> OpaquePointer! {
    Handles.get(client, ClientBox.self)?.defaults.handle
}

/// Sets a default to the value that `make` returns. NULL (`isMissing`) removes it. After a mistake, requests that would
/// use the default fail until it is set.
func set(
    _ defaults: OpaquePointer?, _ key: UnsafePointer<CChar>?, isMissing: Bool = false,
    function: StaticString = #function, _ make: () -> JSON?
) -> ntapi_status {
    guard let box = Handles.get(defaults, DefaultsBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    guard let name = String(c: key) else { return refuse(box, "", "the name is NULL or not UTF-8", function) }
    let value = isMissing ? nil : make()
    guard isMissing || value != nil else { return refuse(box, name, "the value of \(name) is not valid", function) }
    box.defaults[name] = value
    return NTAPI_STATUS_OK
}

private func refuse(_ box: DefaultsBox, _ key: String, _ problem: String, _ function: StaticString) -> ntapi_status {
    box.defaults.refuse(key, "\(name(of: function)): \(problem)")
    return NTAPI_STATUS_INVALID_ARGUMENT
}

@_cdecl("ntapi_defaults_set") @implementation
public func ntapi_defaults_set(
    _ defaults: OpaquePointer!, _ key: UnsafePointer<CChar>!, _ value: OpaquePointer!
) -> ntapi_status {
    set(defaults, key, isMissing: value == nil) { Handles.get(value, JSONBox.self)?.json }
}

@_cdecl("ntapi_defaults_set_string") @implementation
public func ntapi_defaults_set_string(
    _ defaults: OpaquePointer!, _ key: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status {
    set(defaults, key, isMissing: value == nil) { String(c: value).map { JSON($0) } }
}

@_cdecl("ntapi_defaults_set_number") @implementation
public func ntapi_defaults_set_number(
    _ defaults: OpaquePointer!, _ key: UnsafePointer<CChar>!, _ value: Double
) -> ntapi_status {
    set(defaults, key) { value.isFinite ? Int64(exactly: value).map { JSON($0) } ?? JSON(value) : nil }
}

@_cdecl("ntapi_defaults_set_bool") @implementation
public func ntapi_defaults_set_bool(
    _ defaults: OpaquePointer!, _ key: UnsafePointer<CChar>!, _ value: Bool
) -> ntapi_status { set(defaults, key) { JSON(value) } }

@_cdecl("ntapi_defaults_set_provider") @implementation
public func ntapi_defaults_set_provider(
    _ defaults: OpaquePointer!, _ key: UnsafePointer<CChar>!, _ provider: ntapi_provider_fn!,
    _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    guard let box = Handles.get(defaults, DefaultsBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    guard let name = String(c: key) else { return refuse(box, "", "the name is NULL or not UTF-8", #function) }
    guard let provider else {
        box.defaults[name] = nil
        return NTAPI_STATUS_OK
    }
    box.defaults.setProvider(name) { key in
        Handles.free(key.withCString { provider(userData.pointer, $0) }, JSONBox.self)?.json
    }
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_defaults_get") @implementation
public func ntapi_defaults_get(_ defaults: OpaquePointer!, _ key: UnsafePointer<CChar>!) -> OpaquePointer! {
    guard let box = Handles.get(defaults, DefaultsBox.self), let key = String(c: key) else { return nil }
    return box.defaults[key].flatMap { Handles.make(JSONBox($0)) }
}
