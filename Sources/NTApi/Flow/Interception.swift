import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension HTTPResponse {
    /// The answer of an exchange.
    init(_ answer: Answer) {
        self.init(
            status: answer.result.head?.status ?? 0, headers: answer.result.head?.headers ?? HTTPHeaders(),
            body: ResponseData(bytes: answer.result.body),
            error: answer.failure ?? answer.result.error ?? answer.refusal)
    }
}

/// A request or a response that passes an interceptor. The interceptor answers it once: now or later, from any thread.
///
/// If it is released without an answer, the request or response passes unchanged. After an answer within the
/// interceptor's call, the request continues on the same thread when the call returns.
public final class Interception: Sendable, RedactedMirror {
    /// Why a request passes.
    public enum Reason: String, Sendable, CaseIterable {
        /// The request is sent for the first time.
        case first
        /// A stream of events connects again.
        case reconnect
        /// A redirect is followed.
        case redirect
        /// A failed attempt is repeated.
        case retry
        /// It is sent again with another token, user, password or trusted certificate.
        case credentials
        /// It asks for the next part of a file, or for the whole file again.
        case range
        /// The cache could not use the server's answer.
        case reload
        /// An interceptor sends it again.
        case interceptor
    }

    /// The request that is sent unless you give another one. With a response: the request as this interceptor sent it.
    public let httpRequest: HTTPRequest
    /// The answer; nil while the request is on its way to the server.
    public let response: HTTPResponse?
    /// How many times the request has passed this interceptor, including this time.
    public let number: Int
    /// Why the request passes.
    public let reason: Reason
    /// Whether the request goes to the origin of its client's base URL. A redirect may lead elsewhere: do not add
    /// secrets there.
    public let isOwnOrigin: Bool
    /// The method and the redacted URL of the request, and why it passes.
    public var description: String {
        printable(
            "\(reason.rawValue): \(HeaderSyntax.shown(httpRequest.method)) \(httpRequest.secrets.redact(url: httpRequest.url))"
        )
    }

    private let host: any InterceptionHost
    private let ticket: UInt32
    private let isOpen = Atomic(true)
    private let generation = Fork.generation
    /// The thread that calls the interceptor.
    private let caller = pthread_self()
    // Safe to share: only `caller` uses these two.
    nonisolated(unsafe) private var isInCall = false
    /// The answer, if it was given within the call.
    nonisolated(unsafe) private var reply: InterceptionReply?

    /// On the thread that will call the interceptor.
    init(_ passing: Passing, _ host: any InterceptionHost, ticket: UInt32, isOwnOrigin: Bool) {
        httpRequest = passing.request
        response = passing.response
        number = passing.number
        reason = passing.reason
        self.isOwnOrigin = isOwnOrigin
        self.host = host
        self.ticket = ticket
    }

    deinit { answer(.proceed(nil)) }

    var requestHost: any InterceptionHost { host }

    /// Whether it was answered.
    public var isAnswered: Bool { !isOpen.load(ordering: .acquiring) }

    /// Calls the interceptor.
    ///
    /// - Returns: the answer, if it was given within the call; nil when it goes to the host.
    func call(_ run: any InterceptorRun) -> InterceptionReply? {
        isInCall = true
        run.intercept(self)
        isInCall = false
        return reply.take()
    }

    // MARK: Answers. Each returns false, and does nothing, if there was an answer before.

    /// For a request: sends it on, and the answer does not come back here. For a response: lets it pass.
    ///
    /// - Parameter request: the request to send instead; nil sends the given one. Not allowed for a response.
    /// - Returns: false also when the request may not be sent: a bad method, header or URL.
    @discardableResult public func proceed(with request: HTTPRequest? = nil) -> Bool {
        if let request { guard response == nil, request.isValid(knowing: httpRequest.url) else { return false } }
        return answer(.proceed(request))
    }

    /// Sends a request whose answer comes back here. For a response: sends the request again, as often as you like.
    ///
    /// - Parameter request: nil sends the given one.
    /// - Returns: false also when the request may not be sent: a bad method, header or URL.
    @discardableResult public func send(_ request: HTTPRequest? = nil) -> Bool {
        let request = request ?? httpRequest
        guard request.isValid(knowing: httpRequest.url) else { return false }
        return answer(.send(request))
    }

    /// Answers with this response. For a request: nothing is sent.
    @discardableResult public func respond(_ response: HTTPResponse) -> Bool { answer(.respond(response)) }

    /// Fails the request with this error, unless a retry or an outer interceptor sends it again.
    @discardableResult public func fail(_ error: APIError) -> Bool { answer(.fail(error)) }

    @discardableResult func answer(_ answer: InterceptionReply) -> Bool {
        // In a forked child this is a copy that belongs to the parent.
        guard generation == Fork.generation else { return false }
        guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return false }
        if pthread_equal(caller, pthread_self()) != 0, isInCall {
            reply = answer
        } else {
            host.intercepted(ticket, answer)
        }
        return true
    }
}

/// Owns the requests that interceptors see.
protocol InterceptionHost: AnyObject, Sendable {
    /// An interceptor has answered. Returns at once.
    func intercepted(_ ticket: UInt32, _ reply: InterceptionReply)
}

enum InterceptionReply: Sendable {
    case proceed(HTTPRequest?)
    case send(HTTPRequest)
    case respond(HTTPResponse)
    case fail(APIError)
    /// There was no answer in time.
    case late(APIError)
}

/// What an interceptor is shown.
struct Passing: Sendable {
    var request: HTTPRequest
    var response: HTTPResponse?
    var number: Int
    var reason: Interception.Reason
}

/// One passage of a request through an interceptor, there and back.
package protocol InterceptorRun: AnyObject, Sendable {
    /// May call the program's code. On a worker.
    func intercept(_ interception: Interception)

    /// The request continues without this interceptor's answer: it was cancelled or its time is over. Called at most
    /// once, perhaps while `intercept` runs.
    func end()

    /// The interceptor has answered for the last time: release what only its calls need.
    func release()

    /// Whether it holds nothing of the program any more. Asked under the request's lock.
    var isReleased: Bool { get }
}

extension InterceptorRun {
    package func release() {}

    package var isReleased: Bool { false }
}

/// The interceptors of one scope of a request. The request releases them when it ends, because its handle and its
/// response may live for longer.
final class InterceptorMakers: Sendable {
    typealias Make = @Sendable () -> any InterceptorRun

    private struct Maker {
        let make: Make
    }

    let count: Int
    // A leaf, because stages run under the lock of their request.
    private let makers: Lock<[Maker]>

    /// - Returns: nil for none.
    init?(_ make: [Make]) {
        guard !make.isEmpty else { return nil }
        count = make.count
        makers = Lock(leaf: make.map(Maker.init))
    }

    /// The same interceptors for another request.
    func copy() -> InterceptorMakers? { InterceptorMakers(makers.withLock { $0 }.map(\.make)) }

    /// A passage of the interceptor with this index; nil when the request has ended.
    func make(_ index: Int) -> (any InterceptorRun)? {
        let maker = makers.withLock { $0.indices.contains(index) ? $0[index] : nil }
        return maker?.make()
    }

    /// A C caller's destroy functions may run here.
    func release() {
        let released = makers.withLock { exchange(&$0, with: []) }
        withExtendedLifetime(released) {}
    }
}
