// A caller that only waits makes the exchange on its own thread. That saves two thread switches.
extension APIRequest {
    /// How an interruptible `perform` ended.
    package enum PerformResult: Sendable {
        case completed
        /// A signal handler ran, the descriptor is readable, or the time is over: call again, or cancel.
        case interrupted
        /// This is a child that a callback has forked. The request belongs to the parent.
        case forked
    }

    /// Resumes the request and waits for its response. Runs the calling thread's mailbox meanwhile.
    ///
    /// The client's hooks are called on the calling thread.
    package func perform() -> APIResponse {
        runtime.workers.whileBlocked {
            guard let (loop, loan) = directLoop(watching: -1), loop.enter(loan) else {
                resume()
                return
            }
            let mailbox = Mailbox.current
            let others = mailbox.lend(loop.waker)
            resume(on: loop)
            guard isOfThisProcess else { return loop.leak() }
            while !loop.turn() {
                mailbox.drain()
                guard isOfThisProcess else { return loop.leak() }
                _ = loop.sleep(until: .distantFuture)
            }
            guard isOfThisProcess else { return loop.leak() }
            loop.leave()
            _ = mailbox.lend(others)
            loop.giveBack(loan)
        }
        // Done by now, unless the request made no exchange, or another thread makes it.
        if isOfThisProcess { wait() }
        return isOfThisProcess ? response ?? cancelledResponse : forkedResponse
    }

    /// Resumes a suspended request and drives its exchange, or waits for the network thread that does. Call it again
    /// until the request is completed or cancelled.
    ///
    /// Between two calls nobody drives an exchange on the caller's own loop. The calling thread's mailbox is not run.
    ///
    /// - Parameters:
    ///   - timeout: seconds; nil waits for ever.
    ///   - descriptor: interrupts the wait when it is readable; −1 is none.
    package func perform(timeout: Double?, watching descriptor: Int32) -> PerformResult {
        let deadline = timeout.map { MonotonicTime.now().advanced(bySeconds: $0) } ?? .distantFuture
        let (phase, transport, loan) = shared.withLock { ($0.flow.gate.phase, $0.transport, $0.loan) }
        guard phase != .done else { return .completed }
        let begun = (transport as? DirectLoop).map { (loop: $0, loan: loan) }
        // A request that waits for credentials, the rate limit, an interceptor or a retry has no exchange to drive.
        let isDirect =
            client.authenticator == nil && pacing == nil && built.request?.calls == nil
            && built.request?.attempts == nil
        guard let (loop, loan) = phase == .suspended && isDirect ? directLoop(watching: descriptor) : begun else {
            if phase == .suspended { resume() }
            return waitForNetwork(until: deadline, watching: descriptor)
        }
        return runtime.workers.whileBlocked {
            if loop.enter(loan) {
                if phase == .suspended { resume(on: loop) }
                guard isOfThisProcess else { return forked(from: loop) }
                var isInterrupted = false
                while !loop.turn() {
                    if isInterrupted {
                        loop.leave()
                        return .interrupted
                    }
                    isInterrupted = loop.sleep(until: deadline) != nil || deadline <= .now()
                }
                guard isOfThisProcess else { return forked(from: loop) }
                loop.leave()
                loop.giveBack(loan)
            }
            // Done by now, unless the request made no exchange.
            wait(until: .distantFuture, running: Mailbox(owner: .anyone))
            return isOfThisProcess ? .completed : .forked
        }
    }

    /// Waits for a request that a network thread performs.
    private func waitForNetwork(until deadline: MonotonicTime, watching descriptor: Int32) -> PerformResult {
        guard isOfThisProcess else { return .forked }
        guard let waiter = runtime.waiters.take() else {
            let result = wait(until: deadline, running: Mailbox(owner: .anyone))
            return !isOfThisProcess ? .forked : result == .completed ? .completed : .interrupted
        }
        let result = runtime.workers.whileBlocked { wait(with: waiter, until: deadline, watching: descriptor) }
        // In a child that a callback has forked, the waiter belongs to the parent.
        if result == .forked { _ = Unmanaged.passRetained(waiter) } else { runtime.waiters.giveBack(waiter) }
        return result
    }

    private func wait(
        with waiter: ThreadWaiter, until deadline: MonotonicTime, watching descriptor: Int32
    ) -> PerformResult {
        let isRunning = shared.withLock { shared in
            if shared.flow.gate.phase != .done { shared.waiters.append(waiter.mailbox) }
            return shared.flow.gate.phase != .done
        }
        guard isRunning else { return .completed }
        while true {
            let interruption = waiter.wait(until: deadline, watching: descriptor)
            guard isOfThisProcess else { return .forked }
            let isInterrupted = interruption != nil || deadline <= .now()
            // A completed request wins over an interruption. The waiter may also be woken late, for its last request.
            let isDone = shared.withLock { shared in
                if shared.flow.gate.phase == .done { return true }
                if isInterrupted { shared.waiters.removeAll { $0 === waiter.mailbox } }
                return false
            }
            if isDone { return .completed }
            if isInterrupted { return .interrupted }
        }
    }

    private func forked(from loop: DirectLoop) -> PerformResult {
        loop.leak()
        return .forked
    }

    /// What a call returns in a child that a callback has forked meanwhile.
    private var forkedResponse: APIResponse {
        // The child must not free anything of it.
        _ = Unmanaged.passRetained(self)
        let error = APIError.invalidRequest(
            "a callback forked this process while it waited for \(summary): the request belongs to the parent")
        return APIResponse(request: self, ResponseContent.Box(ResponseContent(RequestHistory(), error: error, now)))
    }

    private func directLoop(watching descriptor: Int32) -> (loop: DirectLoop, loan: Int)? {
        guard generation == Fork.generation, background == nil, stub == nil, !Delivery.isRunning(self),
            let built = built.request
        else {
            return nil
        }
        let lent = runtime.engine.directLoop(for: built.http.settings, watching: descriptor)
        if let lent { shared.withLock { $0.loan = lent.loan } }
        return lent
    }
}
