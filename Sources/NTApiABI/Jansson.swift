public import CJansson
import CNTApi
import NTApi

@_cdecl("ntapi_json_to_jansson") @implementation
public func ntapi_json_to_jansson(
    _ json: OpaquePointer!, _ path: UnsafePointer<CChar>!
) -> UnsafeMutablePointer<json_t>! { value(json, path).flatMap { UnsafeMutablePointer($0.jansson()) } }

@_cdecl("ntapi_json_from_jansson") @implementation
public func ntapi_json_from_jansson(_ tree: UnsafePointer<json_t>!) -> OpaquePointer! {
    guard let tree else { return nil }
    return Handles.make(JSONBox(JSON(jansson: UnsafeRawPointer(tree))))
}
