public import CNTApi
import NTApi

@_cdecl("ntapi_recorder_create") @implementation
public func ntapi_recorder_create(_ path: UnsafePointer<CChar>!) -> OpaquePointer! {
    String(c: path).flatMap { Handles.make(Recorder(path: $0)) }
}

@_cdecl("ntapi_recorder_free") @implementation
public func ntapi_recorder_free(_ recorder: OpaquePointer!) { Handles.free(recorder, Recorder.self) }

@_cdecl("ntapi_recorder_add_secret") @implementation
public func ntapi_recorder_add_secret(_ recorder: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> ntapi_status {
    guard let name = String(c: name), let recorder = get(recorder) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    recorder.addSecret(name)
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_client_set_recorder") @implementation
public func ntapi_client_set_recorder(_ client: OpaquePointer!, _ recorder: OpaquePointer!) -> ntapi_status {
    attach(client, recorder, Recorder.self) { $0.recorder = $1 }
}

@_cdecl("ntapi_recorder_count") @implementation
public func ntapi_recorder_count(_ recorder: OpaquePointer!) -> Int { get(recorder)?.count ?? 0 }

@_cdecl("ntapi_recorder_save") @implementation
public func ntapi_recorder_save(
    _ recorder: OpaquePointer!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    guard let recorder = get(recorder) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return status(error) { () throws(APIError) in try recorder.save() }
}

private func get(_ recorder: OpaquePointer?) -> Recorder? { Handles.get(recorder, Recorder.self) }
