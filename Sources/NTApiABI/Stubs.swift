public import CNTApi
import NTApi

@_cdecl("ntapi_stub_create") @implementation
public func ntapi_stub_create() -> OpaquePointer! { Handles.make(StubBox(Stub())) }

@_cdecl("ntapi_stub_open_recording") @implementation
public func ntapi_stub_open_recording(
    _ path: UnsafePointer<CChar>!, _ any_origin: Bool, _ repeats_last: Bool,
    _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> OpaquePointer! {
    do throws(APIError) {
        guard let path = String(c: path) else { throw .invalidArgument("path is NULL or not UTF-8") }
        return Handles.make(StubBox(try Stub(recording: path, anyOrigin: any_origin, repeatsLast: repeats_last)))
    } catch let problem {
        error?.pointee = problem.handle
        return nil
    }
}

@_cdecl("ntapi_stub_free") @implementation
public func ntapi_stub_free(_ stub: OpaquePointer!) { Handles.free(stub, StubBox.self) }

@_cdecl("ntapi_client_set_stub") @implementation
public func ntapi_client_set_stub(_ client: OpaquePointer!, _ stub: OpaquePointer!) -> ntapi_status {
    attach(client, stub, StubBox.self) { $0.stub = $1?.stub }
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
            let lent = LentStubRequest(request)
            return withExtendedLifetime(lent) { match(userData.pointer, lent.pointer) }
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
            let lent = LentStubRequest(request)
            let made = withExtendedLifetime(lent) { answer(userData.pointer, lent.pointer) }
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
    guard let box = Handles.get(stub, StubBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    box.forgetRequests()
    return NTAPI_STATUS_OK
}

private func get(_ stub: OpaquePointer?) -> Stub? { Handles.get(stub, StubBox.self)?.stub }

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

/// What an `ntapi_stub` stands for.
final class StubBox: @unchecked Sendable {
    // Safe to share: constant, except for what is only accessed under `SharedMutex.texts`.
    let stub: Stub
    @exclusivity(unchecked) private var lent: [Int: LentStubRequest] = [:]

    init(_ stub: Stub) { self.stub = stub }

    /// A request that came, lent until the requests are forgotten or the stub is freed.
    func request(_ index: Int) -> UnsafePointer<ntapi_stub_request>? {
        if let known = SharedMutex.texts.withLock({ lent[index] }) { return known.pointer }
        let requests = stub.requests
        guard requests.indices.contains(index) else { return nil }
        let made = LentStubRequest(requests[index])
        return SharedMutex.texts.withLock {
            if let known = lent[index] { return known.pointer }
            lent[index] = made
            return made.pointer
        }
    }

    func forgetRequests() {
        stub.forgetRequests()
        let forgotten = SharedMutex.texts.withLock {
            let all = lent
            lent = [:]
            return all
        }
        withExtendedLifetime(forgotten) {}
    }
}

/// A request that came as C sees it, with the memory of its texts.
final class LentStubRequest: @unchecked Sendable {
    // Safe to share: constant, and so is the memory.
    private let method: UnsafeMutablePointer<CChar>
    private let url: UnsafeMutablePointer<CChar>
    private let body: UnsafeMutableBufferPointer<CChar>
    private let headers: HandleOwner<HeadersBox>
    private let request: UnsafeMutablePointer<ntapi_stub_request>

    var pointer: UnsafePointer<ntapi_stub_request> { UnsafePointer(request) }

    init(_ request: StubRequest) {
        method = newText(request.method)
        url = newText(request.url)
        body = .allocate(capacity: request.body.count + 1)
        _ = body.initialize(from: request.body.map { CChar(bitPattern: $0) } + [0])
        let lines = request.headers
        headers = HandleOwner(HeadersBox { lines })
        var made = ntapi_stub_request()
        made.method = UnsafePointer(method)
        made.url = UnsafePointer(url)
        made.headers = headers.handle
        made.body = UnsafePointer(body.baseAddress)
        made.length = request.body.count
        made.is_matched = request.isMatched
        self.request = .allocate(capacity: 1)
        self.request.initialize(to: made)
    }

    deinit {
        request.deallocate()
        body.deallocate()
        url.deallocate()
        method.deallocate()
    }
}

@_cdecl("ntapi_stub_request_count") @implementation
public func ntapi_stub_request_count(_ stub: OpaquePointer!) -> Int {
    Handles.get(stub, StubBox.self)?.stub.requests.count ?? 0
}

@_cdecl("ntapi_stub_get_request") @implementation
public func ntapi_stub_get_request(_ stub: OpaquePointer!, _ index: Int) -> UnsafePointer<ntapi_stub_request>! {
    Handles.get(stub, StubBox.self)?.request(index)
}
