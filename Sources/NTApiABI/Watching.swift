public import CNTApi
import NTApi

// Requests whose caller waits, but stops waiting for a signal or a readable descriptor.

/// The answer to such a request. The caller makes the exchange itself if it can. Otherwise it waits for a network
/// thread.
final class Answer: Sendable {
    private let request: APIRequest

    init(_ request: APIRequest) { self.request = request }

    func wait(_ watch: UnsafeMutablePointer<ntapi_watch>) -> ntapi_status {
        switch request.perform(timeout: seconds(watch.pointee.timeout), watching: watch.pointee.descriptor) {
        case .completed: break
        case .interrupted: return NTAPI_STATUS_TIMED_OUT
        case .forked: return NTAPI_STATUS_INVALID_STATE
        }
        guard let response = request.response else { return NTAPI_STATUS_INVALID_STATE }
        let box = ResponseBox(response)
        watch.pointee.response = box.handle
        watch.pointee.summary = box.summary
        return NTAPI_STATUS_OK
    }
}

@_cdecl("ntapi_client_perform_watching") @implementation
public func ntapi_client_perform_watching(
    _ client: OpaquePointer!, _ command: UnsafePointer<CChar>!, _ args: OpaquePointer!,
    _ watch: UnsafeMutablePointer<ntapi_watch>!
) -> ntapi_status {
    guard let watch else { return NTAPI_STATUS_INVALID_ARGUMENT }
    watch.pointee.clear()
    guard let request = makeRequest(client, command, args, whereverItEnds) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let answer = Answer(request)
    let status = answer.wait(watch)
    if status != NTAPI_STATUS_OK { watch.pointee.request = Handles.make(RequestBox(request, answer: answer)) }
    return status
}

@_cdecl("ntapi_request_wait_watching") @implementation
public func ntapi_request_wait_watching(
    _ request: OpaquePointer!, _ watch: UnsafeMutablePointer<ntapi_watch>!
) -> ntapi_status {
    guard let watch else { return NTAPI_STATUS_INVALID_ARGUMENT }
    watch.pointee.clear()
    guard let box = Handles.get(request, RequestBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    // A request that this process's parent began is neither suspended nor running here, and has no response.
    guard let answer = box.answer, box.request.isRunning || box.request.response != nil else {
        return NTAPI_STATUS_INVALID_STATE
    }
    return answer.wait(watch)
}

// Progress and decisions that nobody hears, and hooks, must not wait for a thread that waits here.
private let whereverItEnds: [APIArg] = [.responseThread(.background)]

extension ntapi_watch {
    fileprivate mutating func clear() {
        request = nil
        response = nil
        summary = ntapi_summary()
    }
}
