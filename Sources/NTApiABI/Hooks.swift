public import CNTApi
import NTApi

/// The functions of a C client's hooks.
struct Hooks: Sendable {
    var buildArgs: ntapi_build_args_fn?
    var buildRequest: ntapi_build_request_fn?
    var started: ntapi_started_fn?
    var information: ntapi_information_fn?
    var metricsCollected: ntapi_metrics_collected_fn?
    var completed: ntapi_completed_fn?
    var parseJSON: ntapi_parse_json_fn?
    var writeLog: ntapi_write_log_fn?
    var mapServiceError: ntapi_map_service_error_fn?
    var mapError: ntapi_map_error_fn?
    var uploadProgressed: ntapi_progressed_fn?
    var downloadProgressed: ntapi_progressed_fn?
    var dataReceived: ntapi_data_received_fn?
    var sessionInvalidated: ntapi_session_invalidated_fn?
    var decide: ntapi_decide_fn?
    var decisionKinds: RequestDecision.Kinds = []

    var kinds: APIClient.HookKinds {
        var kinds: APIClient.HookKinds = []
        if buildArgs != nil || buildRequest != nil { kinds.insert(.building) }
        if started != nil { kinds.insert(.requestStarted) }
        if metricsCollected != nil { kinds.insert(.metricsCollected) }
        if information != nil { kinds.insert(.informationReceived) }
        if completed != nil { kinds.insert(.requestCompleted) }
        if parseJSON != nil { kinds.insert(.parseJSON) }
        if mapServiceError != nil { kinds.insert(.mapServiceError) }
        if uploadProgressed != nil { kinds.insert(.uploadProgressed) }
        if downloadProgressed != nil { kinds.insert(.downloadProgressed) }
        if dataReceived != nil { kinds.insert(.dataReceived) }
        if mapError != nil { kinds.insert(.mapError) }
        if writeLog != nil { kinds.insert(.writeLog) }
        if sessionInvalidated != nil { kinds.insert(.sessionInvalidated) }
        return kinds
    }
}

/// What an `ntapi_hooks` stands for.
final class HooksBox: @unchecked Sendable {
    // Safe to share: only accessed under `SharedMutex.args` until it is frozen, then constant.
    @exclusivity(unchecked) private(set) var functions = Hooks()
    @exclusivity(unchecked) private var isFrozen = false
    let userData: UserData

    init(_ userData: UserData) { self.userData = userData }

    /// Makes the hooks immutable, because a client uses them.
    func freeze() { SharedMutex.args.withLock { isFrozen = true } }

    /// - Returns: false once a client uses the hooks.
    func change(_ change: (inout Hooks) -> Void) -> Bool {
        SharedMutex.args.withLock {
            if !isFrozen { change(&functions) }
            return !isFrozen
        }
    }
}

/// A client whose hooks are functions of C.
final class CClient: APIClient, @unchecked Sendable {
    // Safe to share: only accessed under `SharedMutex.args`.
    @exclusivity(unchecked) private var hooks: HooksBox?

    func setHooks(_ new: HooksBox?) {
        new?.freeze()
        // Releasing the old value may run a C destroy function, so it must outlive the lock.
        let replaced = SharedMutex.args.withLock {
            let old = hooks
            hooks = new
            hookKinds = new?.functions.kinds ?? []
            decisionKinds = new?.functions.decisionKinds ?? []
            return old
        }
        withExtendedLifetime(replaced) {}
    }

    // Usually there are none, which is known without the lock.
    private var current: HooksBox? {
        hookKinds.isEmpty && decisionKinds.isEmpty ? nil : SharedMutex.args.withLock { hooks }
    }

    override func buildArgs(_ command: String, _ args: inout [APIArg]) {
        guard let hooks = current, let hook = hooks.functions.buildArgs else { return }
        let box = ArgsBox(args)
        let handle = Handles.make(box)
        command.withCString { hook(hooks.userData.pointer, $0, handle) }
        Handles.free(handle, ArgsBox.self)
        args = box.args
    }

    override func buildRequest(_ request: inout HTTPRequest, options: APIOptions) {
        guard let hooks = current, let hook = hooks.functions.buildRequest else { return }
        let box = HTTPRequestBox(request)
        let handle = Handles.make(box)
        hook(hooks.userData.pointer, handle)
        Handles.free(handle, HTTPRequestBox.self)
        request = box.request
    }

    override func requestStarted(_ request: APIRequest) {
        guard let hooks = current, let hook = hooks.functions.started else { return }
        let handle = Handles.make(RequestBox(request))
        hook(hooks.userData.pointer, handle)
        Handles.free(handle, RequestBox.self)
    }

    override func informationReceived(_ request: APIRequest, status: Int, headers: HTTPHeaders) {
        guard let hooks = current, let hook = hooks.functions.information else { return }
        let requestHandle = Handles.make(RequestBox(request))
        let handle = Handles.make(JSONBox(JSON(headers.map { [JSON($0.name), JSON($0.value)] })))
        hook(hooks.userData.pointer, requestHandle, CInt(clamping: status), handle)
        Handles.free(handle, JSONBox.self)
        Handles.free(requestHandle, RequestBox.self)
    }

    override func metricsCollected(_ request: APIRequest, _ metrics: RequestMetrics) {
        guard let hooks = current, let hook = hooks.functions.metricsCollected else { return }
        let requestHandle = Handles.make(RequestBox(request))
        let handle = Handles.make(JSONBox(metrics.json))
        hook(hooks.userData.pointer, requestHandle, handle)
        Handles.free(handle, JSONBox.self)
        Handles.free(requestHandle, RequestBox.self)
    }

    override func uploadProgressed(_ request: APIRequest, _ progress: TransferProgress) {
        tell(current, \.uploadProgressed, request, progress)
    }

    override func downloadProgressed(_ request: APIRequest, _ progress: TransferProgress) {
        tell(current, \.downloadProgressed, request, progress)
    }

    private func tell(
        _ hooks: HooksBox?, _ hook: KeyPath<Hooks, ntapi_progressed_fn?>, _ request: APIRequest,
        _ progress: TransferProgress
    ) {
        guard let hooks, let hook = hooks.functions[keyPath: hook] else { return }
        let handle = Handles.make(RequestBox(request))
        hook(hooks.userData.pointer, handle, progress.bytes, progress.total ?? -1)
        Handles.free(handle, RequestBox.self)
    }

    override func dataReceived(_ request: APIRequest, _ data: ResponseData) {
        guard let hooks = current, let hook = hooks.functions.dataReceived else { return }
        let handle = Handles.make(RequestBox(request))
        data.withUnsafeBytes { hook(hooks.userData.pointer, handle, $0.baseAddress, $0.count) }
        Handles.free(handle, RequestBox.self)
    }

    override func requestCompleted(_ request: APIRequest, _ response: APIResponse) {
        guard let hooks = current, let hook = hooks.functions.completed else { return }
        let requestHandle = Handles.make(RequestBox(request))
        let handle = ResponseBox(response).handle
        hook(hooks.userData.pointer, requestHandle, handle)
        Handles.free(handle, ResponseBox.self)
        Handles.free(requestHandle, RequestBox.self)
    }

    override func parseJSON(_ data: ResponseData) throws -> ParsedJSON? {
        guard let hooks = current, let hook = hooks.functions.parseJSON else { return try super.parseJSON(data) }
        var error: OpaquePointer?
        let handle = data.withUnsafeBytes { hook(hooks.userData.pointer, $0.baseAddress, $0.count, &error) }
        if let error = Handles.free(error, ErrorBox.self)?.error { throw error }
        return Handles.free(handle, JSONBox.self).map { ParsedJSON($0.json) }
    }

    override func writeLog(_ level: LogLevel, _ message: String) {
        guard let hooks = current, let hook = hooks.functions.writeLog else { return super.writeLog(level, message) }
        message.withCString { hook(hooks.userData.pointer, level.c, $0) }
    }

    override func sessionInvalidated() {
        guard let hooks = current, let hook = hooks.functions.sessionInvalidated else { return }
        hook(hooks.userData.pointer)
    }

    override func decide(_ decision: RequestDecision) {
        guard let hooks = current, let hook = hooks.functions.decide else { return }
        hook(hooks.userData.pointer, Handles.make(DecisionBox(decision)))
    }

    override func mapServiceError(_ response: APIResponse) -> APIError? {
        guard let hooks = current, let hook = hooks.functions.mapServiceError else { return nil }
        let handle = ResponseBox(response).handle
        defer { Handles.free(handle, ResponseBox.self) }
        return Handles.free(hook(hooks.userData.pointer, handle), ErrorBox.self)?.error
    }

    override func mapError(_ error: APIError, _ response: APIResponse) -> APIError {
        guard let hooks = current, let hook = hooks.functions.mapError else { return error }
        let responseHandle = ResponseBox(response).handle
        defer { Handles.free(responseHandle, ResponseBox.self) }
        let handle = error.handle
        defer { Handles.free(handle, ErrorBox.self) }
        return Handles.free(hook(hooks.userData.pointer, handle, responseHandle), ErrorBox.self)?.error ?? error
    }
}

@_cdecl("ntapi_hooks_create") @implementation
public func ntapi_hooks_create(_ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!) -> OpaquePointer! {
    Handles.make(HooksBox(UserData(user_data, destroy)))
}

@_cdecl("ntapi_hooks_free") @implementation
public func ntapi_hooks_free(_ hooks: OpaquePointer!) { Handles.free(hooks, HooksBox.self) }

@_cdecl("ntapi_hooks_set_build_args") @implementation
public func ntapi_hooks_set_build_args(_ hooks: OpaquePointer!, _ hook: ntapi_build_args_fn!) -> ntapi_status {
    change(hooks) { $0.buildArgs = hook }
}

@_cdecl("ntapi_hooks_set_build_request") @implementation
public func ntapi_hooks_set_build_request(_ hooks: OpaquePointer!, _ hook: ntapi_build_request_fn!) -> ntapi_status {
    change(hooks) { $0.buildRequest = hook }
}

@_cdecl("ntapi_hooks_set_started") @implementation
public func ntapi_hooks_set_started(_ hooks: OpaquePointer!, _ hook: ntapi_started_fn!) -> ntapi_status {
    change(hooks) { $0.started = hook }
}

@_cdecl("ntapi_hooks_set_information") @implementation
public func ntapi_hooks_set_information(_ hooks: OpaquePointer!, _ hook: ntapi_information_fn!) -> ntapi_status {
    change(hooks) { $0.information = hook }
}

@_cdecl("ntapi_hooks_set_metrics_collected") @implementation
public func ntapi_hooks_set_metrics_collected(
    _ hooks: OpaquePointer!, _ hook: ntapi_metrics_collected_fn!
) -> ntapi_status { change(hooks) { $0.metricsCollected = hook } }

@_cdecl("ntapi_hooks_set_upload_progressed") @implementation
public func ntapi_hooks_set_upload_progressed(_ hooks: OpaquePointer!, _ hook: ntapi_progressed_fn!) -> ntapi_status {
    change(hooks) { $0.uploadProgressed = hook }
}

@_cdecl("ntapi_hooks_set_download_progressed") @implementation
public func ntapi_hooks_set_download_progressed(
    _ hooks: OpaquePointer!, _ hook: ntapi_progressed_fn!
) -> ntapi_status { change(hooks) { $0.downloadProgressed = hook } }

@_cdecl("ntapi_hooks_set_data_received") @implementation
public func ntapi_hooks_set_data_received(_ hooks: OpaquePointer!, _ hook: ntapi_data_received_fn!) -> ntapi_status {
    change(hooks) { $0.dataReceived = hook }
}

@_cdecl("ntapi_hooks_set_session_invalidated") @implementation
public func ntapi_hooks_set_session_invalidated(
    _ hooks: OpaquePointer!, _ hook: ntapi_session_invalidated_fn!
) -> ntapi_status { change(hooks) { $0.sessionInvalidated = hook } }

@_cdecl("ntapi_hooks_set_completed") @implementation
public func ntapi_hooks_set_completed(_ hooks: OpaquePointer!, _ hook: ntapi_completed_fn!) -> ntapi_status {
    change(hooks) { $0.completed = hook }
}

@_cdecl("ntapi_hooks_set_parse_json") @implementation
public func ntapi_hooks_set_parse_json(_ hooks: OpaquePointer!, _ hook: ntapi_parse_json_fn!) -> ntapi_status {
    change(hooks) { $0.parseJSON = hook }
}

@_cdecl("ntapi_hooks_set_write_log") @implementation
public func ntapi_hooks_set_write_log(_ hooks: OpaquePointer!, _ hook: ntapi_write_log_fn!) -> ntapi_status {
    change(hooks) { $0.writeLog = hook }
}

@_cdecl("ntapi_hooks_set_map_service_error") @implementation
public func ntapi_hooks_set_map_service_error(
    _ hooks: OpaquePointer!, _ hook: ntapi_map_service_error_fn!
) -> ntapi_status { change(hooks) { $0.mapServiceError = hook } }

@_cdecl("ntapi_hooks_set_map_error") @implementation
public func ntapi_hooks_set_map_error(_ hooks: OpaquePointer!, _ hook: ntapi_map_error_fn!) -> ntapi_status {
    change(hooks) { $0.mapError = hook }
}

@_cdecl("ntapi_hooks_set_decide") @implementation
public func ntapi_hooks_set_decide(
    _ hooks: OpaquePointer!, _ kinds: CInt, _ hook: ntapi_decide_fn!
) -> ntapi_status {
    guard let kinds = RequestDecision.Kinds(c: kinds) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(hooks) {
        $0.decide = hook
        $0.decisionKinds = hook == nil ? [] : kinds
    }
}

private func change(_ hooks: OpaquePointer?, _ change: (inout Hooks) -> Void) -> ntapi_status {
    guard let box = Handles.get(hooks, HooksBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return box.change(change) ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_STATE
}
