import CCurl

/// The end of an exchange that cannot be reported yet, because it waits for the program.
struct HeldEnd {
    let exchange: Exchange
    var result: ExchangeResult
    /// Whether the program's body stream is still being read.
    var isRead: Bool
    /// Whether the observer has not decided yet where the body goes. The body is empty.
    var isUndecided: Bool

    var mayBeTold: Bool { !isRead && !isUndecided }
}

// Exchanges that are held: the program suspended them, is slower than the network, or has to decide something.
extension EngineLoop {
    func change(_ exchange: Exchange, _ change: ExchangeChange) {
        guard exchange.obeys(change) else { return }
        guard let transfer = exchange.transfer as? CurlTransfer else { return changeWithoutTransfer(exchange, change) }
        switch change {
        case .suspend(true, _): transfer.hold(.suspended)
        case .suspend(false, _): transfer.release(.suspended)
        case .release(let holds): transfer.release(holds)
        case .route(let route):
            guard transfer.setRoute(route) else { return end(transfer, CURLE_WRITE_ERROR) }
        case .start:
            guard !transfer.state.mayStart else { return }
            transfer.state.mayStart = true
            // If the exchange was suspended meanwhile, it has lost its place. It starts when the queue selects it again.
            if transfer.state.isSelected { start(transfer) }
            return
        }
        if let timer = transfer.state.timer { state.timers.update(timer, key: transfer.state.clocks.nextDeadline) }
        if transfer.state.handle != nil { return applyHolds(to: transfer) }
        // An exchange that is suspended before it starts leaves the queue. Later it joins at the end.
        let isSuspended = transfer.state.holds.contains(.suspended)
        if let ticket = transfer.state.ticket, isSuspended {
            state.hosts.remove(ticket)
            transfer.state.ticket = nil
            transfer.state.isSelected = false
        } else if transfer.state.ticket == nil, !isSuspended {
            enqueue(transfer)
        }
    }

    private func changeWithoutTransfer(_ exchange: Exchange, _ change: ExchangeChange) {
        switch (change, exchange.phase) {
        case (_, .new): exchange.changeEarly(change)
        case (.route(let route), .ended):
            changeHeldEnd(of: exchange) { end in
                end.isUndecided = false
                if case .refused(let error) = route, end.result.error == nil { end.result.error = error }
            }
        default: break
        }
    }

    /// Changes a held end, and reports it when nothing holds it any more.
    func changeHeldEnd(of exchange: Exchange, _ change: (inout HeldEnd) -> Void) {
        let key = ObjectIdentifier(exchange)
        guard var end = state.overButHeld[key] else { return }
        change(&end)
        state.overButHeld[key] = end.mayBeTold ? nil : end
        if end.mayBeTold { report(end.result, of: exchange) }
    }

    /// A body stream or a file that had no piece ready is asked again.
    func resumeUpload(of transfer: CurlTransfer) {
        // If a part of a form has no bytes yet, libcurl may send the part's headers first, and not pause. Then only a pause
        // and a resume make it ask the part again.
        if transfer.state.mime != nil, let easy = transfer.state.handle?.easy {
            let code = curl_easy_pause(easy, transfer.pauseMask | CURLPAUSE_SEND)
            guard code == CURLE_OK || code == CURLE_BAD_FUNCTION_ARGUMENT else { return end(transfer, code) }
        }
        applyHolds(to: transfer)
    }

    /// Tells libcurl what may continue.
    func applyHolds(to transfer: CurlTransfer) {
        guard let easy = transfer.state.handle?.easy else { return }
        // Nothing was sent yet: the transfer leaves its place, and gets another one when it is resumed.
        if transfer.state.holds.contains(.suspended), !transfer.wasConnected {
            return transfer.isInterrupted ? putBack(transfer) : ()
        }
        // During this call libcurl delivers what it has buffered. If we refuse that, libcurl does not end the transfer
        // itself. Code 43 means that there is nothing to pause: the transfer is over, or libcurl is about to send it
        // again.
        let code = curl_easy_pause(easy, transfer.pauseMask)
        guard code == CURLE_OK || code == CURLE_BAD_FUNCTION_ARGUMENT else { return end(transfer, code) }
        transfer.runPool()
    }
}
