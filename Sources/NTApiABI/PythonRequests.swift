public import CNTApi
import NTApi

// Requests whose caller waits, but stops waiting for a signal or a readable descriptor.

/// The answer to such a request. The caller makes the exchange itself if it can. Otherwise it waits for a network
/// thread.
final class Answer: Sendable {
    private let request: APIRequest
    /// The piece of the body that was lent last.
    private let piece = Lock<DataBox?>(nil)

    init(_ request: APIRequest) { self.request = request }

    func wait(_ watch: UnsafeMutablePointer<ntapi_watch>) -> ntapi_status {
        switch request.perform(timeout: seconds(watch.pointee.timeout), watching: watch.pointee.descriptor) {
        case .completed: break
        case .interrupted: return NTAPI_STATUS_TIMED_OUT
        case .forked: return NTAPI_STATUS_INVALID_STATE
        }
        return show(watch)
    }

    /// The same for the next piece of the body.
    func pull(_ watch: UnsafeMutablePointer<ntapi_watch>) -> ntapi_status {
        // The network goes on when the last piece is released, so not under the lock.
        let last = piece.withLock { $0.take() }
        let afterPiece = last != nil
        withExtendedLifetime(consume last) {}
        let timeout = seconds(watch.pointee.timeout)
        switch request.pull(timeout: timeout, watching: watch.pointee.descriptor, afterPiece: afterPiece) {
        case .piece(let next):
            let box = DataBox(next)
            watch.pointee.body = box.start
            watch.pointee.length = box.count
            piece.withLock { $0 = box }
            return NTAPI_STATUS_OK
        case .over(.completed): return show(watch)
        case .over(.interrupted): return NTAPI_STATUS_TIMED_OUT
        case .over(.forked): return NTAPI_STATUS_INVALID_STATE
        }
    }

    private func show(_ watch: UnsafeMutablePointer<ntapi_watch>) -> ntapi_status {
        guard let response = request.response else { return NTAPI_STATUS_INVALID_STATE }
        let box = ResponseBox(response)
        watch.pointee.response = box.handle
        watch.pointee.error = box.error
        watch.pointee.body = box.data
        watch.pointee.length = box.count
        watch.pointee.status = box.status
        watch.pointee.contents = box.contents
        return NTAPI_STATUS_OK
    }
}

@_cdecl("ntapi_client_perform_watching") @implementation
public func ntapi_client_perform_watching(
    _ client: OpaquePointer!, _ command: UnsafePointer<CChar>!, _ args: OpaquePointer!,
    _ watch: UnsafeMutablePointer<ntapi_watch>!
) -> ntapi_status { begin(client, command, args, watch, isPulled: false) }

@_cdecl("ntapi_client_pull_watching") @implementation
public func ntapi_client_pull_watching(
    _ client: OpaquePointer!, _ command: UnsafePointer<CChar>!, _ args: OpaquePointer!,
    _ watch: UnsafeMutablePointer<ntapi_watch>!
) -> ntapi_status { begin(client, command, args, watch, isPulled: true) }

private func begin(
    _ client: OpaquePointer?, _ command: UnsafePointer<CChar>?, _ args: OpaquePointer?,
    _ watch: UnsafeMutablePointer<ntapi_watch>?, isPulled: Bool
) -> ntapi_status {
    guard let watch else { return NTAPI_STATUS_INVALID_ARGUMENT }
    watch.pointee.clear()
    guard let request = makeRequest(client, command, args, whereverItEnds) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    if isPulled { _ = request.setPulled() }
    let answer = Answer(request)
    let status = isPulled ? answer.pull(watch) : answer.wait(watch)
    if watch.pointee.response == nil {
        watch.pointee.request = Handles.make(RequestBox(request, answer: answer, isPulled: isPulled))
    }
    return status
}

@_cdecl("ntapi_request_wait_watching") @implementation
public func ntapi_request_wait_watching(
    _ request: OpaquePointer!, _ watch: UnsafeMutablePointer<ntapi_watch>!
) -> ntapi_status { goOn(request, watch) { $0.answer?.wait($1) } }

@_cdecl("ntapi_request_pull_watching") @implementation
public func ntapi_request_pull_watching(
    _ request: OpaquePointer!, _ watch: UnsafeMutablePointer<ntapi_watch>!
) -> ntapi_status { goOn(request, watch) { $0.isPulled ? $0.answer?.pull($1) : nil } }

private func goOn(
    _ request: OpaquePointer?, _ watch: UnsafeMutablePointer<ntapi_watch>?,
    _ wait: (RequestBox, UnsafeMutablePointer<ntapi_watch>) -> ntapi_status?
) -> ntapi_status {
    guard let watch else { return NTAPI_STATUS_INVALID_ARGUMENT }
    watch.pointee.clear()
    guard let box = Handles.get(request, RequestBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    // A request that this process's parent began is neither suspended nor running here, and has no response.
    guard box.request.isRunning || box.request.response != nil else { return NTAPI_STATUS_INVALID_STATE }
    return wait(box, watch) ?? NTAPI_STATUS_INVALID_STATE
}

// Progress and decisions that nobody hears, and hooks, must not wait for a thread that waits here.
private let whereverItEnds: [APIArg] = [.responseThread(.background)]

extension ntapi_watch {
    fileprivate mutating func clear() {
        var cleared = ntapi_watch()
        cleared.timeout = timeout
        cleared.descriptor = descriptor
        self = cleared
    }
}

@_cdecl("ntapi_args_create_message") @implementation
public func ntapi_args_create_message(
    _ usual: OpaquePointer!, _ texts: UnsafePointer<CChar>!, _ count: Int
) -> OpaquePointer! {
    guard var list = Handles.get(usual, ArgsBox.self)?.args, var next = texts, count >= 2, count % 2 == 0 else {
        return nil
    }
    list.reserveCapacity(list.count + count / 2 + 1)
    func text() -> String? {
        let text = String(c: next)
        next += (text?.utf8.count ?? 0) + 1
        return text
    }
    guard let method = text(), let url = text() else { return nil }
    list.append(.method(method))
    list.append(.baseURL(url))
    for _ in 1..<count / 2 {
        guard let name = text(), let value = text() else { return nil }
        list.append(.addHeader(name, value))
    }
    return Handles.make(ArgsBox(list))
}

@_cdecl("ntapi_request_received_message") @implementation
public func ntapi_request_received_message(_ request: OpaquePointer!) -> UnsafePointer<CChar>! {
    Handles.get(request, RequestBox.self)?.receivedMessage
}

@_cdecl("ntapi_request_set_keeps_body") @implementation
public func ntapi_request_set_keeps_body(_ request: OpaquePointer!, _ keeps_body: Bool) -> ntapi_status {
    with(request) { $0.setKeepsBody(keeps_body) }
}

@_cdecl("ntapi_request_set_logs_error") @implementation
public func ntapi_request_set_logs_error(_ request: OpaquePointer!, _ logs_error: Bool) -> ntapi_status {
    with(request) { $0.setLogsError(logs_error) }
}

@_cdecl("ntapi_request_set_decision_kinds") @implementation
public func ntapi_request_set_decision_kinds(_ request: OpaquePointer!, _ kinds: CInt) -> ntapi_status {
    guard let kinds = RequestDecision.Kinds(c: kinds) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return with(request) { $0.setDecisionKinds(kinds) }
}

@_cdecl("ntapi_headers_lines") @implementation
public func ntapi_headers_lines(_ headers: OpaquePointer!) -> UnsafePointer<CChar>! {
    Handles.get(headers, HeadersBox.self)?.lines
}

@_cdecl("ntapi_client_begin_stream") @implementation
public func ntapi_client_begin_stream(
    _ client: OpaquePointer!, _ command: UnsafePointer<CChar>!, _ args: OpaquePointer!, _ mailbox: OpaquePointer!,
    _ user_data: UnsafeMutableRawPointer!
) -> OpaquePointer! { beginWithEvents(client, command, args, mailbox, [.response, .data], user_data) }

@_cdecl("ntapi_request_exit_timeout") @implementation
public func ntapi_request_exit_timeout(_ request: OpaquePointer!) -> Double {
    Handles.get(request, RequestBox.self)?.request.exitTimeout ?? 0
}

@_cdecl("ntapi_stop_waiting_for_calls") @implementation
public func ntapi_stop_waiting_for_calls() { APIClient.stopWaitingForCalls() }

@_cdecl("ntapi_wait_for_stores") @implementation
public func ntapi_wait_for_stores() { APIClient.waitForStores() }

@_cdecl("ntapi_recorder_create_replaying") @implementation
public func ntapi_recorder_create_replaying(_ path: UnsafePointer<CChar>!, _ stub: OpaquePointer!) -> OpaquePointer! {
    guard let path = String(c: path), let box = Handles.get(stub, StubBox.self) else { return nil }
    return Handles.make(Recorder(path: path, replaying: box.stub))
}

@_cdecl("ntapi_run_on_worker") @implementation
public func ntapi_run_on_worker(_ run: ntapi_destroy_fn!, _ user_data: UnsafeMutableRawPointer!) {
    guard let run else { return }
    let userData = UserData(user_data, nil)
    APIClient.runOnWorker { run(userData.pointer) }
}

@_cdecl("ntapi_worker_begin_wait") @implementation
public func ntapi_worker_begin_wait() -> Bool { WorkerPool.beginWait() }

@_cdecl("ntapi_worker_end_wait") @implementation
public func ntapi_worker_end_wait() { WorkerPool.endWait() }

@_cdecl("ntapi_http_request_assign") @implementation
public func ntapi_http_request_assign(_ http_request: OpaquePointer!, _ other: OpaquePointer!) -> ntapi_status {
    guard let box = Handles.get(http_request, HTTPRequestBox.self),
        let other = Handles.get(other, HTTPRequestBox.self)?.request
    else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return box.change("ntapi_http_request_assign") {
        $0 = other
        return true
    }
}

@_cdecl("ntapi_client_set_interceptors") @implementation
public func ntapi_client_set_interceptors(_ client: OpaquePointer!, _ args: OpaquePointer!) -> ntapi_status {
    let given = Handles.get(args, ArgsBox.self)?.args
    guard let box = Handles.get(client, ClientBox.self), args == nil || given != nil else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    guard (try? box.client.setInterceptors(of: given ?? [])) != nil else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_client_hide") @implementation
public func ntapi_client_hide(_ client: OpaquePointer!) { Handles.get(client, ClientBox.self)?.client.hide() }

@_cdecl("ntapi_http_request_forget_mistake") @implementation
public func ntapi_http_request_forget_mistake(_ http_request: OpaquePointer!) {
    Handles.get(http_request, HTTPRequestBox.self)?.forgetMistake()
}
