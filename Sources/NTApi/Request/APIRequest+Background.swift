// How a request of a background session records its steps.
extension APIRequest {
    /// Records the request on disk, then sends it. On the thread that resumes, which waits for the disk.
    func start(_ background: BackgroundTransfer) throws(Forked) {
        let outcome = background.found?.outcome
        let ambiguity = background.found?.ambiguity
        let (priority, description, readsBody) = try shared.withLock {
            ($0.labels.priority, $0.labels.description, $0.handlers.takesBody)
        }
        let begun = Result { () throws(APIError) -> BuiltRequest? in
            if outcome == nil, readsBody { throw .noDataHandlerInBackground }
            let built = outcome == nil ? try built.get() : nil
            try background.begin(
                built, command: command, priority: priority, description: description,
                sends: outcome == nil && ambiguity == nil)
            return built
        }
        switch begun {
        case .success(let built):
            if let outcome {
                onWorker { (deliveries) throws(Forked) in
                    let content = try self.content(of: outcome)
                    try self.conclude(.recorded(content), at: .worker, deliveries)
                }
            } else if let ambiguity {
                concludeOnWorker(.error(ambiguity))
            } else if let built {
                try enter(built)
            }
        case .failure(let error):
            // The error also ends a transfer that an earlier process left. Its record is removed once the program has
            // the error.
            if background.found != nil, error.code != .detached {
                try? background.begin(
                    nil, command: command, priority: priority, description: description, sends: false)
            }
            concludeOnWorker(.error(error))
        }
    }

    /// The response that an earlier process delivered, or did not come to deliver.
    private func content(of outcome: BackgroundOutcome) throws(Forked) -> ResponseContent {
        var content = try content(error: .cancelled)
        content.error = outcome.error
        content.status = outcome.status
        content.headers = outcome.headers
        content.url = outcome.url
        let body = Bytes()
        if outcome.body.withUnsafeBytes({ body.append($0) }) { content.body = body }
        if let found = background?.found {
            content.startTime = found.created
            content.endTime = outcome.ended
            content.elapsed = max(0, outcome.ended - found.created)
            content.resumeData = found.resumable
            if case .download(let destination, _, _) = found.work, outcome.error == nil { content.file = destination }
        }
        let isRaw = content.error == nil && options.keepBodyRaw
        let data = ResponseData(bytes: content.body)
        if data.count > 0, !isRaw, let parsed = try Delivery.call({ try? client.parseJSON(data) }) {
            content.json = parsed.json
            content.prefixText = parsed.prefixText
        }
        // The record of an error does not have it.
        let problem = ProblemDetails(content)
        content.error?.problem = problem
        return content
    }

    // MARK: On the network thread

    /// A request that must not be sent twice is recorded as sent only now: while it was queued, no server had seen it.
    func exchangeMayStart() {
        guard let background else { return entered { () throws(Forked) in try change(.start) } }
        onWorker { (_) throws(Forked) in
            var change = ExchangeChange.start
            do throws(APIError) { try background.send() } catch { change = .route(.refused(error)) }
            try self.change(change)
        }
    }

    // MARK: On a worker

    /// Opens the temporary file for the body, and records how to resume it, before the first byte is written.
    ///
    /// The order matters: after a crash, bytes of one version of the file must never be on disk with the validator of
    /// another.
    func routeDurably(_ background: BackgroundTransfer, _ head: ResponseHead) throws(Forked) -> BodyRoute {
        let keepsBytes = try flow { $0.file?.keepsBytes(head) ?? true }
        if !keepsBytes {
            do throws(APIError) { try background.setResumeData(nil) } catch { return .refused(error) }
        }
        let route = try route(head)
        if !keepsBytes, case .sink = route, let http = httpRequest {
            let soFar = try flow { $0.downloadSoFar }
            let resumeData = soFar.flatMap { $0.download.resumeDataAtStart(http, $0.history) }
            do throws(APIError) { try background.setResumeData(resumeData) } catch { return .refused(error) }
        }
        return route
    }

    /// The outcome is final: it is written to disk before anybody is told.
    func keepOutcome(_ background: BackgroundTransfer, _ content: ResponseContent) throws(Forked) {
        do throws(APIError) {
            try background.end(content)
        } catch {
            try log(.error, "the outcome of background transfer \(identifier) cannot be stored: \(error.message)")
        }
    }

    /// A transfer that an earlier process left is cancelled before it was resumed. Its outcome needs a record too.
    func giveUpFound() throws(Forked) {
        guard let background, background.found != nil else { return }
        let (priority, description) = try shared.withLock { ($0.labels.priority, $0.labels.description) }
        do throws(APIError) {
            try background.begin(nil, command: command, priority: priority, description: description, sends: false)
        } catch {
            if error.code != .detached { try log(.error, error.message) }
        }
    }

    // MARK: On the handler's thread

    /// Whether the outcome is kept on disk until the program has handled it.
    package var isOfBackgroundSession: Bool { background != nil }

    /// The program begins to handle the outcome. If the process ends before it is done, the next one learns that.
    package func beginDelivery() { entered(beginDeliveryHere) }

    func beginDeliveryHere() throws(Forked) {
        do throws(APIError) {
            try background?.beginDelivery()
        } catch {
            try log(.error, "the delivery of background transfer \(identifier) cannot be recorded: \(error.message)")
        }
    }

    /// The program has handled the outcome.
    package func acknowledge() { entered(acknowledgeHere) }

    func acknowledgeHere() throws(Forked) {
        do throws(APIError) {
            try background?.endDelivery()
        } catch {
            try log(.error, "background transfer \(identifier) cannot be removed: \(error.message)")
        }
    }
}

extension APIError {
    fileprivate static let noDataHandlerInBackground = APIError.invalidRequest(
        "a request of a background session cannot have a data handler: the data would be lost with the process")

    static let noOtherFileInBackground = APIError.invalidRequest(
        "a request of a background session cannot become another download: its file is recorded when it begins")
}
