/// Makes exchanges with a stub, in memory.
final class StubTransport: Transport {
    let stub: Stub
    let clock: any WaitingClock
    let workers: WorkerPool
    /// Guards what the transport keeps in its exchanges, which have no thread of its own here.
    private let lock = Lock(())

    init(_ stub: Stub, clock: any WaitingClock, workers: WorkerPool) {
        self.stub = stub
        self.clock = clock
        self.workers = workers
    }

    func begin(_ exchange: Exchange) {
        let (transfer, isCancelled) = lock.withLock { _ in
            let transfer = StubTransfer(exchange, to: self)
            let isCancelled = exchange.phase == .cancelledEarly
            exchange.phase = .running
            exchange.transfer = transfer
            return (transfer, isCancelled)
        }
        transfer.run { isCancelled ? $0.end(.cancelled) : $0.start() }
    }

    func cancel(_ exchange: Exchange) {
        let transfer = lock.withLock { _ in
            if exchange.phase == .new { exchange.phase = .cancelledEarly }
            return exchange.transfer as? StubTransfer
        }
        transfer?.run { $0.end(.cancelled) }
    }

    func change(_ exchange: Exchange, _ change: ExchangeChange) {
        let transfer = lock.withLock { _ -> StubTransfer? in
            if exchange.phase == .new, exchange.obeys(change) { exchange.changeEarly(change) }
            return exchange.transfer as? StubTransfer
        }
        transfer?.run { if exchange.obeys(change) { $0.change(change) } }
    }

    func hasEnded(_ exchange: Exchange) {
        lock.withLock { _ in
            exchange.phase = .ended
            exchange.transfer = nil
        }
    }
}
