public import CNTApi
import NTApi

/// What an `ntapi_decision` stands for. One that goes without an answer proceeds.
final class DecisionBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    let decision: RequestDecision
    let request: HandleOwner<RequestBox>
    private let redirected: (box: HTTPRequestBox, handle: HandleOwner<HTTPRequestBox>)?

    init(_ decision: RequestDecision) {
        self.decision = decision
        request = HandleOwner(RequestBox(decision.request))
        redirected = decision.redirectedRequest.map { request in
            let box = HTTPRequestBox(request)
            return (box, HandleOwner(box))
        }
    }

    // Also what was changed and then left alone.
    deinit { _ = proceed() }

    var httpRequest: OpaquePointer? { redirected?.handle.handle }

    func proceed() -> Bool { redirected.map { decision.follow($0.box.request) } ?? decision.proceed() }
}

extension RequestDecision.Kinds {
    /// nil for bits that mean nothing.
    init?(c bits: CInt) {
        guard (0...CInt(RequestDecision.Kinds.all.rawValue)).contains(bits) else { return nil }
        self.init(rawValue: Int(bits))
    }
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

@_cdecl("ntapi_decision_status") @implementation
public func ntapi_decision_status(_ decision: OpaquePointer!) -> CInt {
    CInt(clamping: get(decision)?.decision.status ?? 0)
}

@_cdecl("ntapi_decision_header") @implementation
public func ntapi_decision_header(
    _ decision: OpaquePointer!, _ name: UnsafePointer<CChar>!
) -> UnsafePointer<CChar>! {
    guard let box = get(decision), let name = String(c: name) else { return nil }
    return box.text(.header(name.lowercased())) { box.decision.headers[name] }
}

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
    guard let path = String(c: path) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return answer(decision) { $0.decision.becomeDownload(to: path) }
}

private func get(_ decision: OpaquePointer?) -> DecisionBox? { Handles.get(decision, DecisionBox.self) }

private func answer(_ decision: OpaquePointer?, _ body: (DecisionBox) -> Bool) -> ntapi_status {
    guard let box = get(decision) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return body(box) ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_STATE
}
