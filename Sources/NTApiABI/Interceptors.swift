public import CNTApi
import NTApi
import Synchronization

/// The functions of an interceptor that was written in C.
private struct InterceptorFunctions: Sendable {
    let intercept: ntapi_intercept_fn
    let end: ntapi_interceptor_end_fn?
    let userData: UserData
}

/// A passage whose interceptor is a C function.
final class CInterceptorRun: InterceptorRun {
    private struct State {
        /// Nil when the interceptor is not called any more.
        var functions: InterceptorFunctions?
        var calls = 0
        var wasCalled = false
        var isOver = false
        var owesEnd = false

        /// The functions, if this is the end of them: nobody calls them, and nobody will.
        mutating func takeFunctions() -> InterceptorFunctions? {
            isOver && calls == 0 ? functions.take() : nil
        }
    }

    private static let count = Atomic<UInt64>(0)

    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    private let state: Lock<State>

    fileprivate init(_ functions: InterceptorFunctions) { state = Lock(State(functions: functions)) }

    var isOver: Bool { state.withLock { $0.isOver } }

    func intercept(_ interception: Interception) {
        let functions = state.withLock { state -> InterceptorFunctions? in
            guard !state.isOver else { return nil }
            state.calls += 1
            state.wasCalled = true
            return state.functions
        }
        guard let functions else { return }
        functions.intercept(functions.userData.pointer, Handles.make(InterceptionBox(interception, self)))
        let owesEnd = state.withLock { state in
            state.calls -= 1
            // The end came during the call.
            return state.calls == 0 && state.owesEnd
        }
        if owesEnd { functions.end?(functions.userData.pointer, number) }
        dropFunctions()
    }

    // Not during a call, and not if the interceptor was never called.
    func end() {
        let functions = state.withLock { state -> InterceptorFunctions? in
            guard !state.isOver else { return nil }
            state.isOver = true
            state.owesEnd = state.calls > 0
            return state.wasCalled && !state.owesEnd ? state.functions : nil
        }
        if let functions { functions.end?(functions.userData.pointer, number) }
        dropFunctions()
    }

    /// The interceptor sees no more of this passage.
    func release() {
        state.withLock { $0.isOver = true }
        dropFunctions()
    }

    // A passage may outlive its request: a job or the program holds it. So it lets go of the user data.
    private func dropFunctions() {
        let dropped = state.withLock { $0.takeFunctions() }
        withExtendedLifetime(dropped) {}
    }
}

/// What an `ntapi_interception` stands for. Dropping it without an answer proceeds.
final class InterceptionBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    let interception: Interception
    let passage: CInterceptorRun
    let request: HandleOwner<RequestBox>?
    let httpRequest: HandleOwner<HTTPRequestBox>
    let response: HandleOwner<ResponseBox>?
    /// What C is told about the passage; its text belongs to this, too.
    let told: UnsafeMutablePointer<ntapi_passage>
    private let box: HTTPRequestBox

    init(_ interception: Interception, _ passage: CInterceptorRun) {
        self.interception = interception
        self.passage = passage
        let owner = interception.request
        request = owner.map { HandleOwner(RequestBox($0)) }
        box = HTTPRequestBox(interception.httpRequest)
        httpRequest = HandleOwner(box)
        response = interception.response.map { HandleOwner(ResponseBox(passing: $0, of: owner)) }
        told = .allocate(capacity: 1)
        super.init()
        told.initialize(
            to: ntapi_passage(
                identifier: passage.number, number: CInt(clamping: interception.number),
                reason: text(.reason) { interception.reason.rawValue }, is_own_origin: interception.isOwnOrigin))
    }

    deinit {
        // Proceeds with the changes made so far.
        _ = proceed()
        told.deallocate()
    }

    func proceed() -> Bool {
        lettingGo { interception.response == nil ? $0.proceed(with: box.request) : $0.proceed() }
    }

    func send() -> Bool { !passage.isOver && interception.send(box.request) }

    /// An answer after which the interceptor sees no more of this passage.
    func lettingGo(_ answer: (Interception) -> Bool) -> Bool {
        guard !passage.isOver, answer(interception) else { return false }
        passage.release()
        return true
    }
}

extension Interceptor {
    /// - Returns: nil when a value is wrong, after the user data was destroyed.
    fileprivate init?(
        _ scope: ntapi_interceptor_scope, _ intercept: ntapi_intercept_fn?, _ end: ntapi_interceptor_end_fn?,
        _ userData: UserData
    ) {
        guard let intercept, let scope = Scope(c: scope) else { return nil }
        let functions = InterceptorFunctions(intercept: intercept, end: end, userData: userData)
        self.init(scope, passage: { CInterceptorRun(functions) })
    }
}

extension Interceptor.Scope {
    fileprivate init?(c scope: ntapi_interceptor_scope) {
        switch scope {
        case NTAPI_INTERCEPTOR_CALL: self = .call
        case NTAPI_INTERCEPTOR_ATTEMPT: self = .attempt
        default: return nil
        }
    }
}

/// The interceptors of a class, behind those of its parent.
final class ClassInterceptors: Sendable {
    private let parent: ClassInterceptors?
    private let own = Lock<[Interceptor]>([])

    init(parent: ClassInterceptors?) { self.parent = parent }

    func add(_ interceptor: Interceptor) { own.withLock { $0.append(interceptor) } }

    @Sendable func list() -> [Interceptor] { (parent?.list() ?? []) + own.withLock { $0 } }
}

@_cdecl("ntapi_class_add_interceptor") @implementation
public func ntapi_class_add_interceptor(
    _ class_handle: OpaquePointer!, _ scope: ntapi_interceptor_scope, _ intercept: ntapi_intercept_fn!,
    _ end: ntapi_interceptor_end_fn!, _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    guard let box = Handles.get(class_handle, ClassBox.self),
        let interceptor = Interceptor(scope, intercept, end, userData)
    else { return NTAPI_STATUS_INVALID_ARGUMENT }
    box.interceptors.add(interceptor)
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_client_add_interceptor") @implementation
public func ntapi_client_add_interceptor(
    _ client: OpaquePointer!, _ scope: ntapi_interceptor_scope, _ intercept: ntapi_intercept_fn!,
    _ end: ntapi_interceptor_end_fn!, _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    guard let box = Handles.get(client, ClientBox.self), let interceptor = Interceptor(scope, intercept, end, userData)
    else { return NTAPI_STATUS_INVALID_ARGUMENT }
    box.client.add(interceptor)
    return NTAPI_STATUS_OK
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

@_cdecl("ntapi_configuration_add_interceptor") @implementation
public func ntapi_configuration_add_interceptor(
    _ configuration: OpaquePointer!, _ scope: ntapi_interceptor_scope, _ intercept: ntapi_intercept_fn!,
    _ end: ntapi_interceptor_end_fn!, _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    guard let box = Handles.get(configuration, ConfigurationBox.self),
        let interceptor = Interceptor(scope, intercept, end, userData)
    else { return NTAPI_STATUS_INVALID_ARGUMENT }
    box.add(interceptor)
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_args_interceptor") @implementation
public func ntapi_args_interceptor(
    _ args: OpaquePointer!, _ scope: ntapi_interceptor_scope, _ intercept: ntapi_intercept_fn!,
    _ end: ntapi_interceptor_end_fn!, _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    return append(args) { () throws(APIError) in
        guard let intercept else { return .interceptor(nil) }
        guard let interceptor = Interceptor(scope, intercept, end, userData) else {
            throw .invalidArgument("\(scope.rawValue) is no ntapi_interceptor_scope")
        }
        return .interceptor(interceptor)
    }
}

@_cdecl("ntapi_interception_free") @implementation
public func ntapi_interception_free(_ interception: OpaquePointer!) {
    Handles.free(interception, InterceptionBox.self)
}

@_cdecl("ntapi_interception_passage") @implementation
public func ntapi_interception_passage(_ interception: OpaquePointer!) -> UnsafePointer<ntapi_passage>! {
    UnsafePointer(get(interception)?.told ?? noPassage)
}

/// For a wrong handle, forever.
// Safe to share: never written once it is made.
nonisolated(unsafe) private let noPassage = {
    let passage = UnsafeMutablePointer<ntapi_passage>.allocate(capacity: 1)
    passage.initialize(to: ntapi_passage())
    return passage
}()

@_cdecl("ntapi_interception_request") @implementation
public func ntapi_interception_request(_ interception: OpaquePointer!) -> OpaquePointer! {
    get(interception)?.request?.handle
}

@_cdecl("ntapi_interception_http_request") @implementation
public func ntapi_interception_http_request(_ interception: OpaquePointer!) -> OpaquePointer! {
    get(interception)?.httpRequest.handle
}

@_cdecl("ntapi_interception_response") @implementation
public func ntapi_interception_response(_ interception: OpaquePointer!) -> OpaquePointer! {
    get(interception)?.response?.handle
}

@_cdecl("ntapi_interception_proceed") @implementation
public func ntapi_interception_proceed(_ interception: OpaquePointer!) -> ntapi_status {
    answer(interception) { $0.proceed() }
}

@_cdecl("ntapi_interception_send") @implementation
public func ntapi_interception_send(_ interception: OpaquePointer!) -> ntapi_status {
    answer(interception) { $0.send() }
}

@_cdecl("ntapi_interception_respond") @implementation
public func ntapi_interception_respond(
    _ interception: OpaquePointer!, _ status: CInt, _ headers: UnsafePointer<UnsafePointer<CChar>?>!,
    _ body: UnsafeRawPointer!, _ length: Int
) -> ntapi_status {
    guard (200..<1000).contains(status), let headers = HTTPHeaders(c: headers),
        length == 0 || (body != nil && length > 0)
    else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let bytes = ResponseData(UnsafeRawBufferPointer(start: body, count: length))
    let response = HTTPResponse(status: Int(status), headers: headers, body: bytes)
    return answer(interception) { $0.lettingGo { $0.respond(response) } }
}

@_cdecl("ntapi_interception_fail") @implementation
public func ntapi_interception_fail(_ interception: OpaquePointer!, _ error: OpaquePointer!) -> ntapi_status {
    let given = Handles.get(error, ErrorBox.self)?.error
    guard error == nil || given != nil else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let reason = APIError(domain: .request, code: .generic, message: "an interceptor has failed the request")
    return answer(interception) { $0.lettingGo { $0.fail(given ?? reason) } }
}

private func get(_ interception: OpaquePointer?) -> InterceptionBox? {
    Handles.get(interception, InterceptionBox.self)
}

private func answer(_ interception: OpaquePointer?, _ body: (InterceptionBox) -> Bool) -> ntapi_status {
    guard let box = get(interception) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return body(box) ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_STATE
}
