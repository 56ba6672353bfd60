public import CNTApi
import CNTApiSystem
import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Requests whose caller waits, but returns for a signal or a readable descriptor.

/// The answer to such a request. The caller makes the exchange itself if it can. Otherwise it waits for a network
/// thread.
final class Answer: Sendable {
    private let request: APIRequest
    /// Readable once the response is there. Only made when another thread makes the exchange.
    private let wakeup = Lock<Wakeup?>(nil)

    init(_ request: APIRequest) { self.request = request }

    func wait(_ watch: UnsafeMutablePointer<ntapi_watch>) -> ntapi_status {
        switch request.perform(timeout: seconds(watch.pointee.timeout), watching: watch.pointee.descriptor) {
        case .completed: break
        case .interrupted: return NTAPI_STATUS_INTERRUPTED
        case .refused:
            let isThere = waitForAnother(watch)
            guard request.isOfThisProcess else { return NTAPI_STATUS_INVALID_STATE }
            if !isThere { return NTAPI_STATUS_INTERRUPTED }
        case .forked: return NTAPI_STATUS_INVALID_STATE
        }
        guard let response = request.response else { return NTAPI_STATUS_INVALID_STATE }
        let box = ResponseBox(response)
        watch.pointee.response = box.handle
        watch.pointee.summary = box.summary
        return NTAPI_STATUS_OK
    }

    /// - Returns: whether the response is there.
    private func waitForAnother(_ watch: UnsafeMutablePointer<ntapi_watch>) -> Bool {
        let known = wakeup.withLock { $0 }
        let wakeup = known ?? Wakeup()
        if known == nil {
            self.wakeup.withLock { $0 = wakeup }
            // Not after a cancel: then the response is there, or comes by itself.
            if request.setHandler({ _ in wakeup.signal() }) { request.resume() }
            guard request.isOfThisProcess else { return false }
        }
        let timeout = seconds(watch.pointee.timeout)
        guard wakeup.descriptor >= 0 else { return request.wait(timeout: timeout) == .completed }
        var watched = [
            pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: watch.pointee.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&watched, 2, timeout.map { CInt(min($0 * 1_000, 1e9).rounded(.up)) } ?? -1)
        // A response takes precedence over everything else.
        return watched[0].revents != 0 && request.wait() == .completed
    }
}

/// A descriptor that becomes readable with a signal, and stays so.
private final class Wakeup: Sendable {
    let descriptor = ntapi_system_make_wakeup()

    deinit { ntapi_system_close_wakeup(descriptor) }

    func signal() { if descriptor >= 0 { ntapi_system_signal_wakeup(descriptor) } }
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

// The handler only exists when another thread makes the exchange. It must not wait for the thread that waits here.
private let whereverItEnds: [APIArg] = [.responseThread(.background)]

extension ntapi_watch {
    fileprivate mutating func clear() {
        request = nil
        response = nil
        summary = ntapi_summary()
    }
}
