/// What an exchange shows of itself before it ends, to whoever watches.
enum ExchangeNote: Sendable {
    /// The head of a request as it went out.
    case sent(HTTPRequest, head: String)
    /// An interim answer: 103, early hints, say.
    case information(ResponseHead)
}

/// The notes of an exchange that wait for a worker, in order, and its end behind them.
struct ExchangeNotes: Sendable {
    var waiting: [ExchangeNote] = []
    var ended: ExchangeResult?
}

// Notes come on the network thread, where no code of the user may run. A worker tells them one after the other; when the
// exchange ends meanwhile, its end is dealt with behind the last one, so that what is told stays in order.
extension APIRequest {
    var hearsHeads: Bool { logFlags.contains(.debug) }

    private var takesNotes: Bool { hearsHeads || client.hookKinds.contains(.informationReceived) }

    func exchangeDidSendHead(_ head: String) {
        guard let http = shared.withLock({ $0.flow.history.current }) else { return }
        note(.sent(http, head: head))
    }

    func exchangeDidReceiveInformation(_ head: ResponseHead) {
        if takesNotes { note(.information(head)) }
    }

    private func note(_ note: ExchangeNote) {
        let isFirst = shared.withLock { shared in
            var notes = shared.notes ?? ExchangeNotes()
            notes.waiting.append(note)
            defer { shared.notes = notes }
            return shared.notes == nil
        }
        if isFirst { onWorker { self.tellNotes($0) } }
    }

    /// Whether the end of the exchange waits until its notes are told.
    func awaitsNotes(_ result: ExchangeResult) -> Bool {
        guard takesNotes else { return false }
        return shared.withLock { shared in
            guard shared.notes != nil else { return false }
            shared.notes?.ended = result
            // As when the program is asked something: a caller that drove the exchange goes its way meanwhile.
            shared.transport = nil
            return true
        }
    }

    private func tellNotes(_ deliveries: DeliveryBatch) {
        while true {
            let (note, ended) = shared.withLock { shared -> (ExchangeNote?, ExchangeResult?) in
                guard var notes = shared.notes else { return (nil, nil) }
                guard !notes.waiting.isEmpty else {
                    shared.notes = nil
                    return (nil, notes.ended)
                }
                let first = notes.waiting.removeFirst()
                shared.notes = notes
                return (first, nil)
            }
            switch note {
            case .sent(let http, let head): RequestLog.sent(self, http, head: head)
            case .information(let head):
                RequestLog.informed(self, head)
                guard client.hookKinds.contains(.informationReceived) else { continue }
                Delivery.run(self) { client.informationReceived(self, status: head.status, headers: head.headers) }
            case nil:
                if let ended { exchangeEnded(ended, deliveries) }
                return
            }
        }
    }
}
