public import CNTApi
public import CNTApiJansson
import NTApi

/// A lent jansson tree.
final class JanssonTree: @unchecked Sendable {
    // Safe to share: nobody changes it, and jansson counts references atomically.
    let root: UnsafeMutablePointer<json_t>

    init(_ json: JSON) { root = UnsafeMutablePointer(json.jansson()) }

    deinit { json_decref(root) }
}

@_cdecl("ntapi_response_jansson") @implementation
public func ntapi_response_jansson(_ response: OpaquePointer!) -> UnsafeMutablePointer<json_t>! {
    Handles.get(response, ResponseBox.self)?.tree?.root
}

@_cdecl("ntapi_args_jansson") @implementation
public func ntapi_args_jansson(_ args: OpaquePointer!, _ tree: UnsafePointer<json_t>!) -> ntapi_status {
    append(args) {
        guard let tree else { return .json(nil) }
        return JSON(jansson: tree).map { .json($0) }
    }
}

@_cdecl("ntapi_defaults_set_jansson") @implementation
public func ntapi_defaults_set_jansson(
    _ defaults: OpaquePointer!, _ key: UnsafePointer<CChar>!, _ tree: UnsafePointer<json_t>!
) -> ntapi_status {
    set(defaults, key, isMissing: tree == nil) { JSON(jansson: tree) }
}

@_cdecl("ntapi_json_to_jansson") @implementation
public func ntapi_json_to_jansson(
    _ json: OpaquePointer!, _ path: UnsafePointer<CChar>!
) -> UnsafeMutablePointer<json_t>! { value(json, path).flatMap { UnsafeMutablePointer($0.jansson()) } }

@_cdecl("ntapi_json_from_jansson") @implementation
public func ntapi_json_from_jansson(_ tree: UnsafePointer<json_t>!) -> OpaquePointer! {
    guard let tree else { return nil }
    return JSON(jansson: tree).flatMap { Handles.make(JSONBox($0)) }
}
