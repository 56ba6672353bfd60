import Synchronization

/// Hears what happens to requests, as it happens: for traces, metrics and statistics.
///
/// ```swift
/// final class Attempts: APIObserver {
///     var events: ObservedEvents { .attemptEnds }
///
///     func attemptEnds(_ attempt: ObservedAttempt, _ answer: ObservedAnswer, _ context: (any Sendable)?) {
///         print(attempt.number, attempt.reason, answer.status, answer.metrics.total)
///     }
/// }
/// client.add(Attempts())
/// ```
///
/// The calls for one request come one after the other, in order: `begun` first, `ended` last, before the response
/// handler. Each that begins also ends. They come on the thread where the event happens: `begun` where the request is
/// resumed, the others there or on a background worker, never on the network's thread. The request goes on when the
/// call returns. Requests of the cache itself, which validate a stale response in the background, are not observed.
///
/// URLs and headers are as they are sent: ``HTTPRequest`` redacts secrets when it is printed, a text of its URL does not.
public protocol APIObserver: AnyObject, Sendable {
    /// What it hears of. The others are not called.
    var events: ObservedEvents { get }

    /// A request begins, on the thread and in the task that resumes it: task-local values are the caller's.
    ///
    /// - Returns: what the other calls for this request get.
    func begun(_ request: APIRequest) -> (any Sendable)?

    /// The request waits.
    func waitBegins(_ wait: ObservedWait, _ context: (any Sendable)?)

    /// It waits no longer.
    func waitEnds(_ wait: ObservedWait, seconds: Double, _ context: (any Sendable)?)

    /// The request is about to be sent to a server.
    ///
    /// - Returns: headers that this attempt sends, too. They replace others with the same names, and are not part of a
    ///   signature that an interceptor has made.
    func attemptBegins(_ attempt: ObservedAttempt, _ context: (any Sendable)?) -> HTTPHeaders

    /// The attempt is over: its answer has arrived to the last byte, or it has failed.
    func attemptEnds(_ attempt: ObservedAttempt, _ answer: ObservedAnswer, _ context: (any Sendable)?)

    /// The cache has looked for a response.
    func cacheAnswered(_ outcome: CacheOutcome, _ context: (any Sendable)?)

    /// A circuit breaker has opened, closed or refused the request.
    func circuitChanged(_ event: CircuitEvent, _ origin: String, _ context: (any Sendable)?)

    /// The outcome of the request is final. The response handler follows.
    func ended(_ response: APIResponse, _ context: (any Sendable)?)
}

extension APIObserver {
    public var events: ObservedEvents { .all }

    public func begun(_ request: APIRequest) -> (any Sendable)? { nil }

    public func waitBegins(_ wait: ObservedWait, _ context: (any Sendable)?) {}

    public func waitEnds(_ wait: ObservedWait, seconds: Double, _ context: (any Sendable)?) {}

    public func attemptBegins(_ attempt: ObservedAttempt, _ context: (any Sendable)?) -> HTTPHeaders { HTTPHeaders() }

    public func attemptEnds(_ attempt: ObservedAttempt, _ answer: ObservedAnswer, _ context: (any Sendable)?) {}

    public func cacheAnswered(_ outcome: CacheOutcome, _ context: (any Sendable)?) {}

    public func circuitChanged(_ event: CircuitEvent, _ origin: String, _ context: (any Sendable)?) {}

    public func ended(_ response: APIResponse, _ context: (any Sendable)?) {}
}

/// One exchange of a request with a server.
public struct ObservedAttempt: Sendable, RedactedMirror {
    /// From 1. How often the request was sent before is one less.
    public let number: Int
    /// Why it is sent.
    public let reason: Interception.Reason
    /// The request as it is sent. With ``APIObserver/attemptBegins(_:_:)``, without the headers that observers add.
    public let request: HTTPRequest
    /// When it began: seconds since 1970-01-01 00:00 UTC.
    public let startTime: Double

    /// Number, reason, method and URL, secrets redacted.
    public var description: String {
        printable(
            "\(number), \(reason.rawValue): \(HeaderSyntax.shown(request.method)) \(request.secrets.redact(url: request.url))"
        )
    }
}

/// How an attempt ended.
public struct ObservedAnswer: Sendable, RedactedMirror {
    /// The HTTP status; 0 when there was no answer.
    public let status: Int
    /// The header lines of the answer; none when there was no answer.
    public let headers: HTTPHeaders
    /// Why the attempt has failed; nil when there was a complete answer, whatever its status.
    public let error: APIError?
    /// The times, sizes and counts of this attempt.
    public let metrics: ResponseMetrics
    /// The address that was connected to, in numbers: the server's or the proxy's; for a Unix socket its path. ""
    /// without a connection.
    public let address: String
    /// The port of that address; 0 for a Unix socket, and without a connection.
    public let port: Int

    /// The status, or the error's message.
    public var description: String { printable(error?.message ?? "\(status)") }

    init(_ result: ExchangeResult) {
        status = result.head?.status ?? 0
        headers = result.head?.headers ?? HTTPHeaders()
        error = result.error
        var metrics = ResponseMetrics()
        metrics.add(result.metrics)
        metrics.queued = result.metrics.queued
        metrics.httpVersion = result.head?.httpVersion ?? 0
        self.metrics = metrics
        address = result.connection?.address ?? ""
        port = result.connection?.port ?? 0
    }
}

/// A list of observers that requests look at when they are made.
package final class Observers: Sendable {
    /// The observers of all clients.
    package static let ofProcess = Observers(Lock([], survivesFork: true))

    private let list: Lock<[any APIObserver]>
    /// Whether there are any, so that a request need not take a lock to know.
    private let isEmpty = Atomic<Bool>(true)

    private init(_ list: Lock<[any APIObserver]>) { self.list = list }

    /// The list of a client, which a forked child continues to use.
    static func ofClient() -> Observers { Observers(Lock([], sharing: .clients)) }

    /// Adds an observer behind the others. It hears of requests that are made from now on.
    package func add(_ observer: any APIObserver) {
        list.withLock { $0.append(observer) }
        isEmpty.store(false, ordering: .relaxed)
    }

    /// Removes an observer. Requests that it has heard of still tell it.
    ///
    /// - Returns: false when it is not there.
    @discardableResult package func remove(_ observer: any APIObserver) -> Bool {
        // Releasing it may run code of the program, so it must outlive the lock.
        let removed = list.withLock { list in
            let index = list.lastIndex { $0 === observer }
            let removed = index.map { list.remove(at: $0) }
            isEmpty.store(list.isEmpty, ordering: .relaxed)
            return removed
        }
        return removed != nil
    }

    @inline(__always) var all: [any APIObserver] {
        isEmpty.load(ordering: .relaxed) ? [] : list.withLock { $0 }
    }
}

extension APIClient {
    /// Adds an observer of this client's requests, behind the others. It hears of requests that are made from now on.
    public func add(_ observer: any APIObserver) { observers.add(observer) }

    /// Removes an observer of this client. Requests that it has heard of still tell it.
    ///
    /// - Returns: false when the client does not have it.
    @discardableResult public func remove(_ observer: any APIObserver) -> Bool { observers.remove(observer) }

    /// Adds an observer of the requests of all clients. Their own observers come after it.
    public static func addObserver(_ observer: any APIObserver) { Observers.ofProcess.add(observer) }

    /// Removes an observer of all clients.
    ///
    /// - Returns: false when it is not there.
    @discardableResult public static func removeObserver(_ observer: any APIObserver) -> Bool {
        Observers.ofProcess.remove(observer)
    }
}
