/// The time between two exchanges of a request, in which nothing of it is on the network.
struct RequestPause: Sendable {
    /// What follows, on a worker.
    var next: @Sendable (DeliveryBatch) -> Void
    var timer: ScheduledJob?
    /// Whether it was to end before it had a timer.
    var isDismissed = false
}

extension APIRequest {
    /// Lets some time pass, and then goes on with another attempt; a request that is cancelled meanwhile, ends.
    ///
    /// One that is suspended meanwhile goes on with an exchange that is held from its beginning.
    ///
    /// - Parameter moment: before the deadline of the request.
    /// - Returns: false when it was cancelled: it is to be ended.
    func pause(until moment: MonotonicTime, then next: @escaping @Sendable (DeliveryBatch) -> Void) -> Bool {
        let isCancelled = shared.withLock { shared in
            guard !shared.machine.isCancelled else { return true }
            shared.pause = RequestPause(next: next)
            shared.journey.retries += 1
            // A caller that drove the exchange goes its way meanwhile.
            shared.transport = nil
            return false
        }
        guard !isCancelled else { return false }
        let timer = clock.schedule(.pause, at: moment) {
            self.onWorker { deliveries in
                if let pause = self.shared.withLock({ $0.pause.take() }) { pause.next(deliveries) }
            }
        }
        // A cancel meanwhile has found no timer to call off, and has left that to this.
        let isDismissed = shared.withLock { shared in
            shared.pause?.timer = timer
            guard shared.pause?.isDismissed == true else { return false }
            shared.pause = nil
            return true
        }
        if isDismissed { timer.cancel() }
        return !isDismissed
    }

    /// The request was cancelled: it waits no longer.
    func dismissPause() {
        let timer = shared.withLock { shared -> ScheduledJob? in
            guard let timer = shared.pause?.timer else {
                shared.pause?.isDismissed = true
                return nil
            }
            shared.pause = nil
            return timer
        }
        guard let timer else { return }
        timer.cancel()
        onWorker { self.finishCancelled($0) }
    }
}
