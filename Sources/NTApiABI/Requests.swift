public import CNTApi
import NTApi

/// What an `ntapi_request` stands for.
final class RequestBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    let request: APIRequest
    /// The object that `ntapi_request_wait_watching` waits for; nil when it cannot wait for this request.
    let answer: Answer?

    init(_ request: APIRequest, answer: Answer? = nil) {
        self.request = request
        self.answer = answer
    }

    var curlCommand: UnsafePointer<CChar>? { text(.curlCommand) { request.curlCommand } }
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
) -> OpaquePointer! { makeRequest(client, command, args).flatMap { Handles.make(RequestBox($0)) } }

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

@_cdecl("ntapi_client_begin_event") @implementation
public func ntapi_client_begin_event(
    _ client: OpaquePointer!, _ command: UnsafePointer<CChar>!, _ args: OpaquePointer!, _ mailbox: OpaquePointer!,
    _ user_data: UnsafeMutableRawPointer!
) -> OpaquePointer! {
    guard let destination = Handles.get(mailbox, MailboxBox.self)?.mailbox,
        let request = makeRequest(client, command, args, [.handlers(.all, on: .mailbox(destination))])
    else { return nil }
    let userData = UserData(user_data, nil)
    // Once the response is taken, the request releases its source of events, and so the handle ends.
    let lent = HandleOwner(RequestBox(request))
    let problem = request.setEvents(.response) { event in
        withExtendedLifetime(lent) { EventBox(userData.pointer, event) }
    }
    guard problem == nil else { return nil }
    request.resume()
    return lent.handle
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

@_cdecl("ntapi_request_set_data_handler") @implementation
public func ntapi_request_set_data_handler(
    _ request: OpaquePointer!, _ handler: ntapi_data_fn!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    with(request, user_data, destroy) { $0.setDataHandler(dataHandler(handler, $1)) }
}

@_cdecl("ntapi_request_set_decision_handler") @implementation
public func ntapi_request_set_decision_handler(
    _ request: OpaquePointer!, _ kinds: CInt, _ handler: ntapi_decide_fn!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    guard let kinds = RequestDecision.Kinds(c: kinds) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return with(request) { $0.setDecisionHandler(for: kinds, decisionHandler(handler, userData)) }
}

@_cdecl("ntapi_request_set_decision_kinds") @implementation
public func ntapi_request_set_decision_kinds(_ request: OpaquePointer!, _ kinds: CInt) -> ntapi_status {
    guard let kinds = RequestDecision.Kinds(c: kinds) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return with(request) { $0.setDecisionKinds(kinds) }
}

@_cdecl("ntapi_request_set_events") @implementation
public func ntapi_request_set_events(
    _ request: OpaquePointer!, _ handlers: CInt, _ user_data: UnsafeMutableRawPointer!
) -> ntapi_status {
    guard let box = Handles.get(request, RequestBox.self), let kinds = HandlerKinds(c: handlers) else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    let userData = UserData(user_data, nil)
    switch box.request.setEvents(kinds, { EventBox(userData.pointer, $0) }) {
    case nil: return NTAPI_STATUS_OK
    case .tooLate?: return NTAPI_STATUS_INVALID_STATE
    case .noMailbox?: return NTAPI_STATUS_INVALID_ARGUMENT
    }
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

private func dataHandler(_ handler: ntapi_data_fn?, _ userData: UserData) -> APIRequest.DataHandler? {
    guard let handler else { return nil }
    return { data in
        data.withUnsafeBytes {
            handler(userData.pointer, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
        }
    }
}

private func decisionHandler(_ handler: ntapi_decide_fn?, _ userData: UserData) -> APIRequest.DecisionHandler? {
    guard let handler else { return nil }
    return { handler(userData.pointer, Handles.make(DecisionBox($0))) }
}

@_cdecl("ntapi_worker_begin_wait") @implementation
public func ntapi_worker_begin_wait() -> Bool { WorkerPool.beginWait() }

@_cdecl("ntapi_worker_end_wait") @implementation
public func ntapi_worker_end_wait() { WorkerPool.endWait() }

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

@_cdecl("ntapi_request_bytes") @implementation
public func ntapi_request_bytes(_ request: OpaquePointer!, _ bytes: ntapi_bytes) -> Int64 {
    switch bytes {
    case NTAPI_BYTES_SENT: get(request)?.bytesSent.bytes ?? 0
    case NTAPI_BYTES_EXPECTED_TO_SEND: get(request)?.bytesSent.total ?? -1
    case NTAPI_BYTES_RECEIVED: get(request)?.bytesReceived.bytes ?? 0
    case NTAPI_BYTES_EXPECTED_TO_RECEIVE: get(request)?.bytesReceived.total ?? -1
    case NTAPI_BYTES_DECODED: get(request)?.bytesDecoded ?? 0
    default: 0
    }
}

@_cdecl("ntapi_request_received_status") @implementation
public func ntapi_request_received_status(_ request: OpaquePointer!) -> CInt {
    CInt(clamping: get(request)?.receivedStatus ?? 0)
}

@_cdecl("ntapi_request_received_headers") @implementation
public func ntapi_request_received_headers(_ request: OpaquePointer!) -> OpaquePointer! {
    guard let box = box(request) else { return nil }
    let request = box.request
    return box.lendHeaders { request.receivedHeaders }
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
