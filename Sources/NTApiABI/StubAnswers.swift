public import CNTApi
import NTApi

/// What an `ntapi_stub_answer` stands for.
final class StubAnswerBox: @unchecked Sendable {
    // Safe to share: touched only under `SharedMutex.args`.
    @exclusivity(unchecked) private var value: StubAnswer

    init(_ answer: StubAnswer) { value = answer }

    var answer: StubAnswer { SharedMutex.args.withLock { value } }

    /// - Returns: false, and nothing is changed, when it could not be given.
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
