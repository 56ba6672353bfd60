public import CNTApi
import NTApi

@_cdecl("ntapi_request_exit_timeout") @implementation
public func ntapi_request_exit_timeout(_ request: OpaquePointer!) -> Double { get(request)?.exitTimeout ?? 0 }

@_cdecl("ntapi_request_get_state") @implementation
public func ntapi_request_get_state(_ request: OpaquePointer!) -> ntapi_request_state {
    switch get(request)?.state {
    case nil: NTAPI_REQUEST_STATE_NONE
    case .suspended?: NTAPI_REQUEST_STATE_SUSPENDED
    case .running?: NTAPI_REQUEST_STATE_RUNNING
    case .completed?: NTAPI_REQUEST_STATE_COMPLETED
    case .cancelled?: NTAPI_REQUEST_STATE_CANCELLED
    }
}

@_cdecl("ntapi_request_is_running") @implementation
public func ntapi_request_is_running(_ request: OpaquePointer!) -> Bool { get(request)?.isRunning ?? false }

@_cdecl("ntapi_request_identifier") @implementation
public func ntapi_request_identifier(_ request: OpaquePointer!) -> UInt64 { get(request)?.identifier ?? 0 }

@_cdecl("ntapi_request_description") @implementation
public func ntapi_request_description(_ request: OpaquePointer!) -> UnsafeMutablePointer<CChar>! {
    (get(request)?.taskDescription).map(newText)
}

@_cdecl("ntapi_request_set_description") @implementation
public func ntapi_request_set_description(
    _ request: OpaquePointer!, _ description: UnsafePointer<CChar>!
) -> ntapi_status {
    let text = String(c: description)
    guard let request = get(request), description == nil || text != nil else { return NTAPI_STATUS_INVALID_ARGUMENT }
    request.taskDescription = text
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_request_log") @implementation
public func ntapi_request_log(
    _ request: OpaquePointer!, _ level: ntapi_log, _ message: UnsafePointer<CChar>!
) -> ntapi_status {
    guard let request = get(request), let level = LogLevel(level), let message = String(c: message) else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    request.logOwn(level, message)
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_request_set_keeps_body") @implementation
public func ntapi_request_set_keeps_body(_ request: OpaquePointer!, _ keeps_body: Bool) -> ntapi_status {
    with(request) { $0.setKeepsBody(keeps_body) }
}

@_cdecl("ntapi_request_set_logs_error") @implementation
public func ntapi_request_set_logs_error(_ request: OpaquePointer!, _ logs_error: Bool) -> ntapi_status {
    with(request) { $0.setLogsError(logs_error) }
}

@_cdecl("ntapi_request_priority") @implementation
public func ntapi_request_priority(_ request: OpaquePointer!) -> Double { get(request)?.priority ?? 0 }

@_cdecl("ntapi_request_set_priority") @implementation
public func ntapi_request_set_priority(_ request: OpaquePointer!, _ priority: Double) -> ntapi_status {
    guard let request = get(request), (0...1).contains(priority) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    request.priority = priority
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_request_bytes_sent") @implementation
public func ntapi_request_bytes_sent(_ request: OpaquePointer!) -> Int64 { get(request)?.bytesSent.bytes ?? 0 }

@_cdecl("ntapi_request_bytes_expected_to_send") @implementation
public func ntapi_request_bytes_expected_to_send(_ request: OpaquePointer!) -> Int64 {
    get(request)?.bytesSent.total ?? -1
}

@_cdecl("ntapi_request_bytes_received") @implementation
public func ntapi_request_bytes_received(_ request: OpaquePointer!) -> Int64 { get(request)?.bytesReceived.bytes ?? 0 }

@_cdecl("ntapi_request_bytes_expected_to_receive") @implementation
public func ntapi_request_bytes_expected_to_receive(_ request: OpaquePointer!) -> Int64 {
    get(request)?.bytesReceived.total ?? -1
}

@_cdecl("ntapi_request_bytes_decoded") @implementation
public func ntapi_request_bytes_decoded(_ request: OpaquePointer!) -> Int64 { get(request)?.bytesDecoded ?? 0 }

@_cdecl("ntapi_request_received_status") @implementation
public func ntapi_request_received_status(_ request: OpaquePointer!) -> CInt {
    CInt(clamping: get(request)?.receivedStatus ?? 0)
}

@_cdecl("ntapi_request_received_header") @implementation
public func ntapi_request_received_header(
    _ request: OpaquePointer!, _ name: UnsafePointer<CChar>!
) -> UnsafePointer<CChar>! {
    guard let box = box(request), let name = String(c: name) else { return nil }
    return box.lend(box.request.receivedHeaders[name], box.request.receivedHeaders.bytes(name))
}

@_cdecl("ntapi_request_received_header_count") @implementation
public func ntapi_request_received_header_count(_ request: OpaquePointer!) -> Int {
    get(request)?.receivedHeaders.count ?? 0
}

@_cdecl("ntapi_request_received_header_name") @implementation
public func ntapi_request_received_header_name(_ request: OpaquePointer!, _ index: Int) -> UnsafePointer<CChar>! {
    box(request).flatMap { box in
        let field = box.receivedField(index)
        return box.lend(field?.name, field.map { Array($0.name.utf8) })
    }
}

@_cdecl("ntapi_request_received_header_value") @implementation
public func ntapi_request_received_header_value(_ request: OpaquePointer!, _ index: Int) -> UnsafePointer<CChar>! {
    box(request).flatMap { box in
        let field = box.receivedField(index)
        return box.lend(field?.value, field?.bytes)
    }
}

@_cdecl("ntapi_request_resume_data") @implementation
public func ntapi_request_resume_data(_ request: OpaquePointer!) -> UnsafeMutablePointer<CChar>! {
    (get(request)?.resumeData?.json.dumped).map(newText)
}

@_cdecl("ntapi_request_curl_command") @implementation
public func ntapi_request_curl_command(_ request: OpaquePointer!) -> UnsafePointer<CChar>! {
    box(request)?.curlCommand
}

private func box(_ request: OpaquePointer?) -> RequestBox? { Handles.get(request, RequestBox.self) }

private func get(_ request: OpaquePointer?) -> APIRequest? { box(request)?.request }

extension RequestBox {
    /// Until the request is freed, whatever answer comes next.
    fileprivate func lend(_ content: String?, _ bytes: [UInt8]?) -> UnsafePointer<CChar>? {
        content.flatMap { content in text(.content(content), bytes: { bytes }) }
    }

    fileprivate func receivedField(_ index: Int) -> HTTPHeaders.Field? {
        let headers = request.receivedHeaders
        return headers.indices.contains(index) ? headers[index] : nil
    }
}
