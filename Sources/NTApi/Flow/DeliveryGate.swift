/// The life of a request as a value: each method is an event, and returns what to do about it.
///
/// It is a gate for what is delivered to the program: it lets progress, data and questions through one after another, and
/// is closed behind the response.
///
/// The shell (`APIRequest`) calls it under the request's lock and acts after releasing it. So no callback and no other
/// lock is ever reached from here. This type guarantees that the response is delivered exactly once, and last.
struct DeliveryGate: Sendable {
    /// A direction of progress.
    enum Direction: Int, CaseIterable, Sendable {
        case upload
        case download
    }

    enum Phase: Sendable {
        /// Created, not yet resumed.
        case suspended
        /// From resume to the end of the last exchange.
        case running
        /// The outcome is final; earlier progress is still to be delivered.
        case ending
        /// The response is on its way to its thread, or its handler runs.
        case delivering
        /// The handler has returned.
        case done
    }

    enum ResumeAction: Equatable {
        case start
        case releaseExchange
        /// The request is between two exchanges: the next one begins as usual.
        case nothing
        /// The request was not suspended, or has ended.
        case tooLate
    }

    enum SuspendAction: Equatable {
        case holdExchange
        /// The request is between two exchanges: the next one begins suspended.
        case nothing
        /// The request does not run, or is suspended already.
        case tooLate
    }

    enum CancelAction: Equatable {
        /// The request has ended: its handler gets the response.
        case tooLate
        /// The request was never resumed, or is between two exchanges: there is nothing on the network to stop.
        case nothing
        case cancelExchange
        /// The last exchange has ended, and only the reader of the body was waited for: stop waiting.
        case bodyIsRead
        /// The request was never resumed: it ends here.
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
        /// The body has been read, and the end of its exchange waited for that.
        case bodyIsRead
    }

    /// What to do when an exchange ends whose body is read.
    enum BodyEndAction: Equatable {
        /// Nothing is left to read.
        case bodyIsRead
        /// Deliver the rest first; `DataAction.bodyIsRead` follows.
        case postData
        /// As `postData`, with a job already posted.
        case awaitData
    }

    enum EndAction: Equatable {
        case deliverResponse
        /// Progress or data is on its way and will ask for the response when it is delivered. Progress also gives up
        /// after a time.
        case awaitProgress
    }

    /// One direction's progress on its way to its handler. At most one job is posted at a time.
    private struct Lane {
        /// The start of a known total. It is delivered even when more bytes arrive before the handler is called.
        var first: TransferProgress?
        var latest: TransferProgress?
        /// The last value that was reported, so that none is delivered twice.
        var reported: TransferProgress?
        /// Whether the start was delivered, or would come too late: the handler has seen bytes of an unknown total.
        var hasBegun = false
        var isPosted = false
        var isRunning = false

        var isWaiting: Bool { first != nil || latest != nil }

        mutating func add(_ progress: TransferProgress, after before: Int64) -> Bool {
            guard progress != reported else { return false }
            reported = progress
            if !hasBegun, let total = progress.total {
                hasBegun = true
                first = TransferProgress(bytes: before, total: total)
                if progress.bytes == before { return true }
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
    /// Whether the caller suspended the running request.
    private(set) var isSuspended = false
    private var hasExchange = false
    /// Whether the request was resumed and has sent nothing yet.
    private(set) var isStarting = false
    /// Whether the end of an exchange waits until its body is read.
    private var awaitsData = false
    /// Nil until there is progress to deliver.
    @Boxed private var lanes: Lanes?
    private var isHeld = false
    /// How many calls of decision handlers and interceptors run or are about to.
    private var calls = 0
    /// False at the end of the process.
    private var waitsForCalls = true
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
                return .bodyIsRead
            }
            return hasExchange ? .cancelExchange : .nothing
        case .ending, .delivering, .done: return .tooLate
        }
    }

    /// The outcome that is being made final is another one.
    mutating func cancelWasTooLate() { isCancelled = false }

    /// - Returns: false when the request was cancelled: begin nothing, and end the request.
    mutating func exchangeBegins() -> Bool {
        isStarting = false
        guard phase == .running, !isCancelled else { return false }
        hasExchange = true
        return true
    }

    mutating func exchangeEnded() { hasExchange = false }

    /// - Parameter before: what an earlier request received of the same file.
    /// - Returns: whether to post a job that takes the progress.
    mutating func progressed(
        _ direction: Direction, _ progress: TransferProgress, after before: Int64 = 0
    ) -> Bool {
        guard phase == .running, !isCancelled else { return false }
        var lanes = self.lanes ?? Lanes()
        guard lanes[direction].add(progress, after: before) else { return false }
        let isPosted = lanes[direction].isPosted
        lanes[direction].isPosted = true
        self.lanes = lanes
        return !isPosted
    }

    /// The posted job runs.
    ///
    /// - Returns: what to deliver; nil when nothing is left.
    mutating func takeProgress(_ direction: Direction) -> TransferProgress? {
        guard phase == .running || phase == .ending, var lanes, let progress = lanes[direction].next() else {
            return nil
        }
        lanes[direction].isRunning = true
        self.lanes = lanes
        return progress
    }

    /// The posted job is done, whether or not it delivered anything.
    mutating func progressReturned(_ direction: Direction) -> ProgressAction {
        guard var lanes else { return deliverIfFree() }
        let goesOn = lanes[direction].isWaiting && (phase == .running || phase == .ending)
        lanes[direction].isRunning = false
        lanes[direction].isPosted = goesOn
        self.lanes = lanes
        return goesOn ? .postProgress : deliverIfFree()
    }

    /// A piece of the body has arrived.
    mutating func dataArrived(_ bytes: UnsafeRawBufferPointer) -> DataLane.Arrival {
        isCancelled ? .unwanted : data.append(bytes)
    }

    /// The head of an answer has arrived whose body is read.
    ///
    /// - Returns: whether to post a job that takes the data.
    mutating func bodyBegins() -> Bool { !isCancelled && data.begin() }

    /// Whether a piece of the body waits to be taken.
    var hasData: Bool { data.isWaiting && !isCancelled && (phase == .running || phase == .ending) }

    mutating func takeData(outlivesJob: Bool) -> DataLane.Taken {
        guard !isCancelled, phase == .running || phase == .ending else { return DataLane.Taken() }
        return data.take(outlivesJob: outlivesJob)
    }

    /// The exchange of a body that is read as lines or events has ended. What follows depends on the content.
    ///
    /// - Parameter isWhole: whether to tell the reader that the body is complete.
    mutating func bodyEnded(isWhole: Bool) -> BodyEndAction {
        guard !isCancelled else { return .bodyIsRead }
        let posts = isWhole && data.end()
        guard data.isBusy else { return .bodyIsRead }
        awaitsData = true
        return posts ? .postData : .awaitData
    }

    mutating func dataReturned() -> DataAction {
        if data.returned() { return .postData }
        if awaitsData {
            awaitsData = false
            return .bodyIsRead
        }
        return deliverIfFree() == .deliverResponse ? .deliverResponse : .nothing
    }

    /// The outcome is final. Waiting progress is delivered on success and dropped on failure. Waiting data is delivered
    /// unless a cancel dropped it. A running handler is waited for.
    mutating func ended(successfully: Bool) -> EndAction {
        phase = .ending
        isStarting = false
        if !successfully { dropProgress() }
        return deliverIfFree() == .deliverResponse ? .deliverResponse : .awaitProgress
    }

    /// Progress has waited long enough for a thread that does not run its mailbox. The response must not wait with it.
    mutating func progressWaitIsOver() -> ProgressAction {
        guard phase == .ending else { return .nothing }
        dropProgress()
        return deliverIfFree()
    }

    /// A decision handler is about to be called.
    ///
    /// - Returns: false when its answer no longer matters.
    mutating func decisionBegins() -> Bool {
        guard phase == .running, !isCancelled else { return false }
        callBegins()
        return true
    }

    /// The program will be called, whatever happens to the request. The response waits for that.
    mutating func callBegins() { calls += 1 }

    /// The call has returned, whether or not a decision handler answered.
    mutating func callReturned() -> ProgressAction {
        calls -= 1
        return deliverIfFree()
    }

    /// The response no longer waits for calls that have not returned.
    mutating func stopWaitingForCalls() -> ProgressAction {
        waitsForCalls = false
        isHeld = false
        return deliverIfFree()
    }

    /// Holds the response back until `releaseDelivery`: the outcome is written to disk, mapped, logged and shown to hooks
    /// first.
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
        guard phase == .ending, !isHeld, calls == 0 || !waitsForCalls, lanes?.isBusy != true, !data.isBusy else {
            return .nothing
        }
        phase = .delivering
        return .deliverResponse
    }
}
