// What the conclusion of a request needs from the request.
extension APIRequest {
    /// Ends the request: here if this place allows it, otherwise on a worker.
    func conclude(
        _ ending: Conclusion.Ending, at place: Conclusion.Place, _ deliveries: DeliveryBatch
    ) throws(Forked) {
        if try Conclusion.run(ending, of: self, at: place, deliveries) { return }
        deliveries.add(asJob { (deliveries) throws(Forked) in try self.conclude(ending, at: .worker, deliveries) })
    }

    func concludeOnWorker(_ ending: Conclusion.Ending) {
        onWorker { (deliveries) throws(Forked) in try self.conclude(ending, at: .worker, deliveries) }
    }

    /// The response; the error `request cancelled` while there is none.
    var finalResponse: APIResponse {
        get throws(Forked) {
            if let response { return response }
            return APIResponse(request: self, ResponseContent.Box(try content(error: .cancelled)))
        }
    }

    /// Content for a response, from what the request has been through.
    func content(error: APIError? = nil) throws(Forked) -> ResponseContent {
        let now = now
        return try flow { $0.content(error: error, now) }
    }

    /// Reads a small, successful answer that only the response handler sees; nil when a worker must classify it.
    func plainAnswer(_ result: ExchangeResult) -> PlainAnswer? {
        guard hookKinds.isDisjoint(with: .ofResponses.union(.ofTransfers)), logFlags.isDisjoint(with: [.debug, .info]),
            background == nil, observation == nil
        else { return nil }
        return ResponseClassifier.plainAnswer(result, options)
    }

    /// The same of an answer about which no stage has anything to say.
    func plainAnswer(in answer: Box<Answer>) -> PlainAnswer? {
        guard answer.value.isUnremarked else { return nil }
        if let plain = answer.value.plain { return plain }
        return plainAnswer(answer.value.result)
    }

    /// Classifies an answer. Hooks of the program may run.
    func content(of answer: Answer) throws(Forked) -> ResponseContent {
        // No program sees a revalidation, so no hook classifies its answer.
        if isRevalidation { return try content() }
        if var content = answer.content {
            // A stage has classified it earlier: update the times.
            let now = now
            try flow { $0.setTimes(of: &content, now) }
            return content
        }
        // Nothing was sent.
        if answer.failure != nil, answer.result.head == nil, answer.result.error == nil {
            return try content(error: answer.failure)
        }
        return try ResponseClassifier(request: self).content(of: answer)
    }

    // If no total was announced, it is known at the end.
    func completeProgress(_ metrics: ExchangeMetrics) throws(Forked) {
        if metrics.bytesSent > 0 {
            try report(.upload, TransferProgress(bytes: metrics.bytesSent, total: metrics.bytesSent))
        }
        let received = metrics.countedBytes
        if received > 0 {
            let progress = TransferProgress(bytes: received, total: received)
            try report(.download, progress, decoded: metrics.bytesDecoded)
        }
    }

    /// Logs the outcome and shows it to the client's hooks.
    func tellHooks(_ response: APIResponse) throws(Forked) {
        if !isRevalidation { try RequestLog.completed(response) }
        try observation?.ended(response)
        if hookKinds.contains(.metricsCollected) {
            try Delivery.run(self) { client.metricsCollected(self, response.requestMetrics) }
        }
        if hookKinds.contains(.requestCompleted) {
            try Delivery.run(self) { client.requestCompleted(self, response) }
        }
    }

    /// Shows the final error to the client and then to the service. Each may replace it.
    func mapError(_ content: ResponseContent) throws(Forked) -> ResponseContent {
        var content = content
        if hookKinds.contains(.mapError) { try replaceError(&content) { client.mapError($0, $1) } }
        if let interpreter = try handlers(\.interpreter) {
            try replaceError(&content) { interpreter.mapError($0, $1) }
        }
        return content
    }

    private func replaceError(
        _ content: inout ResponseContent, _ map: (APIError, APIResponse) -> APIError
    ) throws(Forked) {
        guard let error = content.error else { return }
        let response = APIResponse(request: self, ResponseContent.Box(content, isJudged: true))
        var mapped = try Delivery.run(self) { map(error, response) }
        mapped.httpStatus = mapped.httpStatus ?? error.httpStatus
        mapped.retryAfter = mapped.retryAfter ?? error.retryAfter
        mapped.problem = mapped.problem ?? error.problem
        content.error = mapped
    }

    /// How long the response waits for progress that was reported before it, in seconds.
    private static let progressPatience = 5.0

    // If progress goes to a thread that never runs its mailbox, a response on another thread must not wait for ever.
    func boundProgressWait() {
        let isBehind =
            !uploadProgressDestination.isInOrder(with: responseDestination)
            || !downloadProgressDestination.isInOrder(with: responseDestination)
        guard isBehind else { return }
        // Weak, so that the timer does not keep a finished request alive.
        runtime.engine.schedule(at: .now().advanced(bySeconds: Self.progressPatience)) { [weak self] in
            guard let self else { return }
            entered(stopWaitingForProgress)
        }
    }

    private func stopWaitingForProgress() throws(Forked) {
        guard try flow({ $0.progressWaitIsOver() }) == .deliverResponse else { return }
        try log(
            .warn, "progress was dropped: its handler's thread has not run its mailbox for \(Self.progressPatience) s")
        try deliver(postResponse)
    }
}
