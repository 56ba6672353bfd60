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
