public import CNTApi
import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
    return Handles.make(StubRuleBox(stub.on(methodText, urlText ?? "**")))
}

@_cdecl("ntapi_stub_rule_free") @implementation
public func ntapi_stub_rule_free(_ rule: OpaquePointer!) { Handles.free(rule, StubRuleBox.self) }

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
public func ntapi_stub_rule_answer(
    _ rule: OpaquePointer!, _ answer: UnsafePointer<ntapi_stub_answer>!,
    _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    do throws(APIError) {
        guard let answer else { throw .invalidArgument("answer is NULL") }
        let made = try StubAnswer(c: answer)
        guard let box = Handles.get(rule, StubRuleBox.self) else {
            throw .invalidArgument("rule is NULL, freed, or not a rule")
        }
        box.answer(made)
        return NTAPI_STATUS_OK
    } catch let problem {
        // A rule without its answer would answer 200.
        Handles.get(rule, StubRuleBox.self)?.answer(StubAnswer(refused: problem.message))
        error?.pointee = problem.handle
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
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
            let reply = StubRuleBox(nil)
            let handle = HandleOwner(reply)
            withExtendedLifetime((lent, handle)) { answer(userData.pointer, lent.pointer, handle.handle) }
            return reply.given ?? StubAnswer()
        }
    }
}

@_cdecl("ntapi_stub_rule_use_up") @implementation
public func ntapi_stub_rule_use_up(_ rule: OpaquePointer!) -> ntapi_status { change(rule) { $0.usedUp() } }

@_cdecl("ntapi_stub_rule_call_count") @implementation
public func ntapi_stub_rule_call_count(_ rule: OpaquePointer!) -> Int {
    Handles.get(rule, StubRuleBox.self)?.rule?.callCount ?? 0
}

@_cdecl("ntapi_stub_verify") @implementation
public func ntapi_stub_verify(
    _ stub: OpaquePointer!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    guard let stub = get(stub) else { return refused(error, "stub is NULL, freed, or no stub") }
    return status(error) { () throws(APIError) in try stub.verify() }
}

@_cdecl("ntapi_stub_wait_for_requests") @implementation
public func ntapi_stub_wait_for_requests(_ stub: OpaquePointer!, _ count: Int, _ timeout: Double) -> ntapi_status {
    guard let stub = get(stub) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    do throws(APIError) {
        try stub.waitForRequests(count, timeout: seconds(timeout))
        return NTAPI_STATUS_OK
    } catch {
        return NTAPI_STATUS_TIMED_OUT
    }
}

@_cdecl("ntapi_stub_forget_requests") @implementation
public func ntapi_stub_forget_requests(_ stub: OpaquePointer!) -> ntapi_status {
    guard let box = Handles.get(stub, StubBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    box.forgetRequests()
    return NTAPI_STATUS_OK
}

private func get(_ stub: OpaquePointer?) -> Stub? { Handles.get(stub, StubBox.self)?.stub }

private func change(_ rule: OpaquePointer?, _ body: (StubRule) -> Void) -> ntapi_status {
    guard let rule = Handles.get(rule, StubRuleBox.self)?.rule else { return NTAPI_STATUS_INVALID_ARGUMENT }
    body(rule)
    return NTAPI_STATUS_OK
}

/// What an `ntapi_stub_rule` stands for: a rule, or the reply that a function makes to one request.
final class StubRuleBox: Sendable {
    let rule: StubRule?
    private let reply = Lock<StubAnswer?>(nil)

    init(_ rule: StubRule?) { self.rule = rule }

    /// The reply; nil when there is none.
    var given: StubAnswer? { reply.withLock { $0 } }

    func answer(_ answer: StubAnswer) {
        guard let rule else { return reply.withLock { $0 = answer } }
        rule.answer(answer)
    }
}

extension StubAnswer {
    fileprivate init(c given: UnsafePointer<ntapi_stub_answer>) throws(APIError) {
        let given = try ntapi_stub_answer(c: given)
        let headers = try Self.lines(given.headers, "headers")
        self.init(status: given.status == 0 ? 200 : Int(given.status), headers: headers)
        trailers = try Self.lines(given.trailers, "trailers")
        if let bytes = given.body {
            guard given.length >= 0 else {
                throw .invalidArgument("the length is \(UInt(bitPattern: given.length))")
            }
            let count = given.length == 0 ? strlen(bytes) : given.length
            body = Array(UnsafeRawBufferPointer(start: bytes, count: count))
        }
        if let type = given.content_type {
            guard let text = String(c: type) else { throw .invalidArgument("content_type is not UTF-8") }
            setType(text)
        }
        if let json = given.json {
            guard let json = Handles.get(json, JSONBox.self)?.json else {
                throw .invalidArgument("json is freed, or not JSON")
            }
            body = json.utf8()
            setType("application/json")
        }
        delay = given.delay
        pieceSize = given.piece_size
        pieceDelay = given.piece_delay
        fault = StubFault(given.fault, after: given.fault_after)
        guard fault != nil || given.fault == NTAPI_STUB_FAULT_NONE else {
            throw .invalidArgument("there is no such fault")
        }
        if let problem { throw .invalidArgument(problem) }
    }

    private static func lines(
        _ lines: UnsafePointer<UnsafePointer<CChar>?>?, _ name: String
    ) throws(APIError) -> HTTPHeaders {
        if let headers = HTTPHeaders(c: lines) { return headers }
        throw .invalidArgument(
            "a line of \(name) cannot be a header: it is not \"name: value\", or has a character that no header has")
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
    private let shownURL: UnsafeMutablePointer<CChar>
    private let body: UnsafeMutableBufferPointer<CChar>
    private let headers: HandleOwner<HeadersBox>
    private let request: UnsafeMutablePointer<ntapi_stub_request>

    var pointer: UnsafePointer<ntapi_stub_request> { UnsafePointer(request) }

    init(_ request: StubRequest) {
        method = newText(request.method)
        url = newText(request.url)
        shownURL = newText(request.shownURL)
        body = .allocate(capacity: request.body.count + 1)
        _ = body.initialize(from: request.body.map { CChar(bitPattern: $0) } + [0])
        headers = HandleOwner(HeadersBox(request.headers))
        var made = ntapi_stub_request()
        made.size = MemoryLayout<ntapi_stub_request>.size
        made.method = UnsafePointer(method)
        made.url = UnsafePointer(url)
        made.headers = headers.handle
        made.body = UnsafePointer(body.baseAddress)
        made.length = request.body.count
        made.is_matched = request.isMatched
        made.shown_url = UnsafePointer(shownURL)
        self.request = .allocate(capacity: 1)
        self.request.initialize(to: made)
    }

    deinit {
        request.deallocate()
        body.deallocate()
        url.deallocate()
        shownURL.deallocate()
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
