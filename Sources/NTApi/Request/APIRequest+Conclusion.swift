// The end of a request: its answer is classified, its outcome becomes final, and its handler is called.
extension APIRequest {
    /// Ends the request on the network thread, where its answer has arrived, if neither code of the program nor the
    /// disk is involved.
    ///
    /// - Returns: false when a worker must end it.
    func endAtOnce(_ result: ExchangeResult, _ deliveries: DeliveryBatch) -> Bool {
        guard let plain = plainAnswer(result) else { return false }
        let now = now
        let step = shared.withLock { shared -> Step? in
            guard shared.isPlain else { return nil }
            guard shared.flow.isPlain(result) else { return .stages }
            shared.exchangeEnded(result)
            let content = ResponseContent.Box(plain: shared.flow.history, result, plain.json, now)
            return .end(shared.conclude(content, result.metrics))
        }
        switch step {
        case nil: return false
        case .end(let way?): postResponse(way, deliveries)
        case .end(nil): break
        case .stages: passAtOnce(result, plain, deliveries)
        }
        return true
    }

    private enum Step {
        /// How the response is delivered; nil when other handlers must return first.
        case end(ResponseWay?)
        /// The answer passes the stages first.
        case stages
    }

    /// Passes an answer through the stages. They usually have nothing to say about it.
    private func passAtOnce(
        _ result: ExchangeResult, _ plain: ResponseClassifier.PlainAnswer, _ deliveries: DeliveryBatch
    ) {
        var facts = facts
        let transition = shared.withLock { shared -> RequestFlow.Transition in
            shared.exchangeEnded(result)
            guard let answer = shared.answer(result) else { return RequestFlow.Transition(next: .cancelled) }
            shared.flow.history.end(result, facts.now)
            shared.complete(&facts)
            return shared.flow.answered(answer, facts)
        }
        guard case .conclude(let answer) = transition.next, transition.effects.allSatisfy(\.isBrief) else {
            return deliveries.add(Job { self.deliver { self.carryOut(transition, $0) } })
        }
        for effect in transition.effects { perform(effect, deliveries) }
        if !commit(answer, plain, deliveries) { deliveries.add(Job { self.deliver { self.conclude(answer, $0) } }) }
    }

    /// Classifies a small, successful answer that only its handler sees.
    private func plainAnswer(_ result: ExchangeResult) -> ResponseClassifier.PlainAnswer? {
        guard hookKinds.isDisjoint(with: .ofResponses.union(.ofTransfers)), logFlags.isDisjoint(with: [.debug, .info]),
            background == nil
        else { return nil }
        return ResponseClassifier.plainAnswer(result, options)
    }

    /// Concludes a small, successful answer at once; false when that is not possible.
    func concludeAtOnce(_ answer: Answer, _ deliveries: DeliveryBatch) -> Bool {
        guard let plain = plainAnswer(answer.result) else { return false }
        return commit(answer, plain, deliveries)
    }

    private func commit(
        _ answer: Answer, _ plain: ResponseClassifier.PlainAnswer, _ deliveries: DeliveryBatch
    ) -> Bool {
        guard answer.failure == nil, answer.refusal == nil, answer.note == nil, answer.content == nil else {
            return false
        }
        let now = now
        let (isDone, way, chain) = shared.withLock { shared -> (Bool, ResponseWay?, Chain?) in
            guard shared.isPlain else { return (false, nil, nil) }
            var content = ResponseContent(shared.flow.history, now)
            content.take(answer.result)
            content.json = plain.json
            let way = shared.conclude(ResponseContent.Box(content), answer.result.metrics)
            return (true, way, shared.flow.takeChain())
        }
        withExtendedLifetime(chain) {}
        if let way { postResponse(way, deliveries) }
        return isDone
    }

    /// The answer is final. On a worker, or on the thread of a waiting caller.
    func conclude(_ answer: Answer, _ deliveries: DeliveryBatch) {
        guard !isCancelled else { return finishCancelled(deliveries) }
        // No program sees a revalidation, so no hook classifies its answer.
        if isRevalidation { return finish(ResponseContent(history, now), deliveries) }
        var content = content(of: answer)
        guard isOfThisProcess else { return }
        if var failure = answer.failure {
            if content.status > 0 { failure.httpStatus = failure.httpStatus ?? content.status }
            content.error = failure
        }
        if let note = answer.note { content.error?.message += "; \(note)" }
        if answer.result.isCut, content.error == nil { content.error = .cut(content.status) }
        finishDownload(&content, deliveries)
        if content.error == nil { completeProgress(answer.result.metrics) }
        finish(content, deliveries)
    }

    /// Classifies an answer. Hooks of the program may run.
    func content(of answer: Answer) -> ResponseContent {
        let history = history
        if var content = answer.content {
            // A stage has classified it earlier: update the times.
            content.setTimes(history, now)
            return content
        }
        // Nothing was sent.
        if answer.failure != nil, answer.result.head == nil, answer.result.error == nil {
            return ResponseContent(history, error: answer.failure, now)
        }
        return ResponseClassifier(request: self, history: history).content(of: answer.result, refusal: answer.refusal)
    }

    // If no total was announced, it is known at the end.
    private func completeProgress(_ metrics: ExchangeMetrics) {
        if metrics.bytesSent > 0 {
            report(.upload, TransferProgress(bytes: metrics.bytesSent, total: metrics.bytesSent))
        }
        // A response from the cache has no bytes on the wire; count its body.
        let received = metrics.source == .cache ? metrics.bytesDecoded : metrics.bytesReceived
        if received > 0 {
            let progress = TransferProgress(bytes: received, total: received)
            report(.download, progress, decoded: metrics.bytesDecoded)
        }
    }

    var cancelledResponse: APIResponse {
        APIResponse(request: self, ResponseContent.Box(ending(with: .cancelled)))
    }

    /// Ends the request between two exchanges.
    func finish(failing error: APIError, _ deliveries: DeliveryBatch) {
        var content = ending(with: error)
        finishDownload(&content, deliveries)
        finish(content, deliveries)
    }

    func ending(with error: APIError) -> ResponseContent {
        ResponseContent(history, error: error, now)
    }

    var history: RequestHistory { shared.withLock { $0.flow.history } }

    func finishCancelled(_ deliveries: DeliveryBatch) { finish(failing: .cancelled, deliveries) }

    /// The outcome becomes final. Called once.
    func finish(_ content: ResponseContent, _ deliveries: DeliveryBatch) {
        let clientMaps = hookKinds.contains(.mapError)
        let now = now
        var (content, maps, hasBegun) = shared.withLock { shared in
            var content = content
            // A cancel that came while the response was classified wins, unless a file is in place already: without its
            // path the program would leave that file behind.
            if shared.flow.gate.isCancelled, content.error != .cancelled, content.file == nil,
                content.temporaryFile == nil
            {
                let left = content
                content = ResponseContent(shared.flow.history, error: .cancelled, now)
                content.resumeData = left.resumeData
                content.unfinishedFile = left.unfinishedFile
            }
            let maps = content.error != nil && (clientMaps || shared.handlers.interpreter != nil)
            if !maps, background == nil { shared.content = ResponseContent.Box(content) }
            // The log line and the hooks come before the response handler. A data handler that returns meanwhile on
            // another thread would deliver the response.
            shared.flow.gate.holdDelivery()
            _ = shared.flow.gate.ended(successfully: content.error == nil)
            return (content, maps, shared.flow.history.current != nil)
        }
        // From here on a cancel is too late.
        if let background {
            content = background.completed(content, hasBegun: hasBegun)
            // Store the unmapped error: the process that delivers it maps it with its own hooks.
            keepOutcome(background, content)
        }
        if maps {
            content = mapError(content, clientMaps: clientMaps)
            guard isOfThisProcess else { return }
        }
        let box = ResponseContent.Box(content)
        if maps || background != nil { shared.withLock { $0.content = box } }
        let response = APIResponse(request: self, box)
        if !isRevalidation { RequestLog.completed(response) }
        guard isOfThisProcess else { return }
        if hookKinds.contains(.metricsCollected) {
            Delivery.run(self) { client.metricsCollected(self, response.requestMetrics) }
        }
        guard isOfThisProcess else { return }
        if hookKinds.contains(.requestCompleted) {
            Delivery.run(self) { client.requestCompleted(self, response) }
        }
        guard isOfThisProcess else { return }
        switch gate({ $0.releaseDelivery() }) {
        case .deliverResponse: postResponse(deliveries)
        case .awaitProgress: boundProgressWait()
        }
    }

    /// Shows the final error to the client and then to the service. Each may replace it.
    private func mapError(_ content: ResponseContent, clientMaps: Bool) -> ResponseContent {
        var content = content
        if clientMaps { replaceError(&content) { client.mapError($0, $1) } }
        guard isOfThisProcess else { return content }
        if let interpreter = handlers(\.interpreter) {
            replaceError(&content) { interpreter.mapError($0, $1) }
        }
        return content
    }

    private func replaceError(_ content: inout ResponseContent, _ map: (APIError, APIResponse) -> APIError) {
        guard let error = content.error else { return }
        let response = APIResponse(request: self, ResponseContent.Box(content, isJudged: true))
        var mapped = error
        Delivery.run(self) { mapped = map(error, response) }
        mapped.httpStatus = mapped.httpStatus ?? error.httpStatus
        mapped.retryAfter = mapped.retryAfter ?? error.retryAfter
        content.error = mapped
    }

    /// How long the response waits for progress that was reported before it, in seconds.
    private static let progressPatience = 5.0

    // If progress goes to a thread that never runs its mailbox, a response on another thread must not wait for ever.
    private func boundProgressWait() {
        let isBehind =
            !uploadProgressDestination.isInOrder(with: responseDestination)
            || !downloadProgressDestination.isInOrder(with: responseDestination)
        guard isBehind else { return }
        // Weak, so that the timer does not keep a finished request alive.
        runtime.engine.schedule(at: .now().advanced(bySeconds: Self.progressPatience)) { [weak self] in
            guard let self, self.gate({ $0.progressWaitIsOver() }) == .deliverResponse else {
                return
            }
            self.log(
                .warn,
                "progress was dropped: its handler's thread has not run its mailbox for \(Self.progressPatience) s")
            self.deliver { self.postResponse($0) }
        }
    }
}

extension APIError {
    /// For an answer whose body was cut off because another request was expected, and none followed.
    fileprivate static func cut(_ status: Int) -> APIError {
        APIError(
            domain: .network, code: .responseTooLarge,
            message: "only the first \(ExchangeResult.maximumUnwantedBody) bytes of the body were received, because an "
                + "answer with status \(status) is usually followed by another request", httpStatus: status)
    }
}

extension APIRequest.Shared {
    /// Whether no handler or stage needs more than the classified answer.
    fileprivate var isPlain: Bool {
        !flow.gate.isCancelled && !handlers.wantsProgress && head == nil && handlers.interpreter == nil
            && flow.chain?.reconnection == nil && flow.chain?.download == nil && flow.chain?.owed.isEmpty != false
    }

    /// Stores the outcome of a successful answer.
    ///
    /// - Returns: how to deliver the response now; nil when other handlers must return first.
    fileprivate mutating func conclude(
        _ content: ResponseContent.Box, _ metrics: ExchangeMetrics
    ) -> APIRequest.ResponseWay? {
        if metrics.bytesSent > 0 { sent = TransferProgress(bytes: metrics.bytesSent, total: metrics.bytesSent) }
        if metrics.bytesReceived > 0 {
            decoded = metrics.bytesDecoded
            received = TransferProgress(bytes: metrics.bytesReceived, total: metrics.bytesReceived)
        }
        self.content = content
        return flow.gate.ended(successfully: true) == .deliverResponse ? handlers.responseWay : nil
    }
}
