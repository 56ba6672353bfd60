/// Sees requests on their way out and answers on their way back, and may change, repeat or replace them.
///
///     let signer = Interceptor(.attempt) { call in
///         var request = call.request
///         if call.isOwnOrigin { request.headers.set("X-Signature", signature(of: request), isSecret: true) }
///         return try await call.next(request)
///     }
///     client.interceptors = [signer]
///
/// The first of several is the outermost. Interceptors of a class come before those of the configuration, the client
/// and the request.
public struct Interceptor: Sendable {
    /// Where an interceptor runs on a request's way.
    public enum Scope: String, Sendable {
        /// Around the whole request: once for each, outside redirects, retries, credentials and the cache. It sees the
        /// final answer before that is parsed.
        case call
        /// Around each exchange with a server, including redirects, retries and replays, but not answers from the
        /// cache. It runs last, after the rate limit, so that signatures are fresh. Stub and recorder see the request
        /// that it sends. If it changes the answer, or what the cache selects answers by, nothing is cached.
        case attempt
    }

    /// Where it runs on a request's way.
    public let scope: Scope
    let make: @Sendable () -> any InterceptorRun
    /// What it is known by when it is removed.
    private let identity: (any AnyObject & Sendable)?

    /// Makes one from an async function that calls `next` and returns the answer. Each passage runs in its own task.
    public init(_ scope: Scope, _ body: @escaping @Sendable (InterceptedCall) async throws -> HTTPResponse) {
        self.scope = scope
        identity = nil
        make = { AsyncInterceptorRun(body) }
    }

    /// Makes one from a handler. It is called for the request and, if it asked for that, for the answer, on a
    /// background worker.
    ///
    ///     Interceptor(handling: .call) { interception in interception.proceed() }
    // Labelled, because a closure with one expression, such as a fixed answer, would match both.
    public init(handling scope: Scope, _ handler: @escaping @Sendable (Interception) -> Void) {
        self.scope = scope
        identity = nil
        make = { HandlerInterceptorRun(handler) }
    }

    /// For other languages: makes an object for each passage.
    package init(
        _ scope: Scope, of identity: any AnyObject & Sendable, passage: @escaping @Sendable () -> any InterceptorRun
    ) {
        self.scope = scope
        self.identity = identity
        make = passage
    }

    /// Fails every request: what was to guard it could not be made.
    package static func refusing(_ problem: String) -> Interceptor {
        Interceptor(.call, of: Identity()) { HandlerInterceptorRun { _ = $0.fail(.invalidRequest(problem)) } }
    }

    private final class Identity: Sendable {}

    fileprivate func isSame(as other: Interceptor) -> Bool { identity != nil && identity === other.identity }
}

extension [Interceptor] {
    /// Removes the last one that is the same, and returns it.
    package mutating func removeLast(_ interceptor: Interceptor) -> Interceptor? {
        lastIndex { $0.isSame(as: interceptor) }.map { remove(at: $0) }
    }

    func makers(of scope: Interceptor.Scope) -> InterceptorMakers? {
        isEmpty ? nil : InterceptorMakers(filter { $0.scope == scope }.map(\.make))
    }
}

/// A request that an ``Interceptor`` handles.
public struct InterceptedCall: Sendable, RedactedMirror {
    private let run: AsyncInterceptorRun
    /// The request that ``next(_:)`` sends unless it gets another one.
    public let request: HTTPRequest
    /// How many times the request has passed this interceptor, including this time.
    public let number: Int
    /// Why the request passes.
    public let reason: Interception.Reason
    /// Whether the request goes to the origin of its client's base URL. A redirect may lead elsewhere: do not add
    /// secrets there.
    public let isOwnOrigin: Bool

    fileprivate init(_ run: AsyncInterceptorRun, _ interception: Interception) {
        self.run = run
        request = interception.httpRequest
        number = interception.number
        reason = interception.reason
        isOwnOrigin = interception.isOwnOrigin
    }

    /// Sends the request and returns its answer. If there is none, see ``HTTPResponse/error``. You may call it several
    /// times, one call after the other.
    ///
    /// - Parameter request: nil sends the given one.
    /// - Throws: `cancelled` when the request ends first; `invalidRequest` for a request that may not be sent.
    public func next(_ request: HTTPRequest? = nil) async throws(APIError) -> HTTPResponse {
        try await run.next(request ?? self.request)
    }
}

/// A passage through an async function.
private final class AsyncInterceptorRun: InterceptorRun {
    typealias Body = @Sendable (InterceptedCall) async throws -> HTTPResponse

    private struct State {
        /// What the function must answer next.
        var current: Interception?
        /// The function's `next`, while it waits for the answer.
        var waiting: CheckedContinuation<HTTPResponse?, Never>?
        var task: Task<Void, Never>?
        var isOver = false
        /// The function's result, if it came when nothing waited for an answer.
        var reply: InterceptionReply?
    }

    private let body: Body
    private let state = Lock(State())

    init(_ body: @escaping Body) { self.body = body }

    func intercept(_ interception: Interception) {
        let (isTooLate, waiting, reply) = state.withLock { state in
            if state.reply == nil, !state.isOver { state.current = interception }
            return (state.isOver, state.waiting.take(), state.reply)
        }
        // The passage has ended while this call waited for a worker.
        guard !isTooLate else { return }
        if let reply { interception.answer(reply) }
        if let waiting {
            waiting.resume(returning: interception.response)
            return
        }
        let task = Task {
            do {
                let response = try await body(InterceptedCall(self, interception))
                respond(response)
            } catch {
                fail(error)
            }
        }
        let isOver = state.withLock { state in
            state.task = task
            return state.isOver
        }
        if isOver { task.cancel() }
    }

    func end() {
        let (waiting, task) = state.withLock { state in
            state.isOver = true
            return (state.waiting.take(), state.task.take())
        }
        task?.cancel()
        waiting?.resume(returning: nil)
    }

    fileprivate func next(_ request: HTTPRequest) async throws(APIError) -> HTTPResponse {
        guard request.isValid() else {
            throw .invalidRequest("an interceptor sends an invalid request: a method, header or URL is malformed")
        }
        // Take it at once, so that the second of two simultaneous calls fails.
        let (current, isOver) = state.withLock { ($0.current.take(), $0.isOver) }
        guard !isOver else { throw .cancelled }
        guard let current else { throw .invalidRequest("an interceptor calls next while an earlier call still runs") }
        let response = await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard !state.isOver else { return true }
                state.waiting = continuation
                return false
            }
            if isOver {
                continuation.resume(returning: nil)
            } else {
                current.send(request)
            }
        }
        guard let response else { throw .cancelled }
        return response
    }

    private func respond(_ response: HTTPResponse) {
        finish { current in
            // An unchanged response stays the server's.
            if let came = current?.response, response.isSame(as: came) { return .proceed(nil) }
            return .respond(response)
        }
    }

    private func fail(_ error: any Error) {
        let failure =
            (error as? APIError)
            ?? APIError(domain: .request, code: .generic, message: "an interceptor has failed: \(error)")
        finish { _ in .fail(failure) }
    }

    /// The function has ended. If it has left a call of `next` running, the next answer gets this result.
    private func finish(_ reply: (Interception?) -> InterceptionReply) {
        let current = state.withLock { $0.current.take() }
        let reply = reply(current)
        if let current {
            current.answer(reply)
            return
        }
        let late = state.withLock { state in
            state.reply = reply
            return state.current.take()
        }
        late?.answer(reply)
    }
}

/// A passage through a handler.
private final class HandlerInterceptorRun: InterceptorRun {
    private let handler: @Sendable (Interception) -> Void

    init(_ handler: @escaping @Sendable (Interception) -> Void) { self.handler = handler }

    func intercept(_ interception: Interception) { handler(interception) }

    func end() {}
}

extension APIClient {
    /// Replaces the client's interceptors with those among the args, in one step.
    package func setInterceptors(of args: [APIArg]) throws(APIError) {
        interceptors = try AppliedArgs(args).interceptors
    }
}

extension [APIArg] {
    /// Removes the last arg with that interceptor, and returns it.
    package mutating func removeLast(_ interceptor: Interceptor) -> APIArg? {
        let index = lastIndex { arg in
            if case .interceptor(let own) = arg.kind { own.isSame(as: interceptor) } else { false }
        }
        return index.map { remove(at: $0) }
    }
}

extension Interception {
    /// The client's request that passes.
    public var request: APIRequest? { requestHost as? APIRequest }
}

// How a request calls its interceptors.
extension APIRequest: InterceptionHost {
    /// Calls an interceptor, on a worker.
    ///
    /// - Returns: its answer, if it answers within the call, whose return is then still to be told to the flow; nil when
    ///   the answer goes to `intercepted`.
    func intercept(
        _ run: any InterceptorRun, _ passing: Passing, _ ticket: UInt32
    ) throws(Forked) -> Reply? {
        guard try flow({ $0.callBegins(ticket) }) else { return nil }
        let isOwn = client.settings.baseURL?.isOrigin(of: passing.request.url) ?? false
        let interception = Interception(passing, self, ticket: ticket, isOwnOrigin: isOwn)
        guard let reply = try Delivery.run(self, { interception.call(run) }) else {
            try callReturned()
            return nil
        }
        return .intercepted(reply)
    }

    func intercepted(_ ticket: UInt32, _ reply: InterceptionReply) {
        self.reply(ticket, .intercepted(reply))
    }
}
