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
