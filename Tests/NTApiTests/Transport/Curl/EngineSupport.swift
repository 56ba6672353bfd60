import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Records the events of an exchange, and lets a test wait for its end.
final class Recorder: ExchangeObserver {
    private struct State {
        var sent: [(Int64, Int64?)] = []
        var received: [(Int64, Int64?)] = []
        var results: [ExchangeResult] = []
        var reportsAfterEnd = 0
        var waiter: CheckedContinuation<ExchangeResult, Never>?
    }

    private let state = Lock(State())
    private let route: BodyRoute

    init(route: BodyRoute = .memory) { self.route = route }

    func exchangeDidSend(_ bytes: Int64, of total: Int64?) {
        state.withLock { state in
            if !state.results.isEmpty { state.reportsAfterEnd += 1 }
            state.sent.append((bytes, total))
        }
    }

    func exchangeDidReceive(_ bytes: Int64, decoded: Int64, of total: Int64?) {
        state.withLock { state in
            if !state.results.isEmpty { state.reportsAfterEnd += 1 }
            state.received.append((bytes, total))
        }
    }

    func exchangeDidReceiveHead(_ head: ResponseHead, _ deliveries: DeliveryBatch) -> BodyRoute { route }

    func exchangeDidEnd(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        let waiter = state.withLock { state in
            state.results.append(result)
            return state.waiter.take()
        }
        waiter?.resume(returning: result)
    }

    func result() async -> ExchangeResult {
        let result = await withCheckedContinuation { continuation in
            let result = state.withLock { state -> ExchangeResult? in
                if state.results.isEmpty { state.waiter = continuation }
                return state.results.first
            }
            if let result { continuation.resume(returning: result) }
        }
        // Shows ThreadSanitizer that the result was set before, as in `onThread`.
        state.withLock { _ in }
        return result
    }

    var endCount: Int { state.withLock { $0.results.count } }
    var reportsAfterEnd: Int { state.withLock { $0.reportsAfterEnd } }
    var sent: [(Int64, Int64?)] { state.withLock { $0.sent } }
    var received: [(Int64, Int64?)] { state.withLock { $0.received } }
}

/// An engine for one test.
final class TestEngine: Sendable {
    let workers = WorkerPool()
    let engine: CurlEngine

    init(
        threads: Int = 1, connectionAge: Double = HostConnections.maximumAge,
        ownIdleTime: Double = ConnectionPools.idleTime
    ) {
        // A process with a runtime waits for its threads at its end.
        _ = Runtime.current
        engine = CurlEngine(
            workers: workers, threads: threads, connectionAge: connectionAge, ownIdleTime: ownIdleTime)
    }

    deinit { engine.stop(timeout: patience) }

    @discardableResult
    func begin(
        _ request: HTTPRequest, _ recorder: Recorder, priority: Double = 0.5, progress: Bool = false,
        deadline: MonotonicTime = .distantFuture, connectionLimit: Int = 64, routesBody: Bool = false
    ) -> Exchange {
        let exchange = Exchange(
            request: request, priority: priority, deadline: deadline, reportsProgress: progress, routesBody: routesBody,
            observer: recorder)
        engine.transport(connectionLimit: connectionLimit).begin(exchange)
        return exchange
    }

    /// Cancels an exchange of an engine with one network thread.
    func cancel(_ exchange: Exchange) { engine.transport(connectionLimit: 1).cancel(exchange) }

    func send(
        _ request: HTTPRequest, deadline: MonotonicTime = .distantFuture, routesBody: Bool = false
    ) async -> ExchangeResult {
        let recorder = Recorder()
        begin(request, recorder, deadline: deadline, routesBody: routesBody)
        return await recorder.result()
    }

    func get(_ url: String) async -> ExchangeResult { await send(HTTPRequest(method: "GET", url: url)) }
}

extension ExchangeResult {
    var text: String { String(decoding: body.buffer, as: UTF8.self) }
}

/// Lets a test wait for events of its server.
final class Signal: Sendable {
    private let state = Monitor<(isSet: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

    func set() {
        let waiters = state.withLock(inChild: nil) { state in
            state.isSet = true
            return Optional(exchange(&state.waiters, with: []))
        }
        state.broadcast()
        for waiter in waiters ?? [] { waiter.resume() }
    }

    var isSet: Bool { state.withLock(inChild: false) { $0.isSet } }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isSet = state.withLock(inChild: true) { state in
                if !state.isSet { state.waiters.append(continuation) }
                return state.isSet
            }
            if isSet { continuation.resume() }
        }
        // Shows ThreadSanitizer what came before, as in `onThread`.
        state.withLock(inChild: ()) { _ in }
    }

    /// Blocks the calling thread. Only for a thread of a test's server, or of a handler.
    func block() { _ = state.wait { $0.isSet ? true : nil } }
}
