/// When libcurl wants a connection for a transfer, because none that is open has room, and there may be none now.
extension CurlTransfer {
    /// Whether libcurl may open a connection. If not, the transfer fails, and `mustWait` or `failure` says why.
    func mayOpenConnection() -> Bool {
        guard countsConnection, let ticket else { return true }
        if isChallenged {
            ticket.leave(&seat)
        } else if wasConnected {
            guard maySendAgain() else { return false }
            assembler.restart()
            connectionsUsed = 0
        }
        if ticket.mayOpen(&seat, limit: connectionLimit, shares: sharesConnections) { return true }
        if bytesTaken > 0, source is StreamSource, source?.seek(to: 0) != true {
            failure = APIError(
                domain: .network, code: .network,
                message:
                    "\(origin.host):\(origin.port): the connection broke, and the body stream cannot be sent again "
                    + "from its start", isRetryable: exchange.request.mayBeRepeated)
            failure?.failure = .reset
            return false
        }
        mustWait = true
        return false
    }

    /// Is as it was before it started. Its handle is gone.
    func wait() {
        mustWait = false
        failure = nil
        bytesTaken = 0
        connectionsUsed = 0
        connectionsOpened = 0
        handshakes = 0
        refusal = StreamRefusal()
        assembler.restart()
        ticket?.leave(&seat)
        clocks.putBack()
    }

    func join(_ ends: ConnectionEnds) {
        guard ends.localPort > 0 else { return }
        ticket?.join(&seat, ends, shares: sharesConnections, turn.now)
        guard let connection = seat.connection else { return }
        // libcurl reports a GOAWAY to the exchange for which it reads from the connection, whichever that is.
        if mayBeRefused { connection.isListening = true }
        if connection.isListening { handle?.listen() }
    }

    /// Whether others that share its connection have heard from the server since it has: it is the answer that is slow, and
    /// not the connection that is dead.
    var connectionIsAlive: Bool { seat.connection.map { $0.lastActivity > clocks.lastActivity } ?? false }
}
