// How a request of a background session records its steps.
extension APIRequest {
    /// Records the request on disk, then sends it. On the thread that resumes, which waits for the disk.
    func start(_ background: BackgroundTransfer) {
        let outcome = background.found?.outcome
        let ambiguity = background.found?.ambiguity
        let (priority, description, readsBody) = shared.withLock {
            ($0.priority, $0.description, $0.handlers.takesBody)
        }
        do throws(APIError) {
            if outcome == nil, readsBody { throw .noDataHandlerInBackground }
            let built = outcome == nil ? try built.get() : nil
            try background.begin(
                built, command: command, priority: priority, description: description,
                sends: outcome == nil && ambiguity == nil)
            if let outcome {
                onWorker { self.finish(self.content(of: outcome), $0) }
            } else if let ambiguity {
                onWorker { self.finish(self.ending(with: ambiguity), $0) }
            } else if let built {
                enter(built)
            }
        } catch {
            // The error also ends a transfer that an earlier process left. Its record is removed once the program has
            // the error.
            if background.found != nil, error.code != .detached {
                try? background.begin(
                    nil, command: command, priority: priority, description: description, sends: false)
            }
            onWorker { self.finish(self.ending(with: error), $0) }
        }
    }

    /// The response that an earlier process delivered, or did not come to deliver.
    private func content(of outcome: BackgroundOutcome) -> ResponseContent {
        var content = ending(with: .cancelled)
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
        let isRaw = content.error == nil && (try? options.isOn(.rawData)) == true
        if content.body.count > 0, !isRaw, let parsed = try? client.parseJSON(ResponseData(bytes: content.body)) {
            content.json = parsed.json
            content.prefixText = parsed.prefixText
        }
        return content
    }

    // MARK: On the network thread

    /// A request that must not be sent twice is recorded as sent only now: while it was queued, no server had seen it.
    func exchangeMayStart() {
        guard let background else { return change(.start) }
        onWorker { _ in
            do throws(APIError) {
                try background.send()
                self.change(.start)
            } catch {
                self.change(.route(.refused(error)))
            }
        }
    }

    // MARK: On a worker

    /// Opens the temporary file for the body, and records how to resume it, before the first byte is written.
    ///
    /// The order matters: after a crash, bytes of one version of the file must never be on disk with the validator of
    /// another.
    func routeDurably(_ background: BackgroundTransfer, _ head: ResponseHead) -> BodyRoute {
        do throws(APIError) {
            let keepsBytes = shared.withLock { $0.flow.chain?.download?.download.keepsBytes(head) ?? true }
            if !keepsBytes { try background.setResumeData(nil) }
            let route = route(head)
            if !keepsBytes, case .sink = route, let http = httpRequest {
                let (download, history) = downloadSoFar
                try background.setResumeData(download?.resumeDataAtStart(http, history))
            }
            return route
        } catch {
            return .refused(error)
        }
    }

    /// The outcome is final: it is written to disk before anybody is told.
    func keepOutcome(_ background: BackgroundTransfer, _ content: ResponseContent) {
        do throws(APIError) {
            try background.end(content)
        } catch {
            log(.error, "the outcome of background transfer \(identifier) cannot be stored: \(error.message)")
        }
    }

    /// A transfer that an earlier process left is cancelled before it was resumed. Its outcome needs a record too.
    func giveUpFound() {
        guard let background, background.found != nil else { return }
        let (priority, description) = shared.withLock { ($0.priority, $0.description) }
        do throws(APIError) {
            try background.begin(nil, command: command, priority: priority, description: description, sends: false)
        } catch {
            if error.code != .detached { log(.error, error.message) }
        }
    }

    // MARK: On the handler's thread

    /// Whether the outcome is kept on disk until the program has handled it.
    package var isOfBackgroundSession: Bool { background != nil }

    /// The program begins to handle the outcome. If the process ends before it is done, the next one learns that.
    package func beginDelivery() {
        do throws(APIError) {
            try background?.beginDelivery()
        } catch {
            log(.error, "the delivery of background transfer \(identifier) cannot be recorded: \(error.message)")
        }
    }

    /// The program has handled the outcome.
    package func acknowledge() {
        do throws(APIError) {
            try background?.endDelivery()
        } catch {
            log(.error, "background transfer \(identifier) cannot be removed: \(error.message)")
        }
    }
}

extension APIError {
    fileprivate static let noDataHandlerInBackground = APIError.invalidRequest(
        "a request of a background session cannot have a data handler: the data would be lost with the process")

    static let noOtherFileInBackground = APIError.invalidRequest(
        "a request of a background session cannot become another download: its file is recorded when it begins")
}
