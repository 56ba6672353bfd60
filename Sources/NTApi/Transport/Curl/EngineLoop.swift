import CCurl

/// One poller, libcurl's multi handles, and their exchanges. A network thread runs it, or a caller that waits.
///
/// It belongs to the thread that runs it. Other threads use the command queue. It runs no user code and holds no lock
/// while it calls other code. It collects work for other threads in `deliveries`, which the running thread flushes.
final class EngineLoop {
    private let commands: CommandQueue
    private let workers: WorkerPool
    /// Nil in a caller's own loop, whose connection is counted elsewhere.
    private let connections: ConnectionCount?
    let share: ConnectionShare
    private let poller: SystemPoller
    private let sockets: OpenSockets
    private let pools: ConnectionPools
    let current: LoopTurn
    @exclusivity(unchecked) var state: State

    struct State: ~Copyable {
        fileprivate var handles = HandlePool()
        fileprivate var transferCount = 0
        /// Exchanges that are over, but whose end is not reported yet.
        var overButHeld: [ObjectIdentifier: HeldEnd] = [:]
        var hosts: HostQueue<CurlTransfer>
        /// Those that somebody observes, from when they are put into the queue until it has selected what starts.
        var enqueued: [CurlTransfer] = []
        /// When a clock of a transfer may have run out.
        var timers = IndexedHeap<MonotonicTime, CurlTransfer>()
        fileprivate var suspects = SuspectConnections()
        fileprivate var origins = OriginCache()
        fileprivate var taken: [EngineCommand] = []
        fileprivate var isStopping = false
        /// When the sockets were last read. A clock runs out only before this time. Otherwise, after the process was
        /// stopped or had to wait for a processor, requests would time out although their answers have arrived.
        fileprivate var lookedAt = MonotonicTime(nanoseconds: 0)

        fileprivate init(hosts: HostQueue<CurlTransfer>) { self.hosts = hosts }
    }

    /// Fails when the system has no file descriptors left or libcurl cannot be set up.
    ///
    /// - Parameters:
    ///   - limit: the most connections to all servers together; nil for no limit.
    ///   - connectionAge: after how many seconds a connection that is always in use gets no more exchanges.
    init?(
        commands: CommandQueue, workers: WorkerPool, connections: ConnectionCount?, share: ConnectionShare = .whole,
        limit: Int? = nil, connectionAge: Double = HostConnections.maximumAge
    ) {
        guard let poller = SystemPoller(), let pools = ConnectionPools(poller: poller, limit: limit) else { return nil }
        self.commands = commands
        self.workers = workers
        current = LoopTurn(workers, commands)
        self.connections = connections
        self.share = share
        self.poller = poller
        sockets = OpenSockets(poller)
        self.pools = pools
        state = State(hosts: HostQueue(total: limit, connectionAge: connectionAge))
    }

    /// Jobs for other threads.
    var deliveries: DeliveryBatch { current.deliveries }

    /// Whether no exchange is left.
    var isEmpty: Bool { isOnlyHeld && state.overButHeld.isEmpty }

    /// Whether all remaining exchanges wait for the program: to read a body stream, or to decide.
    var isOnlyHeld: Bool { state.transferCount == 0 }

    /// Does everything that needs no waiting.
    ///
    /// - Returns: whether the loop must stop.
    @discardableResult func turn() -> Bool {
        let phase = commands.take(into: &state.taken, due: state.lookedAt, deliveries)
        current.number &+= 1
        // First, so that an exchange that is already complete is not cancelled or timed out.
        readMessages()
        if phase == .stopping, !state.isStopping { beginStopping() }
        perform()
        expireTimers()
        startReady()
        // Before libcurl runs: a transfer that ends here is seen in this turn.
        goOn()
        runTransfers()
        pools.closeIdle(current.now)
        return state.isStopping
    }

    /// Waits for sockets, timers or commands.
    ///
    /// - Returns: what else ended the wait; nil for none.
    @discardableResult func sleep(until limit: MonotonicTime) -> Interruption? {
        var moment = current.unfinished.isEmpty ? limit : MonotonicTime(nanoseconds: 0)
        if let timer = state.timers.firstKey { moment = min(moment, timer) }
        if let timer = pools.timer { moment = min(moment, timer) }
        let now = MonotonicTime.now()
        var wakesAt: MonotonicTime?
        if moment > now {
            wakesAt = commands.prepareToSleep(poller.waker, until: moment, isStopping: state.isStopping)
        }
        var isAwake = false
        let interruption = poller.wait(milliseconds: now.milliseconds(until: wakesAt ?? now)) { socket, ready in
            // The loop may have slept for a while, and bytes move now.
            if !isAwake { wake() }
            isAwake = true
            pools.run(socket, ready)
            // libcurl 8.23 notices only in its next call that an HTTP/2 server's first frame was not allowed.
            if sockets.isUnproven(socket) { pools.run(socket, ready) }
        }
        if !isAwake { wake() }
        if interruption != .signal { state.lookedAt = now }
        return interruption
    }

    /// Nobody ran the loop for a while, because its only exchange had to wait for the program.
    func restartClocks() {
        guard let (_, transfer) = state.timers.first else { return }
        transfer.state.clocks.release(leaving: transfer.state.holds, current.now)
    }

    /// Updates the time after a sleep, or after a while in which nobody ran the loop.
    func wake() { current.now = .now() }

    /// Stops taking commands, unless some are waiting.
    func rest() -> Bool { commands.rest() }

    /// What wakes the loop from any thread.
    var waker: Waker { poller.waker }

    /// Also wakes when a file descriptor of the caller is readable; −1 for none.
    func watch(_ descriptor: Int32) { poller.watch(descriptor) }

    /// Ends the remaining exchanges, and frees all resources of the system and of libcurl. This is the last call.
    func close() {
        for (_, end) in state.overButHeld { report(end.result, of: end.exchange) }
        state.overButHeld = [:]
        state.handles.removeAll()
        pools.close()
    }

    private func perform() {
        guard !state.taken.isEmpty else { return }
        for command in state.taken {
            switch command {
            case .begin(let exchange): begin(exchange)
            case .cancel(let exchange):
                switch exchange.phase {
                case .new: exchange.phase = .cancelledEarly
                case .running: if let transfer = exchange.transfer as? CurlTransfer { end(transfer, .cancelled) }
                case .ended: changeHeldEnd(of: exchange) { $0.isUndecided = false }
                case .cancelledEarly: break
                }
            case .change(let exchange, let change): self.change(exchange, change)
            case .resumeUpload(let exchange):
                if let transfer = exchange.transfer as? CurlTransfer { resumeUpload(of: transfer) }
            case .uploadIdle(let exchange): changeHeldEnd(of: exchange) { $0.isRead = false }
            }
        }
        state.taken.removeAll(keepingCapacity: state.taken.count <= 1024)
    }

    /// Continues the transfers that had enough of an earlier turn.
    private func goOn() {
        guard !current.unfinished.isEmpty else { return }
        for transfer in exchange(&current.unfinished, with: []) {
            transfer.release(.turn)
            // While it was held, no idle timeout ran.
            if let timer = transfer.state.timer { state.timers.update(timer, key: transfer.state.clocks.nextDeadline) }
            applyHolds(to: transfer)
        }
    }

    /// Calls libcurl as long as its timer has expired, and ends transfers that are done.
    private func runTransfers() {
        readMessages()
        // A new handle sets the timer to now. The limit keeps sockets from starving when new handles keep coming.
        var rounds = 0
        while rounds < 64, pools.runTimers(current.now) {
            readMessages()
            rounds += 1
        }
    }

    /// Read every message before the loop sleeps. libcurl reports the end of a transfer only once, and does not wake
    /// the loop for it.
    private func readMessages() {
        while let message = pools.nextMessage() {
            var data: UnsafeMutableRawPointer?
            ntapi_easy_get_pointer(message.easy, CURLINFO_PRIVATE, &data)
            guard let data, let transfer = Unmanaged<EasyHandle>.fromOpaque(data).takeUnretainedValue().transfer else {
                continue
            }
            end(transfer, message.code)
        }
        startReady()
    }

    // MARK: Beginning

    private func begin(_ exchange: Exchange) {
        switch exchange.phase {
        case .running, .ended: return
        case .new where state.isStopping: return end(exchange, .cancelled)
        case .cancelledEarly: return end(exchange, .cancelled)
        case .new: break
        }
        let origin: Origin
        let url: String
        do { (origin, url) = try state.origins.origin(of: exchange.request.url) } catch { return end(exchange, error) }
        if let error = exchange.request.settings.objection(to: origin) { return end(exchange, error) }
        let transfer = CurlTransfer(exchange, to: origin, url: url, turn: current)
        exchange.transfer = transfer
        exchange.phase = .running
        state.transferCount += 1
        transfer.state.timer = state.timers.insert(transfer, key: transfer.state.clocks.nextDeadline)
        if !transfer.state.holds.contains(.suspended) { enqueue(transfer) }
    }

    /// Puts a transfer into the queue.
    func enqueue(_ transfer: CurlTransfer, again: Bool = false) {
        transfer.state.connectionLimit = share.part(of: transfer.exchange.request.settings.maximumConnectionsPerHost)
        transfer.state.isSelected = false
        transfer.state.ticket = state.hosts.enqueue(
            transfer, to: transfer.origin, priority: transfer.exchange.priority, limit: transfer.state.connectionLimit,
            sharesConnections: transfer.sharesConnections, again: again)
        if transfer.exchange.isObserved { state.enqueued.append(transfer) }
    }

    /// Ends an exchange that cannot begin.
    private func end(_ exchange: Exchange, _ reason: APIError) {
        exchange.phase = .ended
        report(ExchangeResult(error: reason), of: exchange)
    }

    /// Starts the exchanges that the queue selects. Runs after every batch of commands, so that a cancel in the batch
    /// comes first.
    private func startReady() {
        let reserved = connections?.direct ?? 0
        while let transfer = state.hosts.startNext(reserved: reserved) {
            transfer.state.connectionLimit = max(1, transfer.state.connectionLimit - reserved)
            if exchange(&transfer.state.isQueued, with: false) { transfer.exchange.observer.exchangeIsQueued(false) }
            transfer.state.isSelected = true
            if transfer.state.mayStart { start(transfer) } else { transfer.exchange.observer.exchangeMayStart() }
        }
        if !state.enqueued.isEmpty { tellQueued() }
    }

    /// Tells those who observe it that their exchange waits.
    private func tellQueued() {
        for transfer in exchange(&state.enqueued, with: []) where transfer.isWaiting {
            transfer.state.isQueued = true
            transfer.exchange.observer.exchangeIsQueued(true)
        }
    }

    func start(_ transfer: CurlTransfer) {
        transfer.state.clocks.started(current.now)
        if let timer = transfer.state.timer { state.timers.update(timer, key: transfer.state.clocks.nextDeadline) }
        guard let handle = state.handles.take() else { return end(transfer, EasyOptions.outOfMemory) }
        var freshness = state.suspects.freshness(for: transfer.origin, current.now)
        if transfer.state.needsNewConnection {
            let age = freshness?.maximumAge ?? Int(HostConnections.maximumAge)
            freshness = Freshness(opensConnection: true, maximumAge: age)
        }
        do { try transfer.prepare(handle, sockets, freshness: freshness) } catch {
            return end(transfer, error)
        }
        guard transfer.enter(pools) == CURLM_OK else { return end(transfer, EasyOptions.outOfMemory) }
        transfer.reportStart()
    }

    // MARK: Ending

    func end(_ transfer: CurlTransfer, _ code: CURLcode) {
        transfer.state.isComplete = code == CURLE_OK
        if code != CURLE_OK, transfer.state.mustWait || transfer.wasIgnored(code) {
            if transfer.state.needsNewConnection, transfer.sharesConnections {
                state.suspects.add(transfer.origin, current.now)
            }
            return putBack(transfer)
        }
        do throws(APIError) {
            if try transfer.isToAnswer(after: code) { return putBack(transfer) }
        } catch {
            return end(transfer, error)
        }
        if transfer.isShort(code) {
            transfer.state.shortages += 1
            return putBack(transfer)
        }
        end(transfer, transfer.result(code))
    }

    /// Puts a transfer back into the queue: nothing of it was sent, the server did not process it, or the server wants
    /// credentials.
    func putBack(_ transfer: CurlTransfer) {
        if transfer.isInterrupted { transfer.state.interruptions += 1 }
        transfer.leavePool()
        transfer.release(to: &state.handles)
        transfer.wait()
        if let timer = transfer.state.timer { state.timers.update(timer, key: transfer.state.clocks.nextDeadline) }
        if let ticket = transfer.state.ticket { state.hosts.remove(ticket) }
        transfer.state.ticket = nil
        if !transfer.state.holds.contains(.suspended) { enqueue(transfer, again: true) }
    }

    private func end(_ transfer: CurlTransfer, _ reason: APIError) { end(transfer, transfer.result(CURLE_OK, reason)) }

    /// Removes a transfer from everything, in the order that libcurl needs, and then tells its observer.
    private func end(_ transfer: CurlTransfer, _ result: ExchangeResult) {
        let exchange = transfer.exchange
        transfer.leavePool()
        transfer.release(to: &state.handles)
        if let timer = transfer.state.timer { state.timers.remove(timer) }
        if let ticket = transfer.state.ticket {
            ticket.leave(&transfer.state.seat)
            state.hosts.remove(ticket)
        }
        state.transferCount -= 1
        exchange.transfer = nil
        exchange.phase = .ended
        let isRead = transfer.state.source?.close() ?? false
        let isUndecided = transfer.state.holds.contains(.decision) && result.error == nil
        guard isRead || isUndecided else { return report(result, of: exchange) }
        state.overButHeld[ObjectIdentifier(exchange)] = HeldEnd(
            exchange: exchange, result: result, isRead: isRead, isUndecided: isUndecided)
    }

    func report(_ result: ExchangeResult, of exchange: Exchange) {
        connections?.end()
        exchange.observer.exchangeDidEnd(result, deliveries)
    }

    private func expireTimers() {
        while let moment = state.timers.firstKey, moment <= state.lookedAt, let (_, transfer) = state.timers.first {
            guard let token = transfer.state.timer else {
                _ = state.timers.popFirst()
                continue
            }
            if let expired = transfer.state.clocks.expired(state.lookedAt) {
                guard expired != .idle || !transfer.awaitsFile else {
                    // The disk is slow, not the server. The next look is later, however short the timeout is.
                    transfer.state.clocks.bytesMoved(state.lookedAt)
                    let soon = state.lookedAt.advanced(bySeconds: 0.01)
                    state.timers.update(token, key: max(soon, transfer.state.clocks.nextDeadline))
                    continue
                }
                timeOut(transfer, expired)
            } else {
                // Bytes have moved since the timer was set. Updating it only now is cheaper than with each byte.
                state.timers.update(token, key: transfer.state.clocks.nextDeadline)
            }
        }
    }

    private func timeOut(_ transfer: CurlTransfer, _ expired: TimeoutClock) {
        // libcurl closes the connection of a removed transfer, unless others share it. If the server of an HTTP/2
        // connection is gone, all later requests would hang on that connection, too.
        if transfer.wasConnected, expired != .queue, !transfer.connectionIsAlive {
            state.suspects.add(transfer.origin, current.now)
            transfer.state.ticket?.replaceConnection(of: transfer.state.seat)
        }
        end(transfer, transfer.timeoutError(expired))
    }

    private func beginStopping() {
        state.isStopping = true
        // Everything that runs or waits has a timer.
        while let transfer = state.timers.popFirst() { end(transfer, .cancelled) }
    }
}
