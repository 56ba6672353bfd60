// What is delivered to the program, and when. See `DeliveryGate`.
extension RequestFlow {
    var phase: DeliveryGate.Phase { gate.phase }
    var isCancelled: Bool { gate.isCancelled }
    var isSuspended: Bool { gate.isSuspended }
    /// Whether the request was resumed and has sent nothing yet.
    var isStarting: Bool { gate.isStarting }

    mutating func takeProgress(_ direction: DeliveryGate.Direction) -> TransferProgress? {
        gate.takeProgress(direction)
    }

    mutating func progressReturned(_ direction: DeliveryGate.Direction) -> DeliveryGate.ProgressAction {
        gate.progressReturned(direction)
    }

    mutating func progressWaitIsOver() -> DeliveryGate.ProgressAction { gate.progressWaitIsOver() }

    mutating func bodyBegins() -> Bool { gate.bodyBegins() }

    /// Whether a piece of the body waits to be taken.
    var hasData: Bool { gate.hasData }

    mutating func takeData(outlivesJob: Bool) -> DataLane.Taken { gate.takeData(outlivesJob: outlivesJob) }

    mutating func dataReturned() -> DeliveryGate.DataAction { gate.dataReturned() }

    mutating func callBegins() -> Bool { gate.decisionBegins() }

    /// The same, if the wait with this ticket still lasts.
    mutating func callBegins(_ ticket: UInt32) -> Bool { waits(ticket) && gate.decisionBegins() }

    mutating func callReturned() -> DeliveryGate.ProgressAction { gate.callReturned() }

    mutating func stopWaitingForCalls() -> DeliveryGate.ProgressAction { gate.stopWaitingForCalls() }

    mutating func handlerReturned() { gate.handlerReturned() }

    // MARK: The conclusion

    /// Content for a response, from what the request has been through.
    func content(error: APIError? = nil, _ now: MonotonicTime) -> ResponseContent {
        ResponseContent(history, error: error, now)
    }

    /// Sets the times of content that was classified earlier.
    func setTimes(of content: inout ResponseContent, _ now: MonotonicTime) { content.setTimes(history, now) }

    /// Whether the last request may be sent twice.
    var mayBeRepeated: Bool { history.current?.mayBeRepeated ?? false }

    /// Whether the answer of a plain request can end it where it arrives: no stage, file or body needs more.
    var isFree: Bool {
        !gate.isCancelled && body.head == nil && stream == nil && file == nil && chain?.owed.isEmpty != false
    }

    /// The body bytes of the last exchange, of which nobody hears.
    mutating func complete(_ metrics: ExchangeMetrics) {
        if metrics.bytesSent > 0 { counts.sent = TransferProgress(bytes: metrics.bytesSent, total: metrics.bytesSent) }
        let received = metrics.countedBytes
        guard received > 0 else { return }
        counts.decoded = metrics.bytesDecoded
        counts.received = TransferProgress(bytes: received, total: received)
    }

    /// The answer is final: nothing more is sent.
    ///
    /// - Returns: the stages, to be ended and released without a lock, because they may hold objects of the program.
    mutating func takeStages() -> Remains {
        defer { chain = nil }
        return Remains(
            chain: chain, effects: chain?.owed ?? [], download: file, isTaken: chain?.download?.isTaken == true,
            history: history)
    }

    /// What is left of a request that sends nothing more.
    struct Remains {
        fileprivate let chain: Chain?
        /// What interceptors are still to be told.
        let effects: [Effect]
        let download: Download?
        /// Whether the program has the download's resume data.
        let isTaken: Bool
        let history: RequestHistory

        /// Gives back what the request has taken from others of its client.
        func end() { chain?.retry?.budget?.end() }

        fileprivate init(
            chain: Chain?, effects: [Effect], download: Download?, isTaken: Bool, history: RequestHistory
        ) {
            (self.chain, self.effects, self.download, self.isTaken) = (chain, effects, download, isTaken)
            self.history = history
        }
    }

    /// The outcome becomes final: from here on a cancel is too late.
    ///
    /// A cancel that came while the response was classified wins, unless a file is in place already: without its path
    /// the program would leave that file behind.
    ///
    /// - Parameter holds: whether the response waits for ``releaseDelivery()``: the outcome is written to disk, mapped,
    ///   logged and shown to hooks first. A data handler that returns meanwhile on another thread would deliver it.
    /// - Returns: whether to deliver the response now.
    mutating func commit(_ content: inout ResponseContent, holds: Bool, _ now: MonotonicTime) -> DeliveryGate.EndAction
    {
        if gate.isCancelled, content.error != .cancelled {
            if content.file != nil || content.temporaryFile != nil {
                // Its file has its name already.
                gate.cancelWasTooLate()
            } else {
                let left = content
                content = ResponseContent(history, error: .cancelled, now)
                content.resumeData = left.resumeData
                content.unfinishedFile = left.unfinishedFile
            }
        }
        if holds { gate.holdDelivery() }
        return gate.ended(successfully: content.error == nil)
    }

    mutating func releaseDelivery() -> DeliveryGate.EndAction { gate.releaseDelivery() }
}
