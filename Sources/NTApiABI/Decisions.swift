public import CNTApi
import NTApi

/// What an `ntapi_decision` stands for. Dropping it without an answer proceeds.
final class DecisionBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    let decision: RequestDecision
    let request: HandleOwner<RequestBox>
    let response: HandleOwner<ResponseBox>?
    private let challenge: LentChallenge?
    private let redirected: (box: HTTPRequestBox, handle: HandleOwner<HTTPRequestBox>)?

    init(_ decision: RequestDecision) {
        self.decision = decision
        request = HandleOwner(RequestBox(decision.request))
        if let retry = decision.retry {
            response = HandleOwner(ResponseBox(retry.response))
        } else if decision.status != 0 {
            let head = HTTPResponse(status: decision.status, headers: decision.headers)
            response = HandleOwner(ResponseBox(passing: head, of: decision.request))
        } else {
            response = nil
        }
        challenge = decision.challenge.map(LentChallenge.init)
        redirected = decision.redirectedRequest.map { request in
            let box = HTTPRequestBox(request)
            return (box, HandleOwner(box))
        }
    }

    // Proceeds with the changes made so far.
    deinit { _ = proceed() }

    var lentChallenge: UnsafePointer<ntapi_challenge>? { challenge?.pointer }

    var httpRequest: OpaquePointer? { redirected?.handle.handle }

    func proceed() -> Bool { redirected.map { decision.follow($0.box.request) } ?? decision.proceed() }
}

extension RequestDecision.Kinds {
    /// nil for unknown bits.
    init?(c bits: CInt) {
        guard (0...CInt(RequestDecision.Kinds.all.rawValue)).contains(bits) else { return nil }
        self.init(rawValue: Int(bits))
    }
}

@_cdecl("ntapi_request_set_decision_handler") @implementation
public func ntapi_request_set_decision_handler(
    _ request: OpaquePointer!, _ kinds: CInt, _ handler: ntapi_decide_fn!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    guard let kinds = RequestDecision.Kinds(c: kinds) else {
        // It would be sent without the decisions.
        _ = with(request) { $0.cancel() }
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    return with(request) { $0.setDecisionHandler(for: kinds, decisionHandler(handler, userData)) }
}

@_cdecl("ntapi_decision_free") @implementation
public func ntapi_decision_free(_ decision: OpaquePointer!) { Handles.free(decision, DecisionBox.self) }

@_cdecl("ntapi_decision_get_kind") @implementation
public func ntapi_decision_get_kind(_ decision: OpaquePointer!) -> ntapi_decision_kind {
    let kinds = get(decision).map { RequestDecision.Kinds($0.decision.kind) } ?? []
    return ntapi_decision_kind(rawValue: UInt32(kinds.rawValue))
}

@_cdecl("ntapi_decision_request") @implementation
public func ntapi_decision_request(_ decision: OpaquePointer!) -> OpaquePointer! { get(decision)?.request.handle }

@_cdecl("ntapi_decision_response") @implementation
public func ntapi_decision_response(_ decision: OpaquePointer!) -> OpaquePointer! { get(decision)?.response?.handle }

@_cdecl("ntapi_decision_http_request") @implementation
public func ntapi_decision_http_request(_ decision: OpaquePointer!) -> OpaquePointer! { get(decision)?.httpRequest }

@_cdecl("ntapi_decision_proceed") @implementation
public func ntapi_decision_proceed(_ decision: OpaquePointer!) -> ntapi_status { answer(decision) { $0.proceed() } }

@_cdecl("ntapi_decision_cancel") @implementation
public func ntapi_decision_cancel(_ decision: OpaquePointer!) -> ntapi_status {
    answer(decision) { $0.decision.cancel() }
}

@_cdecl("ntapi_decision_refuse") @implementation
public func ntapi_decision_refuse(_ decision: OpaquePointer!) -> ntapi_status {
    answer(decision) { $0.decision.refuse() }
}

@_cdecl("ntapi_decision_download") @implementation
public func ntapi_decision_download(_ decision: OpaquePointer!, _ path: UnsafePointer<CChar>!) -> ntapi_status {
    let text = String(c: path)
    guard path == nil || text != nil else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return answer(decision) { $0.decision.becomeDownload(to: text) }
}

@_cdecl("ntapi_decision_challenge") @implementation
public func ntapi_decision_challenge(_ decision: OpaquePointer!) -> UnsafePointer<ntapi_challenge>! {
    get(decision)?.lentChallenge
}

@_cdecl("ntapi_decision_use_credential") @implementation
public func ntapi_decision_use_credential(
    _ decision: OpaquePointer!, _ user: UnsafePointer<CChar>!, _ password: UnsafePointer<CChar>!,
    _ persistence: ntapi_persistence
) -> ntapi_status {
    guard let user = String(c: user), let password = String(c: password), let box = get(decision),
        let persistence = Credential.Persistence(c: persistence), box.decision.allows(user: user, password: password)
    else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return answer(decision) { $0.decision.use(user: user, password: password, persistence: persistence) }
}

@_cdecl("ntapi_decision_trust") @implementation
public func ntapi_decision_trust(_ decision: OpaquePointer!, _ for_session: Bool) -> ntapi_status {
    answer(decision) { $0.decision.trust(forSession: for_session) }
}

@_cdecl("ntapi_decision_attempt") @implementation
public func ntapi_decision_attempt(_ decision: OpaquePointer!) -> CInt {
    CInt(clamping: get(decision)?.decision.retry?.attempt ?? 0)
}

@_cdecl("ntapi_decision_wait") @implementation
public func ntapi_decision_wait(_ decision: OpaquePointer!) -> Double { get(decision)?.decision.retry?.wait ?? -1 }

@_cdecl("ntapi_decision_retry") @implementation
public func ntapi_decision_retry(_ decision: OpaquePointer!, _ seconds: Double) -> ntapi_status {
    guard seconds >= 0 else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return answer(decision) { $0.decision.retry(afterSeconds: seconds) }
}

@_cdecl("ntapi_decision_get_storage") @implementation
public func ntapi_decision_get_storage(_ decision: OpaquePointer!) -> ntapi_storage {
    switch get(decision)?.decision.proposedStorage {
    case nil, .some(.none): NTAPI_STORAGE_NONE
    case .memory: NTAPI_STORAGE_MEMORY
    case .disk: NTAPI_STORAGE_DISK
    }
}

@_cdecl("ntapi_decision_store_in_memory") @implementation
public func ntapi_decision_store_in_memory(_ decision: OpaquePointer!) -> ntapi_status {
    answer(decision) { $0.decision.storeInMemory() }
}

private func decisionHandler(_ handler: ntapi_decide_fn?, _ userData: UserData) -> APIRequest.DecisionHandler? {
    guard let handler else { return nil }
    return { handler(userData.pointer, Handles.make(DecisionBox($0))) }
}

private func get(_ decision: OpaquePointer?) -> DecisionBox? { Handles.get(decision, DecisionBox.self) }

private func answer(_ decision: OpaquePointer?, _ body: (DecisionBox) -> Bool) -> ntapi_status {
    guard let box = get(decision) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return body(box) ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_STATE
}
