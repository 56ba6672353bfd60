/// The end of a request, in three steps: *begin* makes the response's content, *commit* makes it final, and *deliver*
/// tells everybody. Each step happens once, wherever it runs.
struct Conclusion {
    /// What a request ends with: one of these.
    ///
    /// Not an enum: that would mark its references, and leak checkers see no memory behind a marked one.
    struct Ending: Sendable {
        /// The server's answer, or one in its place.
        fileprivate var answer: Box<Answer>?
        /// Nothing was sent, or it ends between two exchanges.
        fileprivate var error: Box<APIError>?
        /// What an earlier process has recorded.
        fileprivate var recorded: Box<ResponseContent>?

        static func answer(_ answer: Box<Answer>) -> Ending { Ending(answer: answer) }

        static func error(_ error: APIError) -> Ending { Ending(error: Box(error)) }

        static func recorded(_ content: ResponseContent) -> Ending { Ending(recorded: Box(content)) }

        static let cancelled = Ending.error(.cancelled)
    }

    /// Where it runs.
    enum Place {
        /// Where the answer has arrived: on a network thread, or on the thread that resumes. It must not wait there, and
        /// no code of the program runs there.
        case atOnce
        /// On a worker, or on the thread of a caller that waits for the response.
        case worker
    }

    private let request: APIRequest
    private let outcome: Outcome

    /// - Returns: false when it cannot run here; nothing has happened then.
    static func run(
        _ ending: Ending, of request: APIRequest, at place: Place, _ deliveries: DeliveryBatch
    ) throws(Forked) -> Bool {
        if place == .atOnce { return try runAtOnce(ending, of: request, deliveries) }
        let content = try content(of: ending, request, deliveries)
        let now = request.now
        let outcome = try request.shared.withLock { $0.commit(content, of: request, at: place, now) }
        try Conclusion(request: request, outcome: outcome).deliver(deliveries)
        return true
    }

    /// The same for a small answer, which concerns nobody but the response handler.
    private static func runAtOnce(
        _ ending: Ending, of request: APIRequest, _ deliveries: DeliveryBatch
    ) throws(Forked) -> Bool {
        guard let answer = ending.answer else { return false }
        // Nothing is parsed here for a worker to parse again.
        if answer.value.plain == nil, try !request.shared.withLock({ $0.isFree }) { return false }
        guard let plain = request.plainAnswer(in: answer) else { return false }
        let now = request.now
        // They may hold objects of the program, so they outlive the lock.
        var remains: RequestFlow.Remains?
        let outcome = try request.shared.withLock { shared -> Outcome? in
            guard shared.isFree else { return nil }
            remains = shared.flow.takeStages()
            return shared.conclude(answer.value.result, plain, of: request, now)
        }
        remains?.end()
        if let way = outcome?.way { try request.postResponse(way, deliveries) }
        return outcome != nil
    }

    // MARK: Begin

    /// Makes the content. Hooks of the program classify it, and a downloaded file gets its name.
    private static func content(
        of ending: Ending, _ request: APIRequest, _ deliveries: DeliveryBatch
    ) throws(Forked) -> ResponseContent {
        if let recorded = ending.recorded { return recorded.value }
        guard let answer = ending.answer?.value else {
            var content = try request.content(error: ending.error?.value)
            try request.finishDownload(&content, deliveries)
            return content
        }
        var content = try request.isCancelled ? request.content(error: .cancelled) : request.content(of: answer)
        if content.error != .cancelled { content.add(answer, of: request) }
        try request.finishDownload(&content, deliveries)
        if content.error == nil { try request.completeProgress(answer.result.metrics) }
        return content
    }

    // MARK: Commit

    /// What is left to do for an outcome that is final.
    struct Outcome {
        let content: ResponseContent.Box
        /// Whether hooks may replace the error.
        var maps = false
        /// Whether a request was sent.
        var wasSent = true
        /// How the response is delivered now; nil when other handlers must return first, or when it is held.
        var way: APIRequest.ResponseWay?
    }

    // MARK: Deliver

    private func deliver(_ deliveries: DeliveryBatch) throws(Forked) {
        var box = outcome.content
        if outcome.maps || request.background != nil {
            var content = box.content
            if let background = request.background {
                content = background.completed(content, hasBegun: outcome.wasSent)
                // Store the unmapped error: the process that delivers it maps it with its own hooks.
                try request.keepOutcome(background, content)
            }
            if outcome.maps { content = try request.mapError(content) }
            box = ResponseContent.Box(content)
            try request.shared.withLock { $0.content = box }
        }
        try request.tellHooks(APIResponse(request: request, box))
        switch try request.flow({ $0.releaseDelivery() }) {
        case .deliverResponse: try request.postResponse(deliveries)
        case .awaitProgress: request.boundProgressWait()
        }
    }
}

extension APIRequest.Shared {
    /// Begins and commits at once: makes a small answer final, which concerns nobody but the response handler.
    mutating func conclude(
        _ result: ExchangeResult, _ plain: PlainAnswer, of request: APIRequest, _ now: MonotonicTime
    ) -> Conclusion.Outcome {
        var content = flow.content(now)
        content.take(result)
        content.json = plain.json
        flow.complete(result.metrics)
        return commit(content, of: request, at: .atOnce, now)
    }

    /// From here on a cancel is too late.
    fileprivate mutating func commit(
        _ content: consuming ResponseContent, of request: APIRequest, at place: Conclusion.Place, _ now: MonotonicTime
    ) -> Conclusion.Outcome {
        let action = flow.commit(&content, holds: place == .worker, now)
        let maps = content.error != nil && (handlers.interpreter != nil || request.hookKinds.contains(.mapError))
        var outcome = Conclusion.Outcome(content: ResponseContent.Box(content), maps: maps)
        outcome.wasSent = flow.current != nil
        if !outcome.maps, request.background == nil { self.content = outcome.content }
        if action == .deliverResponse { outcome.way = handlers.responseWay }
        return outcome
    }
}

extension ResponseContent {
    /// Adds what the stages have found out about an answer.
    fileprivate mutating func add(_ answer: Answer, of request: APIRequest) {
        if var failure = answer.failure {
            if failure.code == .authentication, answer.lacksToken, answer.result.head == nil {
                failure.message +=
                    "; \(request.summary) was not sent. A request that needs no token, such as a log-in, has the option "
                    + APIOption.bypassAuthentication.name
            }
            if status > 0 { failure.httpStatus = failure.httpStatus ?? status }
            failure.problem = failure.problem ?? error?.problem
            error = failure
        }
        if let note = answer.note { error?.message += "; \(note)" }
        if answer.result.isCut, error == nil { error = .cut(status) }
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
