public import CNTApi
import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Requests whose caller waits, and looks up when a signal or a descriptor wants its thread.

@_cdecl("ntapi_client_perform_watching") @implementation
public func ntapi_client_perform_watching(
    _ client: OpaquePointer!, _ command: UnsafePointer<CChar>!, _ args: OpaquePointer!,
    _ watch: UnsafeMutablePointer<ntapi_watch>!
) -> ntapi_status {
    guard let watch else { return NTAPI_STATUS_INVALID_ARGUMENT }
    watch.pointee.clear()
    let answers = Mailbox()
    guard let request = makeRequest(client, command, args, [.handlers(.all, on: .mailbox(answers))]),
        request.setEvents(.response, { EventBox(nil, $0) }) == nil
    else { return NTAPI_STATUS_INVALID_ARGUMENT }
    request.resume()
    let status = wait(for: answers, watch)
    if status != NTAPI_STATUS_OK { watch.pointee.request = Handles.make(RequestBox(request, answers: answers)) }
    return status
}

@_cdecl("ntapi_request_wait_watching") @implementation
public func ntapi_request_wait_watching(
    _ request: OpaquePointer!, _ watch: UnsafeMutablePointer<ntapi_watch>!
) -> ntapi_status {
    guard let watch else { return NTAPI_STATUS_INVALID_ARGUMENT }
    watch.pointee.clear()
    guard let box = Handles.get(request, RequestBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    guard let answers = box.answers, answers.fileDescriptor >= 0 else { return NTAPI_STATUS_INVALID_STATE }
    return wait(for: answers, watch)
}

/// Waits once: whoever is told to call again does.
private func wait(for answers: Mailbox, _ watch: UnsafeMutablePointer<ntapi_watch>) -> ntapi_status {
    var watched = [
        pollfd(fd: answers.fileDescriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: watch.pointee.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    let milliseconds = seconds(watch.pointee.timeout).map { CInt(min($0 * 1_000, 1e9).rounded(.up)) } ?? -1
    let ready = poll(&watched, 2, milliseconds)
    // A response that is there wins over everything else.
    if let event = answers.takeEvent() as? EventBox {
        event.store(to: watch)
        return NTAPI_STATUS_OK
    }
    return ready == 0 ? NTAPI_STATUS_TIMED_OUT : NTAPI_STATUS_INTERRUPTED
}

extension ntapi_watch {
    fileprivate mutating func clear() {
        response = nil
        summary = ntapi_summary()
        request = nil
    }
}
