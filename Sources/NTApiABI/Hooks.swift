public import CNTApi
import NTApi

/// The hooks of a C client: the functions, and what they are given.
final class CHooks: @unchecked Sendable {
    // Safe to share: constant.
    let functions: ntapi_hooks
    let decisionKinds: RequestDecision.Kinds
    let userData: UserData

    init(_ given: UnsafePointer<ntapi_hooks>, _ userData: UserData) throws(APIError) {
        let functions = try ntapi_hooks(c: given)
        guard let kinds = RequestDecision.Kinds(c: functions.decisions) else {
            throw .invalidArgument("\(functions.decisions) is no combination of ntapi_decision_kind")
        }
        self.functions = functions
        self.userData = userData
        decisionKinds = functions.decide == nil ? [] : kinds
    }

    var kinds: APIClient.HookKinds {
        var kinds: APIClient.HookKinds = []
        if functions.build_args != nil || functions.build_request != nil { kinds.insert(.building) }
        if functions.started != nil { kinds.insert(.requestStarted) }
        if functions.metrics_collected != nil { kinds.insert(.metricsCollected) }
        if functions.information != nil { kinds.insert(.informationReceived) }
        if functions.completed != nil { kinds.insert(.requestCompleted) }
        if functions.parse_json != nil { kinds.insert(.parseJSON) }
        if functions.map_service_error != nil { kinds.insert(.mapServiceError) }
        if functions.upload_progressed != nil { kinds.insert(.uploadProgressed) }
        if functions.download_progressed != nil { kinds.insert(.downloadProgressed) }
        if functions.data_received != nil { kinds.insert(.dataReceived) }
        if functions.map_error != nil { kinds.insert(.mapError) }
        if functions.write_log != nil { kinds.insert(.writeLog) }
        if functions.session_invalidated != nil { kinds.insert(.sessionInvalidated) }
        return kinds
    }
}

/// A client whose hooks are functions of C.
final class CClient: APIClient, @unchecked Sendable {
    // Safe to share: only accessed under `SharedMutex.args`.
    @exclusivity(unchecked) private var hooks: CHooks?
    // Safe to share: the same. Mistakes in what was set, by the function. They fail every request, which would be another
    // one without it: not authenticated, for example, or sent to the network in place of a stub.
    @exclusivity(unchecked) private var mistakes: [String: String] = [:]
    // Safe to share: the same.
    @exclusivity(unchecked) private weak var knownBox: ClientBox?

    /// The object behind its handles: the same for all of them, so that they lend the same defaults.
    var box: ClientBox {
        SharedMutex.args.withLock {
            if let knownBox { return knownBox }
            let box = ClientBox(self)
            knownBox = box
            return box
        }
    }

    func setHooks(_ new: CHooks?) {
        // Releasing the old value may run a C destroy function, so it must outlive the lock.
        let replaced = SharedMutex.args.withLock {
            let old = hooks
            hooks = new
            decisionKinds = new?.decisionKinds ?? []
            return old
        }
        withExtendedLifetime(replaced) {}
        note(nil, in: "ntapi_client_set_hooks")
    }

    /// Keeps what is wrong with a call of a function until a call of it is right.
    func note(_ mistake: String?, in function: String) {
        SharedMutex.args.withLock {
            mistakes[function] = mistake
            hookKinds = hooks?.kinds ?? []
            // So that `buildArgs` is called.
            if !mistakes.isEmpty { hookKinds.insert(.building) }
        }
    }

    // Usually there are none, which is known without the lock.
    private var current: CHooks? {
        hookKinds.isEmpty && decisionKinds.isEmpty ? nil : SharedMutex.args.withLock { hooks }
    }

    override func buildArgs(_ command: String, _ args: inout [APIArg]) {
        for (function, mistake) in SharedMutex.args.withLock({ mistakes }) {
            args.append(.mistake("\(function): \(mistake)"))
        }
        guard let hooks = current, let hook = hooks.functions.build_args else { return }
        let box = ArgsBox(args)
        let handle = Handles.lend(box)
        command.withCString { hook(hooks.userData.pointer, $0, handle) }
        Handles.free(handle, ArgsBox.self)
        args = box.args
    }

    override func buildRequest(_ request: inout HTTPRequest, options: APIOptions) {
        guard let hooks = current, let hook = hooks.functions.build_request else { return }
        let box = HTTPRequestBox(request)
        let handle = Handles.lend(box)
        hook(hooks.userData.pointer, handle)
        Handles.free(handle, HTTPRequestBox.self)
        request = box.request
    }

    override func requestStarted(_ request: APIRequest) {
        guard let hooks = current, let hook = hooks.functions.started else { return }
        let handle = Handles.lend(RequestBox(request))
        hook(hooks.userData.pointer, handle)
        Handles.free(handle, RequestBox.self)
    }

    override func informationReceived(_ request: APIRequest, status: Int, headers: HTTPHeaders) {
        guard let hooks = current, let hook = hooks.functions.information else { return }
        let requestHandle = Handles.lend(RequestBox(request))
        let handle = Handles.lend(HeadersBox(headers))
        hook(hooks.userData.pointer, requestHandle, CInt(clamping: status), handle)
        Handles.free(handle, HeadersBox.self)
        Handles.free(requestHandle, RequestBox.self)
    }

    override func metricsCollected(_ request: APIRequest, _ metrics: RequestMetrics) {
        guard let hooks = current, let hook = hooks.functions.metrics_collected else { return }
        let requestHandle = Handles.lend(RequestBox(request))
        let handle = Handles.lend(JSONBox(request.numbers(metrics)))
        hook(hooks.userData.pointer, requestHandle, handle)
        Handles.free(handle, JSONBox.self)
        Handles.free(requestHandle, RequestBox.self)
    }

    override func uploadProgressed(_ request: APIRequest, _ progress: TransferProgress) {
        tell(current, \.upload_progressed, request, progress)
    }

    override func downloadProgressed(_ request: APIRequest, _ progress: TransferProgress) {
        tell(current, \.download_progressed, request, progress)
    }

    private func tell(
        _ hooks: CHooks?, _ hook: KeyPath<ntapi_hooks, ntapi_progressed_fn?>, _ request: APIRequest,
        _ progress: TransferProgress
    ) {
        guard let hooks, let hook = hooks.functions[keyPath: hook] else { return }
        let handle = Handles.lend(RequestBox(request))
        hook(hooks.userData.pointer, handle, progress.bytes, progress.total ?? -1)
        Handles.free(handle, RequestBox.self)
    }

    override func dataReceived(_ request: APIRequest, _ data: ResponseData) {
        guard let hooks = current, let hook = hooks.functions.data_received else { return }
        let handle = Handles.lend(RequestBox(request))
        data.withUnsafeBytes { hook(hooks.userData.pointer, handle, $0.baseAddress, $0.count) }
        Handles.free(handle, RequestBox.self)
    }

    override func requestCompleted(_ request: APIRequest, _ response: APIResponse) {
        guard let hooks = current, let hook = hooks.functions.completed else { return }
        let requestHandle = Handles.lend(RequestBox(request))
        let handle = Handles.lend(ResponseBox(response))
        hook(hooks.userData.pointer, requestHandle, handle)
        Handles.free(handle, ResponseBox.self)
        Handles.free(requestHandle, RequestBox.self)
    }

    override func parseJSON(_ data: ResponseData) throws -> ParsedJSON? {
        guard let hooks = current, let hook = hooks.functions.parse_json else { return try super.parseJSON(data) }
        var error: OpaquePointer?
        let handle = data.withUnsafeBytes { hook(hooks.userData.pointer, $0.baseAddress, $0.count, &error) }
        // Both are the library's now, and the document counts.
        let problem = Handles.free(error, ErrorBox.self)?.error
        if let made = Handles.free(handle, JSONBox.self) { return ParsedJSON(made.json) }
        if let problem { throw problem }
        return nil
    }

    override func writeLog(_ level: LogLevel, _ message: String) {
        guard let hooks = current, let hook = hooks.functions.write_log else { return super.writeLog(level, message) }
        message.withCString { hook(hooks.userData.pointer, level.c, $0) }
    }

    override func sessionInvalidated() {
        guard let hooks = current, let hook = hooks.functions.session_invalidated else { return }
        hook(hooks.userData.pointer)
    }

    override func decide(_ decision: RequestDecision) {
        guard let hooks = current, let hook = hooks.functions.decide else { return }
        hook(hooks.userData.pointer, Handles.make(DecisionBox(decision)))
    }

    override func mapServiceError(_ response: APIResponse) -> APIError? {
        guard let hooks = current, let hook = hooks.functions.map_service_error else { return nil }
        let handle = Handles.lend(ResponseBox(response))
        defer { Handles.free(handle, ResponseBox.self) }
        return Handles.free(hook(hooks.userData.pointer, handle), ErrorBox.self)?.error
    }

    override func mapError(_ error: APIError, _ response: APIResponse) -> APIError {
        guard let hooks = current, let hook = hooks.functions.map_error else { return error }
        let responseHandle = Handles.lend(ResponseBox(response))
        defer { Handles.free(responseHandle, ResponseBox.self) }
        let handle = Handles.lend(ErrorBox(error))
        defer { Handles.free(handle, ErrorBox.self) }
        return Handles.free(hook(hooks.userData.pointer, handle, responseHandle), ErrorBox.self)?.error ?? error
    }
}

@_cdecl("ntapi_client_set_hooks") @implementation
public func ntapi_client_set_hooks(
    _ client: OpaquePointer!, _ hooks: UnsafePointer<ntapi_hooks>!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    guard let box = Handles.get(client, ClientBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    do throws(APIError) {
        box.client.setHooks(hooks == nil ? nil : try CHooks(hooks, userData))
        return NTAPI_STATUS_OK
    } catch {
        box.client.note(error.message, in: "ntapi_client_set_hooks")
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
}

@_cdecl("ntapi_client_set_error_code") @implementation
public func ntapi_client_set_error_code(
    _ client: OpaquePointer!, _ http_status: CInt, _ code: UnsafePointer<CChar>!
) -> ntapi_status {
    let name = String(c: code)
    guard http_status >= 300, code == nil || name != nil else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return withClient(client) { $0.setError(name.map { .code(ErrorCode($0)) }, status: Int(http_status)) }
}
