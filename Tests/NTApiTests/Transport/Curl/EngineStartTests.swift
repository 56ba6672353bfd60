import Testing

@testable import NTApi

/// Exchanges that ask their observer before they start.
@Suite struct EngineStartTests {
    /// Allows the start of its exchange only after the exchange has lost its place to another one.
    private final class Hesitant: ExchangeObserver {
        let recorder = Recorder()
        private let engine: TestEngine
        private let other: Exchange
        private let state = Lock<(exchange: Exchange?, hasHesitated: Bool)>((nil, false))

        init(_ engine: TestEngine, other: Exchange) {
            self.engine = engine
            self.other = other
        }

        func begin(_ request: HTTPRequest) {
            let exchange = Exchange(
                request: request, priority: 0.5, deadline: .distantFuture, reportsProgress: false, asksToStart: true,
                observer: self)
            state.withLock { $0.exchange = exchange }
            engine.transport.begin(exchange)
        }

        func exchangeMayStart() {
            let (own, hesitates) = state.withLock { state in
                (state.exchange, !exchange(&state.hasHesitated, with: true))
            }
            guard let own else { return }
            if hesitates {
                engine.transport.change(own, .suspend(true, number: 1))
                engine.transport.begin(other)
                engine.transport.change(own, .suspend(false, number: 2))
            }
            engine.transport.change(own, .start)
        }

        func exchangeDidSend(_ bytes: Int64, of total: Int64?) {}

        func exchangeDidReceive(_ bytes: Int64, decoded: Int64, of total: Int64?) {}

        func exchangeDidReceiveHead(_ head: ResponseHead, _ deliveries: DeliveryBatch) -> BodyRoute { .memory }

        func exchangeDidEnd(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
            recorder.exchangeDidEnd(result, deliveries)
        }
    }

    /// Otherwise the request would be sent twice: now, and when its turn comes.
    @Test func anExchangeThatHasLostItsPlaceStartsInItsTurn() async throws {
        let server = try RawServer(answering(okResponse("x")))
        func request(_ method: String) -> HTTPRequest {
            var request = HTTPRequest(method: method, url: server.url)
            request.settings.maximumConnectionsPerHost = 1
            return request
        }
        let (engine, other) = (TestEngine(), Recorder())
        let hesitant = Hesitant(
            engine,
            other: Exchange(
                request: request("GET"), priority: 0.5, deadline: .distantFuture, reportsProgress: false,
                observer: other))
        hesitant.begin(request("POST"))
        let (first, second) = (await other.result(), await hesitant.recorder.result())
        #expect(first.text == "x" && !first.metrics.connectionReused)
        #expect(second.text == "x" && second.metrics.connectionReused)
    }
}

extension TestEngine {
    fileprivate var transport: any Transport { engine.transport(connectionLimit: 64) }
}
