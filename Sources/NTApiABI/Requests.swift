public import CNTApi
import NTApi

/// What an `ntapi_request` stands for.
final class RequestBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    let request: APIRequest
    /// The object that `ntapi_request_wait_watching` waits for; nil when it cannot wait for this request.
    let answer: Answer?
    /// Whether `ntapi_request_pull_watching` takes its body.
    let isPulled: Bool

    init(_ request: APIRequest, answer: Answer? = nil, isPulled: Bool = false) {
        self.request = request
        self.answer = answer
        self.isPulled = isPulled
    }

    var curlCommand: UnsafePointer<CChar>? { text(.curlCommand) { request.curlCommand } }

    /// The head of the answer, as HTTP/1.1 writes it; nil before it has come.
    var receivedMessage: UnsafePointer<CChar>? {
        text(
            .message,
            bytes: {
                guard let status = request.receivedStatus else { return nil }
                let version = request.receivedHTTPVersion ?? 1.1
                let headers = request.receivedHeaders
                let number = version < 2 ? "\(version)" : "\(Int(version))"
                return Array("HTTP/\(number) \(status) \(headers.reason)\r\n".utf8) + headers.text
            })
    }
}

/// Makes a request of C's command and args, followed by `more`; nil for a wrong handle or text.
func makeRequest(
    _ client: OpaquePointer?, _ command: UnsafePointer<CChar>?, _ args: OpaquePointer?, _ more: [APIArg] = [],
    _ handler: APIRequest.ResponseHandler? = nil
) -> APIRequest? { try? checkedRequest(client, command, args, more, handler) }

/// The same with an error.
private func checkedRequest(
    _ client: OpaquePointer?, _ command: UnsafePointer<CChar>?, _ args: OpaquePointer?, _ more: [APIArg] = [],
    _ handler: APIRequest.ResponseHandler? = nil, isPerformed: Bool = false
) throws(APIError) -> APIRequest {
    guard let box = Handles.get(client, ClientBox.self) else {
        throw .invalidArgument("client is NULL, freed, or not a client")
    }
    let list = Handles.get(args, ArgsBox.self)
    guard args == nil || list != nil else { throw .invalidArgument("args is freed, or not a list of args") }
    guard let text = command == nil ? "" : String(c: command) else { throw .invalidArgument("command is not UTF-8") }
    let all = list.map { more.isEmpty ? $0.args : $0.args + more } ?? more
    return isPerformed
        ? box.client.requestToPerform(text, args: all) : box.client.request(text, args: all, handler: handler)
}

/// The client for requests without a valid client handle.
private let nobody = APIClient()

@_cdecl("ntapi_client_begin") @implementation
public func ntapi_client_begin(
    _ client: OpaquePointer!, _ command: UnsafePointer<CChar>!, _ args: OpaquePointer!, _ handler: ntapi_response_fn!,
    _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> OpaquePointer! {
    let userData = UserData(user_data, destroy)
    guard let request = makeRequest(client, command, args, [], responseHandler(handler, userData)) else { return nil }
    // Make the handle first: a handler on another thread may be called before this returns.
    let handle = Handles.make(RequestBox(request))
    request.resume()
    return handle
}

@_cdecl("ntapi_client_create_request") @implementation
public func ntapi_client_create_request(
    _ client: OpaquePointer!, _ command: UnsafePointer<CChar>!, _ args: OpaquePointer!
) -> OpaquePointer! {
    guard let request = makeRequest(client, command, args) else { return nil }
    request.willStartLater()
    return Handles.make(RequestBox(request))
}

@_cdecl("ntapi_client_perform") @implementation
public func ntapi_client_perform(
    _ client: OpaquePointer!, _ command: UnsafePointer<CChar>!, _ args: OpaquePointer!
) -> OpaquePointer! {
    let request: APIRequest
    do throws(APIError) {
        request = try checkedRequest(client, command, args, isPerformed: true)
    } catch {
        // NULL would have no error, and so look like a success.
        request = (Handles.get(client, ClientBox.self)?.client ?? nobody).request(failing: error)
    }
    return ResponseBox(request.perform()).handle
}

@_cdecl("ntapi_request_free") @implementation
public func ntapi_request_free(_ request: OpaquePointer!) { Handles.free(request, RequestBox.self) }

@_cdecl("ntapi_request_set_handler") @implementation
public func ntapi_request_set_handler(
    _ request: OpaquePointer!, _ handler: ntapi_response_fn!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    with(request, user_data, destroy) { $0.setHandler(responseHandler(handler, $1)) }
}

@_cdecl("ntapi_request_set_upload_progress") @implementation
public func ntapi_request_set_upload_progress(
    _ request: OpaquePointer!, _ handler: ntapi_progress_fn!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    with(request, user_data, destroy) { $0.setUploadProgress(progressHandler(handler, $1)) }
}

@_cdecl("ntapi_request_set_download_progress") @implementation
public func ntapi_request_set_download_progress(
    _ request: OpaquePointer!, _ handler: ntapi_progress_fn!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    with(request, user_data, destroy) { $0.setDownloadProgress(progressHandler(handler, $1)) }
}

@_cdecl("ntapi_request_resume") @implementation
public func ntapi_request_resume(_ request: OpaquePointer!) -> ntapi_status { with(request) { $0.resume() } }

@_cdecl("ntapi_request_suspend") @implementation
public func ntapi_request_suspend(_ request: OpaquePointer!) -> ntapi_status { with(request) { $0.suspend() } }

@_cdecl("ntapi_request_cancel") @implementation
public func ntapi_request_cancel(_ request: OpaquePointer!) -> ntapi_status { with(request) { $0.cancel() } }

@_cdecl("ntapi_request_wait") @implementation
public func ntapi_request_wait(_ request: OpaquePointer!, _ timeout: Double) -> ntapi_status {
    guard let box = Handles.get(request, RequestBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    switch box.request.wait(timeout: seconds(timeout)) {
    case .completed: return NTAPI_STATUS_OK
    case .timedOut: return NTAPI_STATUS_TIMED_OUT
    case .refused: return NTAPI_STATUS_INVALID_STATE
    }
}

@_cdecl("ntapi_request_response") @implementation
public func ntapi_request_response(_ request: OpaquePointer!) -> OpaquePointer! {
    Handles.get(request, RequestBox.self)?.request.response.flatMap { ResponseBox($0).handle }
}

/// Calls a method that may come too late.
func with(_ request: OpaquePointer?, _ body: (APIRequest) -> Bool) -> ntapi_status {
    guard let box = Handles.get(request, RequestBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return body(box.request) ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_STATE
}

/// Sets a C function of a request. Its user data is freed when the request no longer needs it, or refuses it.
func with(
    _ request: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?, _ destroy: ntapi_destroy_fn?,
    _ set: (APIRequest, UserData) -> Bool
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    return with(request) { set($0, userData) }
}

// As the header says, the user data is kept until the request is done, even without a function.
func responseHandler(_ handler: ntapi_response_fn?, _ userData: UserData) -> APIRequest.ResponseHandler? {
    guard let handler else { return nil }
    return { response in
        let handle = Handles.lend(ResponseBox(response))
        handler(userData.pointer, handle)
        Handles.free(handle, ResponseBox.self)
    }
}

private func progressHandler(_ handler: ntapi_progress_fn?, _ userData: UserData) -> APIRequest.ProgressHandler? {
    guard let handler else { return nil }
    return { handler(userData.pointer, $0.bytes, $0.total ?? -1) }
}

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

@_cdecl("ntapi_request_priority") @implementation
public func ntapi_request_priority(_ request: OpaquePointer!) -> Double { get(request)?.priority ?? 0 }

@_cdecl("ntapi_request_set_priority") @implementation
public func ntapi_request_set_priority(_ request: OpaquePointer!, _ priority: Double) -> ntapi_status {
    guard let request = get(request), (0...1).contains(priority) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    request.priority = priority
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_request_metrics") @implementation
public func ntapi_request_metrics(_ request: OpaquePointer!) -> OpaquePointer! {
    get(request).flatMap { Handles.make(JSONBox($0.numbers($0.response?.requestMetrics))) }
}

@_cdecl("ntapi_request_received_status") @implementation
public func ntapi_request_received_status(_ request: OpaquePointer!) -> CInt {
    CInt(clamping: get(request)?.receivedStatus ?? 0)
}

@_cdecl("ntapi_request_received_http_version") @implementation
public func ntapi_request_received_http_version(_ request: OpaquePointer!) -> Double {
    get(request)?.receivedHTTPVersion ?? 0
}

@_cdecl("ntapi_request_received_headers") @implementation
public func ntapi_request_received_headers(_ request: OpaquePointer!) -> OpaquePointer! {
    get(request).flatMap { Handles.make(HeadersBox($0.receivedHeaders)) }
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
