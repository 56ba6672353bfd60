import CCurl

/// What happens at a moment of the loop.
enum LoopTimer {
    /// A clock of the exchange may have run out.
    case exchange(Exchange.ID)
    case job(@Sendable () -> Void)
}

/// The network thread: one poller, one curl multi handle, and the exchanges in them.
///
/// Nothing here is shared: other threads speak to it through the command queue. It runs no user code, and no lock is held
/// while it calls out.
final class EngineLoop {
    private let commands: CommandQueue
    private let workers: WorkerPool
    private let poller: SystemPoller
    private let multi: CurlMulti
    private let clock = LoopClock()
    private var handles = HandlePool()
    private var transfers: [Exchange.ID: CurlTransfer] = [:]
    /// Over, but the caller's body stream is still being read.
    private var held: [Exchange.ID: (transfer: CurlTransfer, result: ExchangeResult)] = [:]
    private var hosts = HostQueue()
    private var timers = IndexedHeap<MonotonicTime, LoopTimer>()
    private var suspects = SuspectConnections()
    private var origins = OriginCache()
    private var taken: [EngineCommand] = []
    private var isStopping = false

    /// Nil when the system has no descriptors or libcurl cannot be set up.
    init?(commands: CommandQueue, workers: WorkerPool) {
        guard let poller = SystemPoller(), let multi = CurlMulti(poller: poller) else { return nil }
        self.commands = commands
        self.workers = workers
        self.poller = poller
        self.multi = multi
    }

    /// Runs until `stop`.
    ///
    /// - Parameter heldUntil: when to give up waiting, at a stop, for body streams that are being read.
    func run(heldUntil: () -> MonotonicTime) {
        while true {
            let phase = commands.take(into: &taken)
            // Before anything else: what is whole by now is neither cancelled nor timed out any more.
            readMessages()
            if phase == .stopping, !isStopping { beginStopping() }
            perform()
            expireTimers()
            startReady()
            runTransfers()
            if isStopping, transfers.isEmpty, held.isEmpty || heldUntil() <= clock.now { break }
            sleep(atMostUntil: isStopping ? heldUntil() : .distantFuture)
        }
        for (_, entry) in held { entry.transfer.exchange.observer.exchangeDidEnd(entry.result) }
        held = [:]
        handles.removeAll()
        multi.close()
    }

    private func perform() {
        guard !taken.isEmpty else { return }
        for command in taken {
            switch command {
            case .begin(let exchange): begin(exchange)
            case .cancel(let id): if let transfer = transfers[id] { end(transfer, .cancelled) }
            case .resumeUpload(let id):
                guard let easy = transfers[id]?.easy else { continue }
                curl_easy_pause(easy, CURLPAUSE_CONT)
                multi.runTimer()
            case .uploadIdle(let id):
                guard let entry = held.removeValue(forKey: id) else { continue }
                entry.transfer.exchange.observer.exchangeDidEnd(entry.result)
            case .timer(let moment, let job):
                if isStopping { workers.run(job) } else { timers.insert(.job(job), key: moment) }
            }
        }
        taken.removeAll(keepingCapacity: taken.count <= 1024)
    }

    /// Calls libcurl as long as its own timer is due, and ends what is done.
    private func runTransfers() {
        readMessages()
        // A new handle sets the timer to now. The bound lets sockets have their turn when there is always another one.
        var rounds = 0
        while multi.isDue(clock.now), rounds < 64 {
            multi.runTimer()
            readMessages()
            rounds += 1
        }
    }

    /// Every finished message is read before the loop sleeps: libcurl says each only once, and wakes nobody for it.
    private func readMessages() {
        while let message = multi.nextMessage() {
            var data: UnsafeMutableRawPointer?
            ntapi_easy_get_pointer(message.easy, CURLINFO_PRIVATE, &data)
            guard let data else { continue }
            end(Unmanaged<CurlTransfer>.fromOpaque(data).takeUnretainedValue(), message.code)
        }
        startReady()
    }

    private func sleep(atMostUntil limit: MonotonicTime) {
        var moment = limit
        if let timer = timers.first?.key { moment = min(moment, timer) }
        if let timer = multi.timer { moment = min(moment, timer) }
        let now = MonotonicTime.now()
        let isDue = moment <= now
        let sleeps = !isDue && commands.prepareToSleep(poller.waker, isStopping: isStopping)
        poller.wait(milliseconds: sleeps ? now.milliseconds(until: moment) : 0) { socket, ready in
            multi.run(socket, ready)
        }
        clock.now = .now()
    }

    // MARK: Beginning

    private func begin(_ exchange: Exchange) {
        guard transfers[exchange.id] == nil, held[exchange.id] == nil else { return }
        guard !isStopping else { return exchange.observer.exchangeDidEnd(ExchangeResult(error: .cancelled)) }
        let origin: HostQueue.Key
        let url: String
        do { (origin, url) = try origins.origin(of: exchange.request.url) } catch {
            return exchange.observer.exchangeDidEnd(ExchangeResult(error: error))
        }
        let transfer = CurlTransfer(exchange, to: origin, url: url, clock: clock)
        transfers[exchange.id] = transfer
        transfer.timer = timers.insert(.exchange(exchange.id), key: transfer.clocks.nextDeadline)
        hosts.enqueue(
            exchange.id, to: origin, priority: exchange.priority,
            limit: exchange.request.settings.maximumConnectionsPerHost)
    }

    /// Starts what the host queue lets go. After every batch of commands, so that a cancel in it comes in time.
    private func startReady() {
        while let id = hosts.startNext() {
            guard let transfer = transfers[id] else {
                hosts.remove(id)
                continue
            }
            start(transfer)
        }
    }

    private func start(_ transfer: CurlTransfer) {
        transfer.clocks.started(clock.now)
        if let timer = transfer.timer { timers.update(timer, key: transfer.clocks.nextDeadline) }
        if case .stream(let stream) = transfer.exchange.request.body {
            transfer.source = streamSource(stream, for: transfer.exchange.id)
        }
        guard let easy = handles.take() else { return end(transfer, EasyOptions.outOfMemory) }
        let freshness = suspects.freshness(for: transfer.origin, clock.now)
        do { try transfer.prepare(easy, in: multi, freshness: freshness) } catch {
            return end(transfer, error)
        }
        guard multi.add(easy) == CURLM_OK else { return end(transfer, EasyOptions.outOfMemory) }
        transfer.reportStart()
    }

    private func streamSource(_ stream: BodyStream, for id: Exchange.ID) -> StreamSource {
        let commands = commands
        return StreamSource(
            stream, workers: workers, whenReady: { commands.report(.resumeUpload(id)) },
            whenIdle: { commands.report(.uploadIdle(id)) })
    }

    // MARK: Ending

    private func end(_ transfer: CurlTransfer, _ code: CURLcode) { end(transfer, transfer.result(code)) }

    private func end(_ transfer: CurlTransfer, _ reason: APIError) { end(transfer, transfer.result(CURLE_OK, reason)) }

    /// Takes a transfer out of everything, in libcurl's order, and only then tells its observer.
    private func end(_ transfer: CurlTransfer, _ result: ExchangeResult) {
        let id = transfer.exchange.id
        if let easy = transfer.easy { multi.remove(easy) }
        transfer.release(to: &handles)
        if let timer = transfer.timer { timers.remove(timer) }
        hosts.remove(id)
        transfers[id] = nil
        if let source = transfer.source as? StreamSource, source.close() {
            held[id] = (transfer, result)
        } else {
            transfer.exchange.observer.exchangeDidEnd(result)
        }
    }

    private func expireTimers() {
        while let (moment, timer) = timers.first, moment <= clock.now {
            switch timer {
            case .job(let job):
                _ = timers.popFirst()
                workers.run(job)
            case .exchange(let id):
                guard let transfer = transfers[id], let token = transfer.timer else {
                    _ = timers.popFirst()
                    continue
                }
                if let expired = transfer.clocks.expired(clock.now) {
                    timeOut(transfer, expired)
                } else {
                    // Bytes have moved since the timer was set: only now is it worth setting again.
                    timers.update(token, key: transfer.clocks.nextDeadline)
                }
            }
        }
    }

    private func timeOut(_ transfer: CurlTransfer, _ expired: TimeoutClock) {
        // libcurl closes the connection of a transfer that is removed, unless others share it: HTTP/2 to a server that has
        // gone away. All later requests would then hang on it, too.
        if transfer.wasConnected, expired != .queue { suspects.add(transfer.origin, clock.now) }
        end(transfer, transfer.timeoutError(expired))
    }

    private func beginStopping() {
        isStopping = true
        for transfer in Array(transfers.values) { end(transfer, .cancelled) }
        // Whoever waits for a moment to go on must learn that there is no going on.
        while let timer = timers.popFirst() {
            if case .job(let job) = timer { workers.run(job) }
        }
    }
}
