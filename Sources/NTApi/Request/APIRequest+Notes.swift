/// What an exchange reports before its end, for logs and hooks.
enum ExchangeNote: Sendable {
    /// The head of a request as it was sent.
    case sent(HTTPRequest, head: String)
    /// An interim response, such as 103 (early hints).
    case information(ResponseHead)
    /// It waits for a connection, or no longer waits for one.
    case queued(Bool)
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

    private var takesNotes: Bool {
        hearsHeads || observation != nil || client.hookKinds.contains(.informationReceived)
    }

    func exchangeIsQueued(_ isQueued: Bool) {
        entered { () throws(Forked) in try note(.queued(isQueued)) }
    }

    func exchangeDidSendHead(_ head: String) {
        entered { () throws(Forked) in
            if let http = try flow({ $0.current }) { try note(.sent(http, head: head)) }
        }
    }

    func exchangeDidReceiveInformation(_ head: ResponseHead) {
        if takesNotes { entered { () throws(Forked) in try note(.information(head)) } }
    }

    private func note(_ note: ExchangeNote) throws(Forked) {
        let isFirst = try shared.withLock { shared in
            var notes = shared.link.notes ?? ExchangeNotes()
            notes.waiting.append(note)
            defer { shared.link.notes = notes }
            return shared.link.notes == nil
        }
        if isFirst { onWorker(deliverNotes) }
    }

    /// Whether the end of the exchange waits until its notes are delivered.
    func awaitsNotes(_ result: ExchangeResult) throws(Forked) -> Bool {
        guard takesNotes else { return false }
        return try shared.withLock { shared in
            guard shared.link.notes != nil else { return false }
            shared.link.notes?.ended = result
            // The caller may have driven the exchange on its own loop, and returns meanwhile.
            shared.link.transport = nil
            return true
        }
    }

    private func deliverNotes(_ deliveries: DeliveryBatch) throws(Forked) {
        while true {
            let (note, ended) = try shared.withLock { shared -> (ExchangeNote?, ExchangeResult?) in
                guard var notes = shared.link.notes else { return (nil, nil) }
                guard !notes.waiting.isEmpty else {
                    shared.link.notes = nil
                    return (nil, notes.ended)
                }
                let first = notes.waiting.removeFirst()
                shared.link.notes = notes
                return (first, nil)
            }
            switch note {
            case .sent(let http, let head): try RequestLog.sent(self, http, head: head)
            case .information(let head):
                try RequestLog.informed(self, head)
                guard client.hookKinds.contains(.informationReceived) else { continue }
                try Delivery.run(self) { client.informationReceived(self, status: head.status, headers: head.headers) }
            case .queued(true): try observation?.waitBegins(.connection, self)
            case .queued(false): try observation?.waitEnds(self)
            case nil:
                if let ended { try exchangeEnded(ended, at: .worker, deliveries) }
                return
            }
        }
    }
}
