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
                connectAgain(inSeconds: seconds, after: result, deliveries)
                return true
            case .fail(let error):
                // An HTTP error tells more of itself.
                guard result.error == nil, result.head.map({ $0.status < 300 }) ?? true else { return false }
                result.error = error
            }
        }
        complete(result, refusal: nil, deliveries)
        return true
    }

    /// There is no token for the next connection now. A stream that has run is as patient with that as with its server.
    ///
    /// - Returns: false when the request ends with the error.
    func waitsForLaterToken(_ error: APIError, _ deliveries: DeliveryBatch) -> Bool {
        guard let stream = shared.withLock({ $0.stream }), case .connectAgain(let seconds) = stream.hasNoToken(error)
        else { return false }
        connectAgain(inSeconds: seconds, after: ExchangeResult(error: error), deliveries)
        return true
    }

    private static let outOfTime = APIError(
        domain: .network, code: .timeout, message: "the total timeout of the request is over before the next connection"
    )

    private func connectAgain(inSeconds seconds: Double, after result: ExchangeResult, _ deliveries: DeliveryBatch) {
        if case .stream(let body) = httpRequest?.body, body.rewind?() != true {
            let reason = "not connected again: the body is a stream that cannot be sent twice"
            return complete(result, refusal: nil, because: reason, deliveries)
        }
        let moment = clock.now.advanced(bySeconds: seconds)
        guard shared.withLock({ moment < $0.deadline(clock.now) || $0.machine.isCancelled }) else {
            var result = result
            result.error = Self.outOfTime
            return complete(result, refusal: nil, deliveries)
        }
        logPause(seconds, after: result)
        if !pause(until: moment, then: { self.connectAgain($0) }) { finishCancelled(deliveries) }
    }

    private func logPause(_ seconds: Double, after result: ExchangeResult) {
        let problem = result.problem
        let reason = problem ?? "the server has closed the stream"
        let milliseconds = Int((seconds * 1000).rounded())
        log(problem == nil ? .info : .warn, "#\(identifier) \(reason); connects again in \(milliseconds) ms")
    }

    /// As a request of its own, with what the program has answered for the connections before.
    private func connectAgain(_ deliveries: DeliveryBatch) {
        let (stream, kept) = shared.withLock { shared in
            shared.journey.redirectsOfConnection = 0
            shared.journey.credentials = nil
            shared.journey.challenges?.connectAgain()
            return (shared.stream, shared.journey.challenges?.kept)
        }
        guard let stream, let http = kept?.http ?? httpRequest else { return }
        if !beginFirstExchange(stream.request(http)) { finishCancelled(deliveries) }
    }
}

extension APIRequest.Handlers {
    /// Whether the end of the body has to be waited for: it is read as something, or by somebody who comes and goes.
    fileprivate var isRead: Bool {
        body?.isReader == true || (format != .bytes && wantsData)
    }
}
