/// When libcurl wants a connection for a transfer, because none that is open has room, and there may be none now.
extension CurlTransfer {
    /// Whether libcurl may open a connection. If not, the transfer fails, and `mustWait` or `failure` says why.
    func mayOpenConnection() -> Bool {
        guard countsConnection, let ticket = state.ticket else { return true }
        if isChallenged {
            ticket.leave(&state.seat)
        } else if wasConnected {
            guard maySendAgain() else { return false }
            state.assembler.restart()
            state.connectionsUsed = 0
        }
        if ticket.mayOpen(&state.seat, limit: state.connectionLimit, shares: sharesConnections) { return true }
        if state.bytesTaken > 0, state.source is StreamSource, state.source?.seek(to: 0) != true {
            state.failure = APIError(
                domain: .network, code: .network,
                message:
                    "\(origin.host):\(origin.port): the connection broke, and the body stream cannot be sent again "
                    + "from its start", isRetryable: exchange.request.mayBeRepeated)
            state.failure?.failure = .reset
            return false
        }
        state.mustWait = true
        return false
    }

    /// Is as it was before it started. Its handle is gone.
    func wait() {
        state.mustWait = false
        state.failure = nil
        state.bytesTaken = 0
        state.connectionsUsed = 0
        state.connectionsOpened = 0
        state.handshakes = 0
        state.refusal = StreamRefusal()
        state.assembler.restart()
        state.ticket?.leave(&state.seat)
        state.clocks.putBack()
    }

    func join(_ ends: ConnectionEnds) {
        guard ends.localPort > 0 else { return }
        state.ticket?.join(&state.seat, ends, shares: sharesConnections, turn.now)
        guard let connection = state.seat.connection else { return }
        // libcurl reports a GOAWAY to the exchange for which it reads from the connection, whichever that is.
        if mayBeRefused { connection.state.isListening = true }
        if connection.state.isListening { state.handle?.listen() }
    }

    /// Whether others that share its connection have heard from the server since it has: it is the answer that is slow, and
    /// not the connection that is dead.
    var connectionIsAlive: Bool {
        state.seat.connection.map { $0.state.lastActivity > state.clocks.lastActivity } ?? false
    }
}
