/// What an exchange reports before its end, for logs and hooks.
enum ExchangeNote: Sendable {
    /// The head of a request as it was sent.
    case sent(HTTPRequest, head: String)
    /// An interim response, such as 103 (early hints).
    case information(ResponseHead)
}

/// The notes of an exchange that wait for a worker, in order, followed by the end of the exchange.
struct ExchangeNotes: Sendable {
    var waiting: [ExchangeNote] = []
    var ended: ExchangeResult?
}

// Notes arrive on the network thread, where no user code may run. A worker delivers them one after the other. If the
// exchange ends meanwhile, its end is handled after the last note, so that everything is delivered in order.
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
        if isFirst { onWorker { self.deliverNotes($0) } }
    }

    /// Whether the end of the exchange waits until its notes are delivered.
    func awaitsNotes(_ result: ExchangeResult) -> Bool {
        guard takesNotes else { return false }
        return shared.withLock { shared in
            guard shared.notes != nil else { return false }
            shared.notes?.ended = result
            // The caller may have driven the exchange on its own loop, and returns meanwhile.
            shared.transport = nil
            return true
        }
    }

    private func deliverNotes(_ deliveries: DeliveryBatch) {
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
