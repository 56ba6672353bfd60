import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Checks a connection before a request is sent on it.
extension CurlTransfer {
    /// Whether a connection to an address may be opened. A client may forbid addresses, and mobile interfaces.
    func mayLeave(towards address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Bool {
        guard let identity = exchange.request.settings.session?.identity else { return true }
        if let rules = identity.rules {
            let target = IPAddress(address)
            if let objection = rules.objection(to: target) {
                state.forbidden = .notAllowed(origin, "the address \(target?.text ?? "of a Unix socket"): \(objection)")
                return false
            }
        }
        guard !identity.allowsCellularAccess,
            let name = CellularInterface.towards(address, length, boundTo: identity.networkInterface)
        else { return true }
        state.forbidden = curlFailure(CURLE_COULDNT_CONNECT, cellularInterface: name).error
        return false
    }

    /// The same check for an open connection, which may use another interface than expected from its address.
    private func mayLeave(from address: UnsafePointer<CChar>?) -> Bool {
        guard exchange.request.settings.session?.identity.allowsCellularAccess == false, let address,
            let name = CellularInterface.having(String(cString: address))
        else { return true }
        state.failure = curlFailure(CURLE_COULDNT_CONNECT, cellularInterface: name).error
        return false
    }

    /// Called when a connection is ready and the request is about to be sent. Returns false to stop it.
    func connectionIsReady(_ ends: ConnectionEnds, localAddress: UnsafePointer<CChar>?) -> Bool {
        guard mayLeave(from: localAddress), certificateIsTrusted() else { return false }
        state.connectionsUsed += 1
        state.wasSent = true
        state.clocks.connected(turn.now)
        if state.connectionsUsed > 1 {
            guard maySendAgain() else { return false }
            state.assembler.restart()
        }
        if countsConnection { join(ends) }
        // Nothing was sent: the transfer starts again, on a new connection if this one was not fit. Over HTTP/2, libcurl
        // may keep a connection that has failed, and would use it again each time.
        state.needsNewConnection = !connectionFits(ends)
        guard !state.needsNewConnection, !isInterrupted else {
            state.mustWait = true
            return false
        }
        if let cookies = context?.cookies {
            state.handle?.prepareCookies(sends: sendsCookies, accepts: cookies.accepts)
        }
        return true
    }

    /// Whether it sends the session's cookies. A caller's own Cookie header is sent unchanged.
    var sendsCookies: Bool { context?.cookies?.sends == true && exchange.request.headers["cookie"] == nil }

    /// Whether libcurl may send the request again on another connection.
    ///
    /// A server may close an idle connection while a POST is written to it. libcurl then takes another connection and
    /// sends the POST again. But the server may have processed the first one. So a request that must not be processed
    /// twice stops at its second connection, with an error that says so.
    ///
    /// HTTP/2 has one harmless case: see `StreamRefusal`.
    func maySendAgain() -> Bool {
        state.handle?.wasSentAgain()
        let lastStream = state.seat.connection?.state.lastStream
        state.ticket?.lose(&state.seat)
        defer { state.refusal = StreamRefusal() }
        if exchange.request.mayBeRepeated || state.refusal.isCertain(after: lastStream) { return true }
        state.failure = APIError(
            domain: .network, code: .network,
            message: "\(origin.host):\(origin.port): the connection broke after the \(exchange.request.method) was "
                + "sent on it; it is unknown whether the server acted on it, so it was not sent again")
        state.failure?.failure = .reset
        return false
    }

    /// Whether a request whose connection broke can be sent again. Either an HTTP/2 server said that it did not process
    /// the request, or it said nothing and the request may be repeated.
    func wasIgnored(_ code: CURLcode) -> Bool {
        guard wasConnected, state.failure == nil, state.assembler.isEmpty, state.refusals < Self.maximumRefusals else {
            return false
        }
        let isCertain = state.refusal.isCertain(after: state.seat.connection?.state.lastStream)
        guard isCertain || (code == CURLE_HTTP2 && exchange.request.mayBeRepeated) else { return false }
        guard rewinds() else { return false }
        state.refusals += 1
        state.ticket?.lose(&state.seat)
        return true
    }

    /// Whether it failed for want of a file descriptor. It is tried again after an idle connection was closed. A name
    /// look-up needs three.
    func isShort(_ code: CURLcode) -> Bool {
        guard !wasConnected, state.failure == nil, state.shortages < 3 else { return false }
        // Each look-up is a transfer of its own then.
        guard exchange.request.settings.session?.identity.route.dnsOverHTTPS == nil else { return false }
        switch code {
        case CURLE_COULDNT_CONNECT: return Descriptors.shortage(state.socketError) != nil
        case CURLE_COULDNT_RESOLVE_HOST: return Descriptors.shortage(Descriptors.lack) != nil
        default: return false
        }
    }

    /// The same number of times as libcurl itself.
    private static let maximumRefusals = 5

    /// Whether the connection belongs to this origin and has nothing to read. If the server sent bytes on the idle
    /// connection (a second answer, a late 408), they would be taken for the answer to this request, and all later
    /// answers would be one behind.
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
        guard sockets.isFor(isSecure: origin.isSecure, ends) else { return false }
        // Another exchange uses it at the same time, so it is HTTP/2, although no answer has shown that yet.
        return (state.seat.connection?.state.streams ?? 1) > 1 || sockets.isSilent(ends)
    }

    /// Compares a certificate that libcurl has not verified with the one that the program trusts, or keeps it to ask
    /// the program. Nothing was sent yet.
    private func certificateIsTrusted() -> Bool {
        let trust = exchange.request.settings.trust
        guard trust != .verified, origin.scheme == "https", let easy = state.handle?.easy else { return true }
        let chain = PeerCertificates.chain(easy)
        state.handshakes += 1
        var opened = 0
        ntapi_easy_get_long(easy, CURLINFO_NUM_CONNECTS, &opened)
        switch trust {
        case .verified: return true
        case .inspected:
            state.question = .certificates(chain)
            return stop(.tls, "the server's certificate was not accepted")
        case .pinned(let leaf):
            // The chain must come from the handshake of this connection: with Digest there may be two connections.
            if chain.first == leaf, opened == state.handshakes { return true }
            state.question = .otherCertificate
            return stop(.tls, "the server's certificate is not the one that was trusted")
        }
    }

    /// Whether the transfer was challenged, and is to be sent again with the answer.
    ///
    /// - Throws: if its body cannot be sent again.
    func isToAnswer(after code: CURLcode) throws(APIError) -> Bool {
        guard state.isChallenged, state.failure == nil else { return false }
        // Too long a body of the challenge was cut, or libcurl cannot decode it.
        guard [CURLE_OK, CURLE_WRITE_ERROR, CURLE_BAD_CONTENT_ENCODING].contains(code) else { return false }
        guard rewinds() else { throw cannotSendAgain("credentials are required") }
        return true
    }

    /// Whether the body can be sent from its start.
    private func rewinds() -> Bool {
        guard state.bytesTaken > 0, let stream = state.source as? StreamSource else { return true }
        return stream.seek(to: 0)
    }

    private func cannotSendAgain(_ reason: String) -> APIError {
        APIError(
            domain: .network, code: .network,
            message:
                "\(origin.host):\(origin.port): \(reason), and the body stream cannot be sent again from its start",
            isRetryable: exchange.request.mayBeRepeated)
    }
}

/// What happens when libcurl wants to open a connection, because no open one has room.
extension CurlTransfer {
    /// Whether libcurl may open a connection. If not, the transfer ends, and `mustWait` or `failure` says why.
    func mayOpenConnection() -> Bool {
        guard countsConnection, let ticket = state.ticket else { return true }
        if wasConnected {
            guard maySendAgain() else { return false }
            state.assembler.restart()
            state.connectionsUsed = 0
        }
        if ticket.mayOpen(&state.seat, limit: state.connectionLimit, shares: sharesConnections) { return true }
        guard rewinds() else {
            state.failure = cannotSendAgain("the connection broke")
            state.failure?.failure = .reset
            return false
        }
        state.mustWait = true
        return false
    }

    /// Resets the transfer to its state before the start. Its handle is gone.
    func wait() {
        state.mustWait = false
        state.isChallenged = false
        state.droppedBytes = 0
        state.wasSent = false
        state.failure = nil
        state.socketError = 0
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
        // libcurl reports a GOAWAY in the log of the exchange for which it happens to read the connection. So every
        // exchange on it must listen.
        if mayBeRefused { connection.state.isListening = true }
        if connection.state.isListening { state.handle?.listen() }
    }

    /// Whether another exchange on the connection has received something since this one has. Then the answer is slow,
    /// but the connection is not dead.
    var connectionIsAlive: Bool {
        state.seat.connection.map { $0.state.lastActivity > state.clocks.lastActivity } ?? false
    }
}

/// Finds out from libcurl's log that an HTTP/2 server did not process a request. A pure value: lines in, verdict out.
///
/// A server that is about to close a connection names the last stream that it processes. Later streams may be sent
/// again, whatever they are (RFC 9113, 6.8 and 8.7). nginx does this after every thousand requests. libcurl then sends
/// them again by itself, but it gives the reason only as text in its log. If that text changes, the verdict becomes
/// "not known to be refused", which is safe.
struct StreamRefusal: Equatable {
    private var stream: Int?
    private var isRefused = false

    /// Reads one line of the transfer's log.
    ///
    /// - Returns: the last stream that the server processes, if the line says so. It applies to all exchanges on the
    ///   connection, but libcurl logs it for only one of them.
    mutating func hear(_ line: UnsafeRawBufferPointer) -> Int? {
        if line.firstIndex(of: "REFUSED_STREAM") == 0
            || Self.number(after: "HTTP/2 stream ", " refused", in: line) != nil
        {
            isRefused = true
        } else if let number = Self.number(after: "Using Stream ID: ", in: line)
            ?? Self.number(after: "[HTTP/2] [", "] OPENED stream", in: line)
        {
            stream = number
            isRefused = false
        } else {
            return Self.number(after: " GOAWAY, error=", then: ", last_stream=", in: line)
        }
        return nil
    }

    /// Whether the server did not process the request.
    ///
    /// - Parameter lastStream: the last stream of the connection that the server processes.
    func isCertain(after lastStream: Int?) -> Bool {
        if isRefused { return true }
        guard let stream, let lastStream else { return false }
        return stream > lastStream
    }

    /// The decimal number between two texts, with which the line begins: as libcurl writes since 8.3.
    private static func number(
        after start: StaticString, _ end: StaticString, in line: UnsafeRawBufferPointer
    ) -> Int? {
        guard line.firstIndex(of: start) == 0, let number = number(after: start, in: line) else { return nil }
        let rest = line[start.utf8CodeUnitCount...].drop(while: \.isASCIIDigit)
        return UnsafeRawBufferPointer(rebasing: rest).firstIndex(of: end) == 0 ? number : nil
    }

    /// The decimal number after a text. With `then`, the number after that second text, which follows another number.
    private static func number(
        after text: StaticString, then other: StaticString? = nil, in line: UnsafeRawBufferPointer
    ) -> Int? {
        guard let start = line.firstIndex(of: text) else { return nil }
        let rest = UnsafeRawBufferPointer(rebasing: line[(start + text.utf8CodeUnitCount)...])
        let digits = rest.prefix(while: \.isASCIIDigit)
        guard !digits.isEmpty else { return nil }
        if let other {
            let tail = UnsafeRawBufferPointer(rebasing: rest[digits.endIndex...])
            return tail.firstIndex(of: other) == 0 ? number(after: other, in: tail) : nil
        }
        return Int(String(decoding: digits, as: UTF8.self))
    }
}

extension UnsafeRawBufferPointer {
    /// With the system's functions, because each line of libcurl's log is searched.
    fileprivate func firstIndex(of text: StaticString) -> Int? {
        guard let start = baseAddress else { return nil }
        let length = text.utf8CodeUnitCount
        var from = 0
        while let found = memchr(start + from, Int32(text.utf8Start.pointee), count - from) {
            let index = UnsafeRawPointer(found) - start
            if index + length <= count, memcmp(found, text.utf8Start, length) == 0 { return index }
            from = index + 1
        }
        return nil
    }
}
