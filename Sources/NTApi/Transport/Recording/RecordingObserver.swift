/// Sits between an exchange and its observer, and records what passes.
final class RecordingObserver: ExchangeObserver {
    /// What the request says about an exchange.
    struct Origin: Sendable {
        let secrets: MarkedSecrets
        /// Seconds since 1970-01-01 00:00 UTC.
        let startTime: Double
        /// Whether the request wants to hear of the heads that are sent.
        let hearsHeads: Bool
    }

    /// What was sent so far.
    fileprivate struct Sent {
        var head: String?
        var body: [UInt8] = []
        var isBodyOmitted = false
        /// When the head was sent, and when the last part of the body was.
        var headMoment: MonotonicTime?
        var moment: MonotonicTime?
    }

    /// The request, with a body that is recorded while it is read.
    let request: HTTPRequest
    private let origin: Origin
    private let observer: any ExchangeObserver
    private let places: [(recorder: Recorder, place: Int)]
    private let sent: Lock<Sent>
    /// The body bytes that did not go into the result.
    private let passed: PassedBytes

    /// Reads the file of the request, if it sends one.
    ///
    /// - Returns: nil when no recorder has room.
    init?(
        _ http: HTTPRequest, _ origin: Origin, for observer: any ExchangeObserver, by recorders: [Recorder]
    ) {
        places = recorders.compactMap { recorder in recorder.place().map { (recorder, $0) } }
        guard let limit = places.map(\.recorder.limits.body).max() else { return nil }
        self.origin = origin
        self.observer = observer
        passed = PassedBytes(limit: limit)
        let sent = Lock(Sent())
        var request = http
        switch http.body {
        case .none, .multipart: break
        case .bytes(let bytes): sent.withLock { $0.add(bytes, limit) }
        case .file(let path, let length):
            if length > limit {
                sent.withLock { $0.isBodyOmitted = true }
            } else if let bytes = try? SystemFile.read(path) {
                sent.withLock { $0.add(Array(bytes.prefix(Int(length))), limit) }
            }
        case .stream(let stream): request.body = .stream(Self.listening(to: stream, sent, limit))
        }
        self.request = request
        self.sent = sent
    }

    private static func listening(to stream: BodyStream, _ sent: Lock<Sent>, _ limit: Int) -> BodyStream {
        let read: BodyStream.Read = { buffer in
            let count = try stream.read(buffer)
            if count > 0, count <= buffer.count {
                let piece = Array(buffer[..<count])
                sent.withLock { $0.add(piece, limit) }
            }
            return count
        }
        guard stream.isRewindable else { return BodyStream(length: stream.length, read: read) }
        let rewindBoth: @Sendable () -> Bool = {
            sent.withLock { sent in
                sent.body = []
                sent.isBodyOmitted = false
            }
            return stream.rewind()
        }
        return BodyStream(length: stream.length, rewind: rewindBoth, read: read)
    }

    // MARK: Observing

    func exchangeDidSend(_ bytes: Int64, of total: Int64?) { observer.exchangeDidSend(bytes, of: total) }

    func exchangeMayStart() { observer.exchangeMayStart() }

    func exchangeIsQueued(_ isQueued: Bool) { observer.exchangeIsQueued(isQueued) }

    func exchangeDidReceive(_ bytes: Int64, decoded: Int64, of total: Int64?) {
        observer.exchangeDidReceive(bytes, decoded: decoded, of: total)
    }

    func exchangeDidSendHead(_ head: String) {
        sent.withLock { sent in
            sent.head = head
            sent.headMoment = .now()
            sent.moment = sent.headMoment
        }
        if origin.hearsHeads { observer.exchangeDidSendHead(head) }
    }

    func exchangeDidSendBody() { sent.withLock { $0.moment = .now() } }

    func exchangeDidReceiveInformation(_ head: ResponseHead) { observer.exchangeDidReceiveInformation(head) }

    func exchangeDidReceiveHead(_ head: ResponseHead, _ deliveries: DeliveryBatch) -> BodyRoute {
        listened(observer.exchangeDidReceiveHead(head, deliveries))
    }

    /// The same route for a body, with recording.
    func listened(_ route: BodyRoute) -> BodyRoute {
        guard case .sink(let sink) = route else { return route }
        return .sink(ListeningSink(sink, passed))
    }

    func exchangeDidEnd(_ result: ExchangeResult, _ deliveries: DeliveryBatch) {
        if result.error?.domain != .cancelled, result.error?.code != .noStub {
            let entry = entry(result)
            for (recorder, place) in places { recorder.keep(entry, at: place) }
        }
        observer.exchangeDidEnd(result, deliveries)
    }

    private func entry(_ result: ExchangeResult) -> RecordedEntry {
        let now = MonotonicTime.now()
        let sent = sent.withLock { $0 }
        // In seconds from the start on the network, because the exchange has just ended.
        func seconds(_ moment: MonotonicTime) -> Double { result.metrics.total - now.seconds(since: moment) }
        var entry = RecordedEntry(request, origin.secrets, startTime: origin.startTime)
        entry.sentHead = sent.head
        entry.sent = sent.body
        entry.isSentOmitted = sent.isBodyOmitted
        entry.head = result.head
        entry.trailers = result.trailers
        entry.received = passed.bytes.count > 0 ? passed.bytes : result.body
        entry.isReceivedOmitted = passed.isOmitted
        entry.error = result.error
        entry.connection = result.connection ?? ConnectionFacts()
        entry.metrics = result.metrics
        entry.times =
            result.connection == nil
            ? ExchangeTimes(withoutNetwork: result.metrics)
            : ExchangeTimes(result.metrics, sentHead: sent.headMoment.map(seconds), sent: sent.moment.map(seconds))
        return entry
    }

    /// The bytes that a sink has taken. Filled on the transport's thread, like the result.
    private final class PassedBytes: @unchecked Sendable {
        // Safe to share: only the transport's own thread accesses them.
        private(set) var bytes = Bytes()
        private(set) var isOmitted = false
        private let limit: Int

        init(limit: Int) { self.limit = limit }

        func add(_ piece: UnsafeRawBufferPointer) {
            guard !isOmitted else { return }
            if piece.count > limit - bytes.count || !bytes.append(piece) {
                isOmitted = true
                bytes = .empty
            }
        }
    }

    private final class ListeningSink: BodySink {
        private let sink: any BodySink
        private let passed: PassedBytes

        init(_ sink: any BodySink, _ passed: PassedBytes) {
            self.sink = sink
            self.passed = passed
        }

        func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer {
            let answer = sink.receive(bytes, deliveries)
            if case .taken = answer { passed.add(bytes) }
            return answer
        }
    }
}

extension RecordingObserver.Sent {
    fileprivate mutating func add(_ piece: [UInt8], _ limit: Int) {
        guard !isBodyOmitted else { return }
        isBodyOmitted = piece.count > limit - body.count
        if isBodyOmitted { body = [] } else { body += piece }
    }
}
