public import CNTApi
import NTApi

@_cdecl("ntapi_stub_create") @implementation
public func ntapi_stub_create() -> OpaquePointer! { Handles.make(Stub()) }

@_cdecl("ntapi_stub_open_recording") @implementation
public func ntapi_stub_open_recording(
    _ path: UnsafePointer<CChar>!, _ any_origin: Bool, _ repeats_last: Bool,
    _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> OpaquePointer! {
    do throws(APIError) {
        guard let path = String(c: path) else { throw .invalidArgument("path is NULL or not UTF-8") }
        return Handles.make(try Stub(recording: path, anyOrigin: any_origin, repeatsLast: repeats_last))
    } catch let problem {
        error?.pointee = problem.handle
        return nil
    }
}

@_cdecl("ntapi_stub_free") @implementation
public func ntapi_stub_free(_ stub: OpaquePointer!) { Handles.free(stub, Stub.self) }

@_cdecl("ntapi_client_set_stub") @implementation
public func ntapi_client_set_stub(_ client: OpaquePointer!, _ stub: OpaquePointer!) -> ntapi_status {
    attach(client, stub, Stub.self) { $0.stub = $1 }
}

@_cdecl("ntapi_stub_on") @implementation
public func ntapi_stub_on(
    _ stub: OpaquePointer!, _ method: UnsafePointer<CChar>!, _ url: UnsafePointer<CChar>!
) -> OpaquePointer! {
    let (methodText, urlText) = (String(c: method), String(c: url))
    guard let stub = get(stub), method == nil || methodText != nil, url == nil || urlText != nil else { return nil }
    return Handles.make(stub.on(methodText, urlText ?? "**"))
}

@_cdecl("ntapi_stub_rule_free") @implementation
public func ntapi_stub_rule_free(_ rule: OpaquePointer!) { Handles.free(rule, StubRule.self) }

@_cdecl("ntapi_stub_rule_body_json") @implementation
public func ntapi_stub_rule_body_json(_ rule: OpaquePointer!, _ json: OpaquePointer!) -> ntapi_status {
    guard let json = Handles.get(json, JSONBox.self)?.json else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(rule) { $0.body(.json(json)) }
}

@_cdecl("ntapi_stub_rule_body_contains") @implementation
public func ntapi_stub_rule_body_contains(_ rule: OpaquePointer!, _ text: UnsafePointer<CChar>!) -> ntapi_status {
    guard let text = String(c: text) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(rule) { $0.body(.containing(text)) }
}

@_cdecl("ntapi_stub_rule_match") @implementation
public func ntapi_stub_rule_match(
    _ rule: OpaquePointer!, _ match: ntapi_stub_match_fn!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    guard let match else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(rule) { rule in
        rule.matching { request in
            let lent = HandleOwner(StubRequestBox(request))
            return withExtendedLifetime(lent) { match(userData.pointer, lent.handle) }
        }
    }
}

@_cdecl("ntapi_stub_rule_answer") @implementation
public func ntapi_stub_rule_answer(_ rule: OpaquePointer!, _ answer: OpaquePointer!) -> ntapi_status {
    guard let answer = Handles.get(answer, StubAnswerBox.self)?.answer else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(rule) { $0.answer(answer) }
}

@_cdecl("ntapi_stub_rule_answer_with") @implementation
public func ntapi_stub_rule_answer_with(
    _ rule: OpaquePointer!, _ answer: ntapi_stub_answer_fn!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    guard let answer else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(rule) { rule in
        rule.answer { request in
            let lent = HandleOwner(StubRequestBox(request))
            let made = withExtendedLifetime(lent) { answer(userData.pointer, lent.handle) }
            return Handles.free(made, StubAnswerBox.self)?.answer ?? StubAnswer()
        }
    }
}

@_cdecl("ntapi_stub_rule_use_up") @implementation
public func ntapi_stub_rule_use_up(_ rule: OpaquePointer!) -> ntapi_status { change(rule) { $0.usedUp() } }

@_cdecl("ntapi_stub_rule_call_count") @implementation
public func ntapi_stub_rule_call_count(_ rule: OpaquePointer!) -> Int {
    Handles.get(rule, StubRule.self)?.callCount ?? 0
}

@_cdecl("ntapi_stub_verify") @implementation
public func ntapi_stub_verify(
    _ stub: OpaquePointer!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    guard let stub = get(stub) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return status(error) { () throws(APIError) in try stub.verify() }
}

@_cdecl("ntapi_stub_forget_requests") @implementation
public func ntapi_stub_forget_requests(_ stub: OpaquePointer!) -> ntapi_status {
    guard let stub = get(stub) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    stub.forgetRequests()
    return NTAPI_STATUS_OK
}

private func get(_ stub: OpaquePointer?) -> Stub? { Handles.get(stub, Stub.self) }

private func change(_ rule: OpaquePointer?, _ body: (StubRule) -> Void) -> ntapi_status {
    guard let rule = Handles.get(rule, StubRule.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    body(rule)
    return NTAPI_STATUS_OK
}

/// What an `ntapi_stub_answer` stands for.
final class StubAnswerBox: @unchecked Sendable {
    // Safe to share: only accessed under `SharedMutex.args`.
    @exclusivity(unchecked) private var value: StubAnswer

    init(_ answer: StubAnswer) { value = answer }

    var answer: StubAnswer { SharedMutex.args.withLock { value } }

    /// - Returns: false, without a change, when the answer would be invalid.
    func change(_ change: (inout StubAnswer) -> Void) -> Bool {
        SharedMutex.args.withLock {
            var changed = value
            change(&changed)
            guard changed.problem == nil else { return false }
            value = changed
            return true
        }
    }
}

extension StubFault {
    fileprivate init?(_ fault: ntapi_stub_fault, after bytes: Int64) {
        switch fault {
        case NTAPI_STUB_FAULT_NO_CONNECTION: self = .noConnection
        case NTAPI_STUB_FAULT_NO_INTERNET: self = .noInternet
        case NTAPI_STUB_FAULT_UNKNOWN_HOST: self = .unknownHost
        case NTAPI_STUB_FAULT_UNTRUSTED_CERTIFICATE: self = .untrustedCertificate
        case NTAPI_STUB_FAULT_TIMEOUT: self = .timeout
        case NTAPI_STUB_FAULT_SILENCE: self = .silence
        case NTAPI_STUB_FAULT_CONNECTION_LOST:
            self = bytes < 0 ? .connectionLost : .connectionLost(after: Int(clamping: bytes))
        default: return nil
        }
    }
}

@_cdecl("ntapi_stub_answer_create") @implementation
public func ntapi_stub_answer_create(_ status: CInt) -> OpaquePointer! {
    let answer = StubAnswer(status: Int(status))
    return answer.problem == nil ? Handles.make(StubAnswerBox(answer)) : nil
}

@_cdecl("ntapi_stub_answer_free") @implementation
public func ntapi_stub_answer_free(_ answer: OpaquePointer!) { Handles.free(answer, StubAnswerBox.self) }

@_cdecl("ntapi_stub_answer_add_header") @implementation
public func ntapi_stub_answer_add_header(
    _ answer: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status {
    guard let name = String(c: name), let value = String(c: value) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(answer) { $0.headers.add(name, value) }
}

@_cdecl("ntapi_stub_answer_data") @implementation
public func ntapi_stub_answer_data(
    _ answer: OpaquePointer!, _ bytes: UnsafeRawPointer!, _ length: Int, _ content_type: UnsafePointer<CChar>!
) -> ntapi_status {
    let type = String(c: content_type)
    guard length == 0 || (bytes != nil && length > 0), content_type == nil || type != nil else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    let body = Array(UnsafeRawBufferPointer(start: bytes, count: length))
    return change(answer) {
        $0.body = body
        if let type { $0.setType(type) }
    }
}

@_cdecl("ntapi_stub_answer_json") @implementation
public func ntapi_stub_answer_json(_ answer: OpaquePointer!, _ json: OpaquePointer!) -> ntapi_status {
    guard let json = Handles.get(json, JSONBox.self)?.json else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(answer) {
        $0.body = json.utf8()
        $0.setType("application/json")
    }
}

@_cdecl("ntapi_stub_answer_delay") @implementation
public func ntapi_stub_answer_delay(_ answer: OpaquePointer!, _ seconds: Double) -> ntapi_status {
    change(answer) { $0.delay = seconds }
}

@_cdecl("ntapi_stub_answer_pieces") @implementation
public func ntapi_stub_answer_pieces(_ answer: OpaquePointer!, _ size: Int, _ seconds: Double) -> ntapi_status {
    change(answer) {
        $0.pieceSize = size
        $0.pieceDelay = seconds
    }
}

@_cdecl("ntapi_stub_answer_set_fault") @implementation
public func ntapi_stub_answer_set_fault(
    _ answer: OpaquePointer!, _ fault: ntapi_stub_fault, _ after: Int64
) -> ntapi_status {
    let known = StubFault(fault, after: after)
    guard known != nil || fault == NTAPI_STUB_FAULT_NONE else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(answer) { $0.fault = known }
}

private func change(_ answer: OpaquePointer?, _ body: (inout StubAnswer) -> Void) -> ntapi_status {
    guard Handles.get(answer, StubAnswerBox.self)?.change(body) == true else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return NTAPI_STATUS_OK
}

/// What an `ntapi_stub_request` stands for.
final class StubRequestBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    let request: StubRequest
    /// The body with a final NUL.
    private let body: UnsafeMutableBufferPointer<UInt8>

    init(_ request: StubRequest) {
        self.request = request
        body = .allocate(capacity: request.body.count + 1)
        _ = body.initialize(from: request.body + [0])
    }

    deinit { body.deallocate() }

    var bytes: UnsafePointer<CChar>? {
        body.baseAddress.map { UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }
    }

    func field(_ index: Int) -> HTTPHeaders.Field? {
        request.headers.indices.contains(index) ? request.headers[index] : nil
    }
}

@_cdecl("ntapi_stub_request_count") @implementation
public func ntapi_stub_request_count(_ stub: OpaquePointer!) -> Int {
    Handles.get(stub, Stub.self)?.requests.count ?? 0
}

@_cdecl("ntapi_stub_get_request") @implementation
public func ntapi_stub_get_request(_ stub: OpaquePointer!, _ index: Int) -> OpaquePointer! {
    guard let requests = Handles.get(stub, Stub.self)?.requests, requests.indices.contains(index) else { return nil }
    return Handles.make(StubRequestBox(requests[index]))
}

@_cdecl("ntapi_stub_request_free") @implementation
public func ntapi_stub_request_free(_ request: OpaquePointer!) { Handles.free(request, StubRequestBox.self) }

@_cdecl("ntapi_stub_request_method") @implementation
public func ntapi_stub_request_method(_ request: OpaquePointer!) -> UnsafePointer<CChar>! {
    box(request).flatMap { box in box.text(.method) { box.request.method } }
}

@_cdecl("ntapi_stub_request_url") @implementation
public func ntapi_stub_request_url(_ request: OpaquePointer!) -> UnsafePointer<CChar>! {
    box(request).flatMap { box in box.text(.url) { box.request.url } }
}

@_cdecl("ntapi_stub_request_header_count") @implementation
public func ntapi_stub_request_header_count(_ request: OpaquePointer!) -> Int {
    box(request)?.request.headers.count ?? 0
}

@_cdecl("ntapi_stub_request_header_name") @implementation
public func ntapi_stub_request_header_name(_ request: OpaquePointer!, _ index: Int) -> UnsafePointer<CChar>! {
    box(request).flatMap { box in box.text(.headerName(index)) { box.field(index)?.name } }
}

@_cdecl("ntapi_stub_request_header_value") @implementation
public func ntapi_stub_request_header_value(_ request: OpaquePointer!, _ index: Int) -> UnsafePointer<CChar>! {
    box(request).flatMap { box in box.text(.headerValue(index)) { box.field(index)?.value } }
}

@_cdecl("ntapi_stub_request_body") @implementation
public func ntapi_stub_request_body(
    _ request: OpaquePointer!, _ length: UnsafeMutablePointer<Int>!
) -> UnsafePointer<CChar>! {
    let box = box(request)
    length?.pointee = box?.request.body.count ?? 0
    return box?.bytes
}

@_cdecl("ntapi_stub_request_is_matched") @implementation
public func ntapi_stub_request_is_matched(_ request: OpaquePointer!) -> Bool {
    box(request)?.request.isMatched ?? false
}

private func box(_ request: OpaquePointer?) -> StubRequestBox? { Handles.get(request, StubRequestBox.self) }
