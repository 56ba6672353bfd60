public import CNTApi
import NTApi
import Synchronization

/// What an `ntapi_interceptor` stands for: an interceptor that was written in C.
final class InterceptorBox: Sendable {
    let interceptor: Interceptor

    init(_ interceptor: Interceptor) { self.interceptor = interceptor }
}

/// The functions of an interceptor that was written in C.
private final class InterceptorFunctions: Sendable {
    let intercept: ntapi_intercept_fn
    let end: ntapi_interceptor_end_fn?
    let userData: UserData

    init(_ intercept: ntapi_intercept_fn, _ end: ntapi_interceptor_end_fn?, _ userData: UserData) {
        self.intercept = intercept
        self.end = end
        self.userData = userData
    }
}

/// A passage whose interceptor is a C function.
final class CInterceptorRun: InterceptorRun {
    /// How many calls run, and what has happened.
    private struct Progress {
        /// No call begins any more.
        static let over: UInt32 = 1 << 31
        /// The end came during a call.
        static let owesEnd: UInt32 = 1 << 30
        static let wasCalled: UInt32 = 1 << 29

        var word: UInt32

        var isOver: Bool { word & Self.over != 0 }
        var isCalled: Bool { word & (Self.wasCalled - 1) != 0 }
        /// Whether nobody calls the functions, and nobody will.
        var isDone: Bool { isOver && !isCalled }
    }

    private static let count = Atomic<UInt64>(0)

    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    private let word = Atomic<UInt32>(0)
    /// A passage may outlive its request, because a job or the program holds it, so it lets go of the user data.
    // Safe to share: never written before the progress is done, and then once, by the thread that made it so.
    nonisolated(unsafe) private var functions: InterceptorFunctions?

    fileprivate init(_ functions: InterceptorFunctions) { self.functions = functions }

    private var progress: Progress { Progress(word: word.load(ordering: .acquiring)) }

    var isOver: Bool { progress.isOver }

    var isReleased: Bool { progress.isDone }

    func intercept(_ interception: Interception) {
        guard change({ ($0.word | Progress.wasCalled) + 1 }) != nil, let functions else { return }
        functions.intercept(functions.userData.pointer, Handles.make(InterceptionBox(interception, self)))
        let left = Progress(word: word.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue)
        guard left.isDone else { return }
        if left.word & Progress.owesEnd != 0 { functions.end?(functions.userData.pointer, number) }
        self.functions = nil
    }

    // Not during a call, and not if the interceptor was never called.
    func end() {
        let before = change { $0.word | Progress.over | ($0.isCalled ? Progress.owesEnd : 0) }
        guard let before, !before.isCalled else { return }
        if before.word & Progress.wasCalled != 0, let functions { functions.end?(functions.userData.pointer, number) }
        functions = nil
    }

    /// The interceptor sees no more of this passage.
    func release() {
        if let before = change({ $0.word | Progress.over }), !before.isCalled { functions = nil }
    }

    /// - Returns: what was before; nil when the passage is over, and nothing changes.
    private func change(_ next: (Progress) -> UInt32) -> Progress? {
        var before = progress
        while !before.isOver {
            let (done, found) = word.weakCompareExchange(
                expected: before.word, desired: next(before), ordering: .acquiringAndReleasing)
            if done { return before }
            before.word = found
        }
        return nil
    }
}

/// What an `ntapi_interception` stands for. Dropping it without an answer proceeds; after an answer that was refused, it
/// fails.
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
    // Safe to share: only accessed under `SharedMutex.args`, and by deinit.
    @exclusivity(unchecked) private var mistake: APIError?

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
                size: MemoryLayout<ntapi_passage>.size, identifier: passage.number,
                number: CInt(clamping: interception.number),
                reason: text(.reason) { interception.reason.rawValue }, is_own_origin: interception.isOwnOrigin))
    }

    deinit {
        if !interception.isAnswered {
            // Proceeds with the changes made so far.
            _ = mistake.map { problem in lettingGo { $0.fail(problem) } } ?? proceed()
        }
        told.deallocate()
    }

    /// Keeps what is wrong with an answer. The interceptor may have wanted that nothing is sent.
    func refuse(_ problem: String, function: StaticString = #function) -> ntapi_status {
        let problem = APIError.invalidArgument("\(name(of: function)): \(problem)")
        SharedMutex.args.withLock { mistake = mistake ?? problem }
        return NTAPI_STATUS_INVALID_ARGUMENT
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

extension Interceptor.Scope {
    fileprivate init?(c scope: ntapi_interceptor_scope) {
        switch scope {
        case NTAPI_INTERCEPTOR_SCOPE_CALL: self = .call
        case NTAPI_INTERCEPTOR_SCOPE_ATTEMPT: self = .attempt
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

    func remove(_ interceptor: Interceptor) -> Bool {
        // The list may have the last reference to the user data, whose destroy function must not run under the lock.
        own.withLock { $0.removeLast(interceptor) } != nil
    }

    @Sendable func list() -> [Interceptor] { (parent?.list() ?? []) + own.withLock { $0 } }
}

@_cdecl("ntapi_interceptor_create") @implementation
public func ntapi_interceptor_create(
    _ scope: ntapi_interceptor_scope, _ intercept: ntapi_intercept_fn!, _ end: ntapi_interceptor_end_fn!,
    _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> OpaquePointer! {
    let userData = UserData(user_data, destroy)
    guard let intercept, let scope = Interceptor.Scope(c: scope) else {
        return Handles.make(InterceptorBox(.refusing("ntapi_interceptor_create: no function, or a wrong scope")))
    }
    let functions = InterceptorFunctions(intercept, end, userData)
    return Handles.make(InterceptorBox(Interceptor(scope, of: functions) { CInterceptorRun(functions) }))
}

@_cdecl("ntapi_interceptor_free") @implementation
public func ntapi_interceptor_free(_ interceptor: OpaquePointer!) { Handles.free(interceptor, InterceptorBox.self) }

@_cdecl("ntapi_client_add_interceptor") @implementation
public func ntapi_client_add_interceptor(
    _ client: OpaquePointer!, _ interceptor: OpaquePointer!
) -> ntapi_status {
    add(client, ClientBox.self, interceptor) { $0.client.add($1) }
}

@_cdecl("ntapi_class_add_interceptor") @implementation
public func ntapi_class_add_interceptor(
    _ class_handle: OpaquePointer!, _ interceptor: OpaquePointer!
) -> ntapi_status {
    add(class_handle, ClassBox.self, interceptor) { $0.interceptors.add($1) }
}

@_cdecl("ntapi_configuration_add_interceptor") @implementation
public func ntapi_configuration_add_interceptor(
    _ configuration: OpaquePointer!, _ interceptor: OpaquePointer!
) -> ntapi_status {
    add(configuration, ConfigurationBox.self, interceptor) { $0.add($1) }
}

@_cdecl("ntapi_args_interceptor") @implementation
public func ntapi_args_interceptor(_ args: OpaquePointer!, _ interceptor: OpaquePointer!) -> ntapi_status {
    append(args) { () throws(APIError) in
        guard interceptor != nil else { return .interceptor(nil) }
        guard let box = Handles.get(interceptor, InterceptorBox.self) else {
            throw .wrongHandle("interceptor", "an interceptor")
        }
        return .interceptor(box.interceptor)
    }
}

@_cdecl("ntapi_client_remove_interceptor") @implementation
public func ntapi_client_remove_interceptor(
    _ client: OpaquePointer!, _ interceptor: OpaquePointer!
) -> ntapi_status {
    with(client, ClientBox.self, interceptor) { $0.client.remove($1) }
}

@_cdecl("ntapi_class_remove_interceptor") @implementation
public func ntapi_class_remove_interceptor(
    _ class_handle: OpaquePointer!, _ interceptor: OpaquePointer!
) -> ntapi_status {
    with(class_handle, ClassBox.self, interceptor) { $0.interceptors.remove($1) }
}

@_cdecl("ntapi_configuration_remove_interceptor") @implementation
public func ntapi_configuration_remove_interceptor(
    _ configuration: OpaquePointer!, _ interceptor: OpaquePointer!
) -> ntapi_status {
    with(configuration, ConfigurationBox.self, interceptor) { $0.remove($1) }
}

@_cdecl("ntapi_args_remove_interceptor") @implementation
public func ntapi_args_remove_interceptor(
    _ args: OpaquePointer!, _ interceptor: OpaquePointer!
) -> ntapi_status {
    with(args, ArgsBox.self, interceptor) { $0.remove($1) }
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
    passage.pointee.size = MemoryLayout<ntapi_passage>.size
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
    guard let box = get(interception) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    guard (200..<1000).contains(status), let headers = HTTPHeaders(c: headers),
        length == 0 || (body != nil && length > 0)
    else { return box.refuse("the status, a header or the length of the body is wrong") }
    let bytes = ResponseData(UnsafeRawBufferPointer(start: body, count: length))
    let response = HTTPResponse(status: Int(status), headers: headers, body: bytes)
    return answer(interception) { $0.lettingGo { $0.respond(response) } }
}

@_cdecl("ntapi_interception_fail") @implementation
public func ntapi_interception_fail(_ interception: OpaquePointer!, _ error: OpaquePointer!) -> ntapi_status {
    let given = Handles.get(error, ErrorBox.self)?.error
    guard error == nil || given != nil else {
        return get(interception)?.refuse("error is freed, or not an error") ?? NTAPI_STATUS_INVALID_ARGUMENT
    }
    let reason = APIError(domain: .request, code: .generic, message: "an interceptor has failed the request")
    return answer(interception) { $0.lettingGo { $0.fail(given ?? reason) } }
}

/// Adds an interceptor. In the place of one that is NULL, freed or of another kind, it adds one that fails the requests.
private func add<Owner: AnyObject>(
    _ owner: OpaquePointer?, _ type: Owner.Type, _ interceptor: OpaquePointer?, function: StaticString = #function,
    _ body: (Owner, Interceptor) -> Void
) -> ntapi_status {
    guard let owner = Handles.get(owner, type) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let box = Handles.get(interceptor, InterceptorBox.self)
    let problem = "\(name(of: function)): the interceptor is NULL, freed, or no interceptor"
    body(owner, box?.interceptor ?? .refusing(problem))
    return box == nil ? NTAPI_STATUS_INVALID_ARGUMENT : NTAPI_STATUS_OK
}

private func with<Owner: AnyObject>(
    _ owner: OpaquePointer?, _ type: Owner.Type, _ interceptor: OpaquePointer?, _ body: (Owner, Interceptor) -> Bool
) -> ntapi_status {
    guard let owner = Handles.get(owner, type), let box = Handles.get(interceptor, InterceptorBox.self) else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    return body(owner, box.interceptor) ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_STATE
}

private func get(_ interception: OpaquePointer?) -> InterceptionBox? {
    Handles.get(interception, InterceptionBox.self)
}

private func answer(_ interception: OpaquePointer?, _ body: (InterceptionBox) -> Bool) -> ntapi_status {
    guard let box = get(interception) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return body(box) ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_STATE
}
