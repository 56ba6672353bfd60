/// The life of a request as a value: each method is something that happened, and returns what to do about it.
///
/// The shell (`APIRequest`) calls it under the request's lock and acts after releasing it, so no callback and no other
/// lock is ever reached from here. The promise is kept here: the response is delivered once, and last.
struct DeliveryGate: Sendable {
    /// A direction of progress.
    enum Direction: Int, CaseIterable, Sendable {
        case upload
        case download
    }

    enum Phase: Sendable {
        /// Created, not yet resumed.
        case suspended
        /// Between resume and the end of the last exchange.
        case running
        /// The outcome stands; progress that was reported before it is still to be handed over.
        case ending
        /// The response is on its way to its thread, or its handler runs.
        case delivering
        /// The handler has returned.
        case done
    }

    enum ResumeAction: Equatable {
        case start
        case releaseExchange
        /// It stands between two exchanges: the next one begins as usual.
        case nothing
        /// It was not suspended, or has ended.
        case tooLate
    }

    enum SuspendAction: Equatable {
        case holdExchange
        /// It stands between two exchanges: the next one begins suspended.
        case nothing
        /// It does not run, or is suspended already.
        case tooLate
    }

    enum CancelAction: Equatable {
        /// It has ended: the handler gets, or has got, the response.
        case tooLate
        /// It was never resumed, or stands between two exchanges: there is nothing on the network to stop.
        case nothing
        case cancelExchange
        /// Its last exchange has ended, and only the reader of the body was waited for: it is waited for no more.
        case conclude
        /// It was never resumed: it ends here.
        case end
    }

    enum ProgressAction: Equatable {
        case nothing
        case postProgress
        case deliverResponse
    }

    enum DataAction: Equatable {
        case nothing
        case postData
        case deliverResponse
        /// The body has been read, for which the end of its exchange has waited.
        case conclude
    }

    /// What to do when the exchange of a body that is read has ended.
    enum BodyEndAction: Equatable {
        case conclude
        /// What is left is told first, and then `DataAction.conclude`.
        case postData
        /// The same, and a job is posted already.
        case awaitData
    }

    enum EndAction: Equatable {
        case deliverResponse
        /// Progress or data is on its way: it calls for the response when it is through; progress also when the wait has
        /// been long enough.
        case awaitProgress
    }

    /// One direction's progress on its way to its handler: at most one job is posted at a time.
    private struct Lane {
        /// "0 of total", which is told even when more has come before the handler is called.
        var first: TransferProgress?
        var latest: TransferProgress?
        /// What was reported last, so that nothing is told twice.
        var reported: TransferProgress?
        /// Whether "0 of total" was told, or would come too late: after more than 0 of an unknown total.
        var hasBegun = false
        var isPosted = false
        var isRunning = false

        var isWaiting: Bool { first != nil || latest != nil }

        mutating func add(_ progress: TransferProgress) -> Bool {
            guard progress != reported else { return false }
            reported = progress
            if !hasBegun, let total = progress.total {
                hasBegun = true
                first = TransferProgress(bytes: 0, total: total)
                if progress.bytes == 0 { return true }
            }
            latest = progress
            return true
        }

        mutating func next() -> TransferProgress? {
            if let progress = first {
                first = nil
                return progress
            }
            defer { latest = nil }
            if let latest, latest.bytes > 0 { hasBegun = true }
            return latest
        }

        mutating func drop() {
            first = nil
            latest = nil
        }
    }

    private struct Lanes {
        var upload = Lane()
        var download = Lane()

        subscript(direction: Direction) -> Lane {
            get { direction == .upload ? upload : download }
            set { if direction == .upload { upload = newValue } else { download = newValue } }
        }

        var isBusy: Bool { upload.isRunning || upload.isWaiting || download.isRunning || download.isWaiting }
    }

    private(set) var phase = Phase.suspended
    private(set) var isCancelled = false
    /// Whether the caller has suspended it while it ran.
    private(set) var isSuspended = false
    private var hasExchange = false
    /// Whether it was resumed, and nothing of it is sent yet.
    private(set) var isStarting = false
    /// Whether the end of an exchange waits until its body has been read.
    private var awaitsData = false
    /// Nil until there is progress to tell.
    @Boxed private var lanes: Lanes?
    private var isHeld = false
    /// How many handlers of decisions run.
    private var deciding = 0
    private var data = DataLane()

    mutating func resume() -> ResumeAction {
        if phase == .suspended {
            phase = .running
            isStarting = true
            return .start
        }
        guard phase == .running, isSuspended, !isCancelled else { return .tooLate }
        isSuspended = false
        return hasExchange ? .releaseExchange : .nothing
    }

    mutating func suspend() -> SuspendAction {
        guard phase == .running, !isSuspended, !isCancelled else { return .tooLate }
        isSuspended = true
        return hasExchange ? .holdExchange : .nothing
    }

    mutating func cancel() -> CancelAction {
        switch phase {
        case .suspended:
            isCancelled = true
            phase = .running
            return .end
        case .running:
            guard !isCancelled else { return .tooLate }
            isCancelled = true
            data.cancel()
            if awaitsData, !data.isBusy {
                awaitsData = false
                return .conclude
            }
            return hasExchange ? .cancelExchange : .nothing
        case .ending, .delivering, .done: return .tooLate
        }
    }

    /// - Returns: false when the request was cancelled meanwhile: nothing is to be begun, it ends instead.
    mutating func exchangeBegins() -> Bool {
        isStarting = false
        guard phase == .running, !isCancelled else { return false }
        hasExchange = true
        return true
    }

    mutating func exchangeEnded() { hasExchange = false }

    /// - Returns: whether a job is to be posted that takes the progress.
    mutating func progressed(_ direction: Direction, _ progress: TransferProgress) -> Bool {
        guard phase == .running, !isCancelled else { return false }
        var lanes = self.lanes ?? Lanes()
        guard lanes[direction].add(progress) else { return false }
        let isPosted = lanes[direction].isPosted
        lanes[direction].isPosted = true
        self.lanes = lanes
        return !isPosted
    }

    /// The posted job runs.
    ///
    /// - Returns: what to tell the handler; nil when there is nothing to tell any more.
    mutating func takeProgress(_ direction: Direction) -> TransferProgress? {
        guard phase == .running || phase == .ending, var lanes, let progress = lanes[direction].next() else {
            return nil
        }
        lanes[direction].isRunning = true
        self.lanes = lanes
        return progress
    }

    /// The posted job is through, whether it had something to tell or not.
    mutating func progressReturned(_ direction: Direction) -> ProgressAction {
        guard var lanes else { return deliverIfFree() }
        let goesOn = lanes[direction].isWaiting && (phase == .running || phase == .ending)
        lanes[direction].isRunning = false
        lanes[direction].isPosted = goesOn
        self.lanes = lanes
        return goesOn ? .postProgress : deliverIfFree()
    }

    /// A piece of the body has come.
    mutating func dataArrived(_ bytes: UnsafeRawBufferPointer) -> DataLane.Arrival {
        // Of a request that was cancelled nobody wants to hear any more.
        isCancelled ? .taken : data.append(bytes)
    }

    /// The head of an answer has come whose body is read.
    ///
    /// - Returns: whether a job is to be posted that takes the data.
    mutating func bodyBegins() -> Bool { !isCancelled && data.begin() }

    mutating func takeData(lends: Bool) -> DataLane.Taken {
        guard !isCancelled, phase == .running || phase == .ending else { return DataLane.Taken() }
        return data.take(lends: lends)
    }

    /// The exchange of a body that is read as lines or events has ended: what follows depends on what is in it.
    ///
    /// - Parameter isWhole: whether the reader is to be told that it was the whole body.
    mutating func bodyEnded(isWhole: Bool) -> BodyEndAction {
        guard !isCancelled else { return .conclude }
        let posts = isWhole && data.end()
        guard data.isBusy else { return .conclude }
        awaitsData = true
        return posts ? .postData : .awaitData
    }

    mutating func dataReturned() -> DataAction {
        if data.returned() { return .postData }
        if awaitsData {
            awaitsData = false
            return .conclude
        }
        return deliverIfFree() == .deliverResponse ? .deliverResponse : .nothing
    }

    /// The outcome stands. Progress that waits is told first when all went well, and dropped otherwise; data that waits is
    /// told, unless a cancel has dropped it; a handler that runs is waited for.
    mutating func ended(successfully: Bool) -> EndAction {
        phase = .ending
        isStarting = false
        if !successfully { dropProgress() }
        return deliverIfFree() == .deliverResponse ? .deliverResponse : .awaitProgress
    }

    /// Progress has waited long enough for a thread that does not run its mailbox; the response must not.
    mutating func progressWaitIsOver() -> ProgressAction {
        guard phase == .ending else { return .nothing }
        dropProgress()
        return deliverIfFree()
    }

    /// A handler of a decision is to be called.
    ///
    /// - Returns: false when nobody wants to know any more.
    mutating func decisionBegins() -> Bool {
        guard phase == .running, !isCancelled else { return false }
        deciding += 1
        return true
    }

    /// The handler has returned, whether it has answered or not.
    mutating func decisionReturned() -> ProgressAction {
        deciding -= 1
        return deliverIfFree()
    }

    /// The response waits, whatever else is through, until `releaseDelivery`: the outcome is written to disk first.
    mutating func holdDelivery() { isHeld = true }

    mutating func releaseDelivery() -> EndAction {
        isHeld = false
        return deliverIfFree() == .deliverResponse ? .deliverResponse : .awaitProgress
    }

    mutating func handlerReturned() { phase = .done }

    private mutating func dropProgress() {
        guard var lanes else { return }
        lanes.upload.drop()
        lanes.download.drop()
        self.lanes = lanes
    }

    private mutating func deliverIfFree() -> ProgressAction {
        guard phase == .ending, !isHeld, deciding == 0, lanes?.isBusy != true, !data.isBusy else { return .nothing }
        phase = .delivering
        return .deliverResponse
    }
}
