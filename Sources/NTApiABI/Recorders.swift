public import CNTApi
import NTApi

@_cdecl("ntapi_recorder_create") @implementation
public func ntapi_recorder_create(_ path: UnsafePointer<CChar>!) -> OpaquePointer! {
    String(c: path).flatMap { Handles.make(Recorder(path: $0)) }
}

@_cdecl("ntapi_recorder_open") @implementation
public func ntapi_recorder_open(
    _ path: UnsafePointer<CChar>!, _ mode: ntapi_record_mode, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> OpaquePointer! {
    do throws(APIError) {
        guard let path = String(c: path) else { throw .invalidArgument("path is NULL or not UTF-8") }
        return Handles.make(try Recorder(path: path, mode: try RecordMode(mode)))
    } catch let problem {
        error?.pointee = problem.handle
        return nil
    }
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

@_cdecl("ntapi_recorder_record_all") @implementation
public func ntapi_recorder_record_all(_ recorder: OpaquePointer!, _ all: Bool) -> ntapi_status {
    guard let recorder = get(recorder) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    recorder.recordsAllClients = all
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_recorder_count") @implementation
public func ntapi_recorder_count(_ recorder: OpaquePointer!) -> Int { get(recorder)?.count ?? 0 }

@_cdecl("ntapi_recorder_save") @implementation
public func ntapi_recorder_save(
    _ recorder: OpaquePointer!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    guard let recorder = get(recorder) else { return refused(error, "recorder is NULL, freed, or no recorder") }
    return status(error) { () throws(APIError) in try recorder.save() }
}

extension RecordMode {
    fileprivate init(_ mode: ntapi_record_mode) throws(APIError) {
        switch mode {
        case NTAPI_RECORD_MODE_ENVIRONMENT: self = try .ofEnvironment
        case NTAPI_RECORD_MODE_NONE: self = .none
        case NTAPI_RECORD_MODE_ONCE: self = .once
        case NTAPI_RECORD_MODE_NEW_EPISODES: self = .newEpisodes
        case NTAPI_RECORD_MODE_ALL: self = .all
        default: throw .invalidArgument("there is no such mode")
        }
    }
}

private func get(_ recorder: OpaquePointer?) -> Recorder? { Handles.get(recorder, Recorder.self) }
