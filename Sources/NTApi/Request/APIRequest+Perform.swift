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
        entered(inChild: forkedResponse) { () throws(Forked) in
            try runtime.workers.whileBlocked(driveOrResume)
            // Done by now, unless the request made no exchange, or another thread makes it.
            if !Delivery.isRunning(self) { _ = try wait(until: .distantFuture, running: .current) }
            return try finalResponse
        }
    }

    private func driveOrResume() throws(Forked) {
        guard let (loop, loan) = try directLoop(watching: -1), loop.enter(loan) else {
            _ = try resumed(on: nil)
            return
        }
        let mailbox = Mailbox.current
        let others = mailbox.lend(loop.waker)
        try leaking(loop) { () throws(Forked) in
            _ = try resumed(on: loop)
            while try !loop.turn() {
                var ran = 0
                try mailbox.drain(&ran, running: Delivery.scope(ofWaitFor: self))
                _ = loop.sleep(until: .distantFuture)
            }
        }
        loop.leave()
        _ = mailbox.lend(others)
        loop.giveBack(loan)
    }

    /// In a child, the loop belongs to the parent.
    private func leaking<Result>(
        _ loop: DirectLoop, _ body: () throws(Forked) -> Result
    ) throws(Forked) -> Result {
        do throws(Forked) {
            return try body()
        } catch {
            loop.leak()
            throw error
        }
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
        entered(inChild: .forked) { () throws(Forked) in try performed(timeout: timeout, watching: descriptor) }
    }

    /// How a call of ``pull(timeout:watching:afterPiece:)`` ended.
    package enum PullResult: Sendable {
        /// The first piece may be empty: then only the head has come. The network waits until the piece is released.
        case piece(BodyPiece)
        case over(PerformResult)
    }

    /// As the interruptible `perform`, for a request with ``setPulled()``, but also returns when a piece of the body has
    /// come. Release the piece and call it again until the request is completed.
    ///
    /// - Parameter afterPiece: whether the last call returned a piece. The time that the caller took for it is not the
    ///   server's silence.
    package func pull(timeout: Double?, watching descriptor: Int32, afterPiece: Bool) -> PullResult {
        entered(inChild: .over(.forked)) { () throws(Forked) in
            let result = try performed(timeout: timeout, watching: descriptor, afterPiece: afterPiece)
            return try takePulled().map { .piece($0) } ?? .over(result)
        }
    }

    private func performed(
        timeout: Double?, watching descriptor: Int32, afterPiece: Bool = false
    ) throws(Forked) -> PerformResult {
        let deadline = timeout.map { MonotonicTime.now().advanced(bySeconds: $0) } ?? .distantFuture
        let (phase, hasNews, isPulled, transport, loan) = try shared.withLock {
            ($0.flow.phase, $0.hasNews, $0.handlers.isPulled, $0.link.transport, $0.link.loan)
        }
        guard !hasNews else { return .completed }
        let begun = (transport as? DirectLoop).map { (loop: $0, loan: loan) }
        // A request that waits for credentials, the rate limit, an interceptor or a retry has no exchange to drive.
        let isDirect =
            client.authenticator == nil && pacing == nil && built.request?.callInterceptors == nil
            && built.request?.attemptInterceptors == nil
        guard let (loop, loan) = phase == .suspended && isDirect ? try directLoop(watching: descriptor) : begun
        else {
            if phase == .suspended { _ = try resumed(on: nil) }
            return try waitForNetwork(until: deadline, watching: descriptor)
        }
        return try runtime.workers.whileBlocked { () throws(Forked) in
            if loop.enter(loan) {
                let isDone = try leaking(loop) { () throws(Forked) in
                    if afterPiece { loop.comeBack(watching: descriptor) }
                    if phase == .suspended { _ = try resumed(on: loop) }
                    return try drive(loop, until: deadline, isPulled)
                }
                loop.leave()
                guard isDone else { return .interrupted }
                loop.giveBack(loan)
            }
            // There are news by now, unless the request made no exchange.
            guard try !shared.withLock({ $0.hasNews }) else { return .completed }
            return try waitForNetwork(until: deadline, watching: descriptor)
        }
    }

    /// - Returns: false when it was interrupted, or a piece of the body has come.
    private func drive(
        _ loop: DirectLoop, until deadline: MonotonicTime, _ isPulled: Bool
    ) throws(Forked) -> Bool {
        var isInterrupted = false
        while try !loop.turn() {
            if isInterrupted { return false }
            if isPulled, try flow({ $0.hasData }) { return false }
            isInterrupted = loop.sleep(until: deadline) != nil || deadline <= .now()
        }
        return true
    }

    /// Waits for a request that a network thread performs.
    private func waitForNetwork(
        until deadline: MonotonicTime, watching descriptor: Int32
    ) throws(Forked) -> PerformResult {
        guard let waiter = runtime.waiters.take() else {
            let result = try wait(until: deadline, running: Mailbox(owner: .anyone))
            return result == .completed ? .completed : .interrupted
        }
        do throws(Forked) {
            let result = try runtime.workers.whileBlocked { () throws(Forked) in
                try wait(with: waiter, until: deadline, watching: descriptor)
            }
            runtime.waiters.giveBack(waiter)
            return result
        } catch {
            // The waiter belongs to the parent.
            Fork.leak(waiter)
            throw error
        }
    }

    private func wait(
        with waiter: ThreadWaiter, until deadline: MonotonicTime, watching descriptor: Int32
    ) throws(Forked) -> PerformResult {
        let waits = try shared.withLock { shared in
            if !shared.hasNews { shared.waiters.append(waiter.mailbox) }
            return !shared.hasNews
        }
        guard waits else { return .completed }
        while true {
            let interruption = waiter.wait(until: deadline, watching: descriptor)
            let isInterrupted = interruption != nil || deadline <= .now()
            // A completed request wins over an interruption. The waiter may also be woken late, for its last request.
            let isDone = try shared.withLock { shared in
                if shared.flow.phase == .done { return true }
                if isInterrupted || shared.hasNews { shared.waiters.removeAll { $0 === waiter.mailbox } }
                return shared.hasNews
            }
            if isDone { return .completed }
            if isInterrupted { return .interrupted }
        }
    }

    /// What a call returns in a child that a callback has forked meanwhile.
    private var forkedResponse: APIResponse {
        // The child must not free anything of it.
        _ = Unmanaged.passRetained(self)
        let error = APIError.invalidRequest(
            "a callback forked this process while it waited for \(summary): the request belongs to the parent")
        return APIResponse(request: self, ResponseContent.Box(ResponseContent(neverSent: error, now)))
    }

    private func directLoop(watching descriptor: Int32) throws(Forked) -> (loop: DirectLoop, loan: Int)? {
        guard background == nil, stub == nil, !Delivery.isRunning(self),
            let built = built.request
        else {
            return nil
        }
        let lent = runtime.engine.directLoop(for: built.http.settings, watching: descriptor)
        if let lent { try shared.withLock { $0.link.loan = lent.loan } }
        return lent
    }
}
