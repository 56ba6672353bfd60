import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a connection is asked before a request goes over it.
extension CurlTransfer {
    /// Whether a connection to an address may be opened: not by a mobile interface, if the client minds.
    func mayLeave(towards address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Bool {
        guard let identity = exchange.request.settings.session?.identity, !identity.allowsCellularAccess,
            let name = CellularInterface.towards(address, length, boundTo: identity.networkInterface)
        else { return true }
        state.cellularInterface = name
        return false
    }

    /// The same of a connection that is there: where it is bound to, or the system's rules, were not what they seemed to be.
    private func mayLeave(from address: UnsafePointer<CChar>?) -> Bool {
        guard exchange.request.settings.session?.identity.allowsCellularAccess == false, let address,
            let name = CellularInterface.having(String(cString: address))
        else { return true }
        state.failure = curlFailure(CURLE_COULDNT_CONNECT, cellularInterface: name).error
        return false
    }

    /// A connection is ready and the request is about to be sent. False stops it.
    func connectionIsReady(_ ends: ConnectionEnds, localAddress: UnsafePointer<CChar>?) -> Bool {
        guard mayLeave(from: localAddress), certificateIsTrusted(), beginsWithoutDoubt() else { return false }
        state.connectionsUsed += 1
        state.clocks.connected(turn.now)
        if state.connectionsUsed > 1 {
            guard maySendAgain() else { return false }
            state.assembler.restart()
        }
        if countsConnection { join(ends) }
        // Nothing of it has been sent: it starts again on another connection.
        guard !state.holds.contains(.suspended), connectionFits(ends) else {
            state.mustWait = true
            return false
        }
        // What the caller says himself is sent as it is, and nothing beside it.
        if let cookies = context?.cookies {
            state.handle?.shareCookies(cookies.sends && exchange.request.headers["cookie"] == nil)
        }
        return true
    }

    /// The story behind it: a server closes an idle connection in the moment in which a POST is written to it. libcurl sees
    /// a dead connection, takes another and sends the POST again; but the server may have acted on the first one. For
    /// a request that must not happen twice, the second connection is where we stop and say so.
    ///
    /// HTTP/2 knows one harmless case, `StreamRefusal`.
    func maySendAgain() -> Bool {
        state.handle?.wasSentAgain()
        let lastStream = state.seat.connection?.state.lastStream
        state.ticket?.lose(&state.seat)
        defer { state.refusal = StreamRefusal() }
        if exchange.request.mayBeRepeated || state.refusal.isCertain(after: lastStream) { return true }
        state.failure = APIError(
            domain: .network, code: .network,
            message: "\(origin.host):\(origin.port): the connection broke after the \(exchange.request.method) was "
                + "sent on it; the result is ambiguous: it is unknown whether the server acted on it, so it was "
                + "not sent again")
        state.failure?.failure = .reset
        return false
    }

    /// Whether the request, which libcurl gave up with its connection, can be sent again: an HTTP/2 server has said that it did
    /// nothing with it, or has said nothing at all and may get it twice.
    func wasIgnored(_ code: CURLcode) -> Bool {
        guard wasConnected, state.failure == nil, state.assembler.isEmpty, state.refusals < Self.maximumRefusals else {
            return false
        }
        let isCertain = state.refusal.isCertain(after: state.seat.connection?.state.lastStream)
        guard isCertain || (code == CURLE_HTTP2 && exchange.request.mayBeRepeated) else { return false }
        if state.bytesTaken > 0, state.source is StreamSource, state.source?.seek(to: 0) != true { return false }
        state.refusals += 1
        state.ticket?.lose(&state.seat)
        return true
    }

    /// As often as libcurl would by itself.
    private static let maximumRefusals = 5

    /// Whether the connection is this origin's, and silent. What a server sends on an idle connection (a second answer, a late
    /// 408) would be taken for the answer to this request, and the answers of all later ones would be one behind.
    private func connectionFits(_ ends: ConnectionEnds) -> Bool {
        guard let handle = state.handle, let sockets = handle.state.sockets else { return true }
        var opened = 0
        ntapi_easy_get_long(handle.easy, CURLINFO_NUM_CONNECTS, &opened)
        let isNew = opened > state.connectionsOpened
        state.connectionsOpened = opened
        state.ends = ends
        if isNew {
            sockets.didConnect(handle.state.newSockets, ends)
            handle.state.newSockets = []
            return true
        }
        // libcurl 8.14 sends plain HTTP over an open TLS connection to the same port (curl #19007).
        guard sockets.isFor(isSecure: origin.isSecure, ends) else {
            state.needsNewConnection = true
            return false
        }
        // Others that use it show that it is HTTP/2, before any answer tells.
        return (state.seat.connection?.state.streams ?? 1) > 1 || sockets.isSilent(ends)
    }

    /// Nothing has been sent yet. What libcurl has not verified is compared with what the program trusts, or shown to it.
    private func certificateIsTrusted() -> Bool {
        let trust = exchange.request.settings.trust
        guard trust != .verified, origin.scheme == "https", let easy = state.handle?.easy else { return true }
        let chain = ShownCertificates.chain(easy)
        state.handshakes += 1
        var opened = 0
        ntapi_easy_get_long(easy, CURLINFO_NUM_CONNECTS, &opened)
        switch trust {
        case .verified: return true
        case .inspected:
            state.question = .certificates(chain)
            return stop(.tls, "the server's certificate was not accepted")
        case .pinned(let leaf):
            // Each time on a connection whose handshake the chain is of: with Digest there are two.
            if chain.first == leaf, opened == state.handshakes { return true }
            state.question = .otherCertificate
            return stop(.tls, "the server's certificate is not the one that was trusted")
        }
    }

    /// A whole answer came before, which was the server's challenge, or with a body its leave to send that: what follows is
    /// no second attempt of the same, and counts anew.
    private func beginsWithoutDoubt() -> Bool {
        guard isChallenged else { return true }
        state.challengesAnswered += 1
        guard state.challengesAnswered <= Self.maximumChallenges else {
            return stop(.network, "the server calls every nonce of its Digest challenge stale")
        }
        state.assembler.restart()
        state.connectionsUsed = 0
        return true
    }

    /// Whether the server has answered, and is to get the request once more because of that.
    var isChallenged: Bool { exchange.request.digest != nil && state.assembler.head != nil }

    private static let maximumChallenges = 5
}
