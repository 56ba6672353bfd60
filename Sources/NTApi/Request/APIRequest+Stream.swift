// Bodies that are read as lines or events, and streams of events that go on over many connections.
extension APIRequest {
    /// - Returns: the request as it is sent first.
    func startReading(_ built: BuiltRequest) -> HTTPRequest {
        let stream = shared.withLock { shared -> RequestStream? in
            guard shared.handlers.isRead else { return nil }
            let stream = RequestStream(shared.handlers.format, built.http, built.options)
            shared.stream = stream
            return stream
        }
        return stream?.request(built.http) ?? built.http
    }

    /// Whether the end of an exchange waits until its body has been read: what follows depends on what is in that.
    func awaitsReading(_ result: ExchangeResult, _ deliveries: DeliveryBatch) -> Bool {
        let action = shared.withLock { shared -> RequestMachine.BodyEndAction in
            guard let stream = shared.stream else { return .conclude }
            let isWhole = result.error == nil && shared.head != nil && stream.format == .jsonLines
            let action = shared.machine.bodyEnded(isWhole: isWhole)
            if action != .conclude {
                shared.ended = result
                // A caller that drove the exchange goes its way meanwhile.
                shared.transport = nil
            }
            return action
        }
        if action == .postData { postData(deliveries) }
        return action != .conclude
    }

    /// The body of the exchange that has ended was read, or nobody wants to read it any more.
    func concludeRead(_ deliveries: DeliveryBatch) {
        guard let result = shared.withLock({ $0.ended.take() }) else { return }
        goOn(after: result, deliveries)
    }

    /// The body makes no sense: there is no use in receiving more of it.
    func stopReading() {
        let (transport, exchange) = shared.withLock { ($0.transport, $0.exchange) }
        if let transport, let exchange { transport.cancel(exchange) }
    }

    /// What is wrong with the body, or with the answer where there should be a stream of events; and whether the stream goes
    /// on with another connection.
    func connectsAgain(after result: ExchangeResult, _ deliveries: DeliveryBatch) -> Bool {
        guard let stream = shared.withLock({ $0.stream }) else { return false }
        var result = result
        if let failure = stream.failure {
            result.error = failure
        } else {
            switch stream.ended(result.head, result.error, calendar: clock.calendarSeconds) {
            case .finish: return false
            case .connectAgain(let seconds):
                guard !pause(seconds, after: result, deliveries) else { return true }
                result.error = Self.outOfTime
            case .fail(let error):
                // An HTTP error tells more of itself.
                guard result.error == nil, result.head.map({ $0.status < 300 }) ?? true else { return false }
                result.error = error
            }
        }
        complete(result, refusal: nil, deliveries)
        return true
    }

    private static let outOfTime: APIError = {
        var error = APIError(
            domain: .network, code: .timeout,
            message: "the total timeout of the request is over before the next connection")
        error.clock = .total
        return error
    }()

    /// - Returns: false when the request is out of time before the next connection.
    private func pause(_ seconds: Double, after result: ExchangeResult, _ deliveries: DeliveryBatch) -> Bool {
        let moment = clock.now.advanced(bySeconds: seconds)
        guard shared.withLock({ moment < $0.deadline(clock.now) || $0.machine.isCancelled }) else { return false }
        logPause(seconds, after: result)
        if !pause(until: moment, then: { self.connectAgain($0) }) { finishCancelled(deliveries) }
        return true
    }

    private func logPause(_ seconds: Double, after result: ExchangeResult) {
        let problem = result.problem
        let reason = problem ?? "the server has closed the stream"
        let milliseconds = Int((seconds * 1000).rounded())
        log(problem == nil ? .info : .warn, "#\(logName) \(reason); connects again in \(milliseconds) ms")
    }

    private func connectAgain(_ deliveries: DeliveryBatch) {
        guard let stream = shared.withLock({ $0.stream }), let http = httpRequest else { return }
        if !beginExchange(stream.request(http)) { finishCancelled(deliveries) }
    }
}

extension APIRequest.Handlers {
    /// Whether the end of the body has to be waited for: it is read as something, or by somebody who comes and goes.
    fileprivate var isRead: Bool {
        body?.isReader == true || (format != .bytes && wantsData)
    }
}
