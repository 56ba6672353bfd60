public import CNTApi
import NTApi

extension LogLevel {
    var c: ntapi_log {
        switch self {
        case .debug: NTAPI_LOG_DEBUG
        case .info: NTAPI_LOG_INFO
        case .warn: NTAPI_LOG_WARN
        case .error: NTAPI_LOG_ERROR
        }
    }
}

extension LogLevel {
    /// Nil for an unknown level.
    init?(_ level: ntapi_log) { self.init(rawValue: Int(level.rawValue)) }
}

@_cdecl("ntapi_log_set_flags") @implementation
public func ntapi_log_set_flags(_ flags: CInt) { APILog.flags = LogFlags(rawValue: Int(flags)) }

@_cdecl("ntapi_log_use_syslog") @implementation
public func ntapi_log_use_syslog(_ name: UnsafePointer<CChar>!) -> ntapi_status {
    let text = String(c: name)
    guard name == nil || text != nil else { return NTAPI_STATUS_INVALID_ARGUMENT }
    APILog.useSyslog(name: text)
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_log_set_sink") @implementation
public func ntapi_log_set_sink(
    _ sink: ntapi_log_fn!, _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) {
    let userData = UserData(user_data, destroy)
    guard let sink else {
        APILog.sink = nil
        return
    }
    APILog.sink = { level, message in message.withCString { sink(userData.pointer, level.c, $0) } }
}

@_cdecl("ntapi_client_set_log_flags") @implementation
public func ntapi_client_set_log_flags(_ client: OpaquePointer!, _ flags: CInt) -> ntapi_status {
    withClient(client) { $0.logFlags = LogFlags(rawValue: Int(flags)).intersection(.all) }
}

@_cdecl("ntapi_client_log_flags") @implementation
public func ntapi_client_log_flags(_ client: OpaquePointer!) -> CInt {
    Handles.get(client, ClientBox.self).map { CInt(truncatingIfNeeded: $0.client.logFlags.rawValue) } ?? 0
}

@_cdecl("ntapi_request_log") @implementation
public func ntapi_request_log(
    _ request: OpaquePointer!, _ level: ntapi_log, _ message: UnsafePointer<CChar>!
) -> ntapi_status {
    guard let request = Handles.get(request, RequestBox.self)?.request, let level = LogLevel(level),
        let message = String(c: message)
    else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    request.logOwn(level, message)
    return NTAPI_STATUS_OK
}
