/// An answer as interceptors see it: the server's, or one of their own.
public struct HTTPResponse: Sendable {
    /// 0 when there was no answer.
    public var status: Int
    public var headers: HTTPHeaders
    /// Empty where the body went elsewhere: to a data handler, or into a file.
    public var body: ResponseData
    /// Why there is no whole answer; nil where there is one, whatever its status.
    public var error: APIError?

    public init(
        status: Int, headers: HTTPHeaders = HTTPHeaders(), body: ResponseData = ResponseData(), error: APIError? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.error = error
    }

    /// What has come.
    init(_ answer: Answer) {
        self.init(
            status: answer.result.head?.status ?? 0, headers: answer.result.head?.headers ?? HTTPHeaders(),
            body: ResponseData(bytes: answer.result.body),
            error: answer.failure ?? answer.result.error ?? answer.refusal)
    }

    /// Whether it is this one, as it came.
    func isSame(as other: HTTPResponse) -> Bool {
        body.bytes === other.body.bytes && status == other.status && error == other.error && headers == other.headers
    }
}

/// A request or a response that passes an interceptor, which says once how it goes on: now or later, from any thread.
///
/// One that is dropped without a word lets pass what it was given.
public final class Interception: Sendable {
    /// Why a request passes.
    public enum Reason: String, Sendable, CaseIterable {
        case first
        /// The next connection of a stream of events.
        case reconnect
        case redirect
        case retry
        /// With another token, user, password or trusted certificate.
        case credentials
        /// For the next part of a file, or for all of it again.
        case range
        /// Because the cache could not use what the server said.
        case reload
        /// An interceptor sends it again.
        case interceptor
    }

    /// As it goes on, unless another one is given. Beside an answer: as the interceptor has sent it.
    public let httpRequest: HTTPRequest
    /// The answer; nil on the way in.
    public let response: HTTPResponse?
    /// Which passage of the request it is, from 1.
    public let number: Int
    public let reason: Reason
    /// Whether the request goes to the origin of its client's base URL. A redirect may lead elsewhere: what is secret is not
    /// added there.
    public let isOwnOrigin: Bool
    private let host: any InterceptionHost
    private let ticket: UInt32
    private let isOpen = Lock(true)

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
    public var isAnswered: Bool { isOpen.withLock { !$0 } }

    // MARK: Answers. Each returns false, and does nothing, when there was one before.

    /// On the way in: goes on, and does not want to see the answer. On the way out: lets the response pass.
    ///
    /// - Parameter request: in the place of the one that was given; nil is that. Only on the way in.
    /// - Returns: false also when it may not be sent: a bad method, header or URL.
    @discardableResult public func proceed(with request: HTTPRequest? = nil) -> Bool {
        if let request { guard response == nil, request.isValid else { return false } }
        return answer(.proceed(request))
    }

    /// Sends a request, and wants to see the answer. On the way out: sends it again, as often as the interceptor likes.
    ///
    /// - Parameter request: nil is the one that was given.
    /// - Returns: false also when it may not be sent: a bad method, header or URL.
    @discardableResult public func send(_ request: HTTPRequest? = nil) -> Bool {
        let request = request ?? httpRequest
        guard request.isValid else { return false }
        return answer(.send(request))
    }

    /// This is the answer. On the way in nothing is sent.
    @discardableResult public func respond(_ response: HTTPResponse) -> Bool { answer(.respond(response)) }

    /// The request fails with this error, unless somebody further out sends it again.
    @discardableResult public func fail(_ error: APIError) -> Bool { answer(.fail(error)) }

    @discardableResult func answer(_ answer: InterceptionReply) -> Bool {
        let isFirst = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if isFirst { host.intercepted(ticket, answer) }
        return isFirst
    }
}

/// Whose requests interceptors look at.
protocol InterceptionHost: AnyObject, Sendable {
    /// An interceptor has said how it goes on. Returns at once.
    func intercepted(_ ticket: UInt32, _ reply: InterceptionReply)
}

enum InterceptionReply: Sendable {
    case proceed(HTTPRequest?)
    case send(HTTPRequest)
    case respond(HTTPResponse)
    case fail(APIError)
}

/// What passes an interceptor.
struct Passing: Sendable {
    var request: HTTPRequest
    var response: HTTPResponse?
    var number: Int
    var reason: Interception.Reason
}

/// One passage of a request through an interceptor, there and back.
package protocol InterceptorRun: AnyObject, Sendable {
    /// Code of the program's may run. On a worker.
    func intercept(_ interception: Interception)

    /// The request goes on without this interceptor, which has not let it go: it was cancelled, or its time is over. Called at
    /// most once, perhaps while `intercept` runs.
    func end()
}
