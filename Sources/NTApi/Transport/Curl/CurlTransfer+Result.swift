import CCurl

/// The end of an exchange: its result, its error and its metrics.
extension CurlTransfer {
    /// The result so far. It is a complete response if `code` is CURLE_OK and nothing else went wrong.
    func result(_ code: CURLcode, _ reason: APIError? = nil) -> ExchangeResult {
        var result = ExchangeResult(head: state.assembler.head, body: body, metrics: metrics)
        result.wasConnected = wasConnected
        result.isCut = state.isCut
        result.trailers = state.assembler.trailers
        if exchange.hearsHeads || exchange.isObserved { result.connection = connectionFacts }
        if let reason {
            result.error = reason
        } else if code != CURLE_OK, !state.endsWithHead, !state.isCut, !isAnsweredEarly(code) {
            // If another address was tried, too, its failure is the reason.
            let isRefused = code == CURLE_COULDNT_CONNECT && state.handle?.state.newSockets.isEmpty == true
            let forbidden = isRefused ? state.forbidden : nil
            let undecoded = code == CURLE_BAD_CONTENT_ENCODING ? unknownCoding : nil
            let reported = isTorn(code) ? CURLE_PARTIAL_FILE : code
            result.error = state.failure ?? forbidden ?? undecoded ?? curlFailure(reported).error
            result.question = question(code)
        } else if result.head == nil {
            result.error = APIError(
                domain: .network, code: .network,
                message: "\(origin.host):\(origin.port): the server did not answer with a final response",
                isRetryable: exchange.request.mayBeRepeated)
            result.error?.failure = .cutShort
        }
        if result.error == nil, !state.isCut, state.tlsEnd?.isTorn == true {
            result.error = curlFailure(CURLE_PARTIAL_FILE).error
        }
        if result.error == nil, isCutShort {
            _ = stop(.network, "the body cannot be decompressed: its compressed data is cut short")
            state.failure?.failure = .decoding
            result.error = state.failure
        }
        result.codingProblem = state.codingProblem
        if isBesideStatus, let error = result.error, error.failure == .decoding {
            result.codingProblem = error
            result.error = nil
        }
        if result.error == nil, exchange.reportsProgress { state.progress.finish(result.metrics, exchange.observer) }
        if var error = result.error {
            error.httpStatus = state.assembler.head?.status
            result.error = error
        }
        return result
    }

    /// Whether the body's TLS connection has ended without close_notify. libcurl 8.23 says that it broke.
    private func isTorn(_ code: CURLcode) -> Bool {
        code == CURLE_RECV_ERROR && state.assembler.head != nil
            && state.handle?.errorMessage.containsSubstring("unexpected eof") == true
    }

    /// Whether the server has answered and does not want the rest of the body (RFC 9113, 8.1). libcurl 7.88 then fails
    /// without a message; for other ends of a stream it has one.
    private func isAnsweredEarly(_ code: CURLcode) -> Bool {
        guard code == CURLE_HTTP2_STREAM, state.failure == nil, let handle = state.handle, handle.errorMessage.isEmpty,
            let head = state.assembler.head
        else { return false }
        var received: curl_off_t = 0
        ntapi_easy_get_offset(handle.easy, CURLINFO_SIZE_DOWNLOAD_T, &received)
        switch head.announcedLength {
        case .unknown: return true
        case .bytes(let count): return count == Int64(received)
        case .invalid: return false
        }
    }

    func timeoutError(_ clock: TimeoutClock) -> APIError {
        let isSafe = clock == .queue || clock == .connect || exchange.request.mayBeRepeated
        return .timeout(clock, state.clocks.limit(of: clock), origin, isRetryable: isSafe)
    }

    func curlFailure(_ code: CURLcode, cellularInterface: String? = nil) -> CurlFailure {
        var systemError = 0
        if let handle = state.handle { ntapi_easy_get_long(handle.easy, CURLINFO_OS_ERRNO, &systemError) }
        if state.socketError != 0 { systemError = Int(state.socketError) }
        return CurlFailure(
            code: code, text: state.handle?.errorMessage ?? "", systemError: Int32(truncatingIfNeeded: systemError),
            host: origin.host, port: origin.port, method: exchange.request.method, wasConnected: wasConnected,
            isIdempotent: exchange.request.mayBeRepeated, cellularInterface: cellularInterface)
    }

    private var metrics: ExchangeMetrics {
        var metrics = ExchangeMetrics(queued: state.clocks.queued(until: turn.now))
        guard let easy = state.handle?.easy else { return metrics }
        let reusedConnection = reusedConnection
        func number(_ info: CURLINFO) -> Int64 {
            var value: curl_off_t = 0
            ntapi_easy_get_offset(easy, info, &value)
            return Int64(value)
        }
        func seconds(_ info: CURLINFO) -> Double { Double(number(info)) / 1e6 }
        if !reusedConnection {
            metrics.nameLookup = seconds(CURLINFO_NAMELOOKUP_TIME_T)
            metrics.connect = seconds(CURLINFO_CONNECT_TIME_T)
            metrics.tls = seconds(CURLINFO_APPCONNECT_TIME_T)
        }
        metrics.firstByte = seconds(CURLINFO_STARTTRANSFER_TIME_T)
        metrics.total = seconds(CURLINFO_TOTAL_TIME_T)
        metrics.bytesSent = withoutFraming(number(CURLINFO_SIZE_UPLOAD_T))
        metrics.bytesReceived = number(CURLINFO_SIZE_DOWNLOAD_T)
        metrics.bytesDecoded = state.decodedBytes
        metrics.connectionReused = reusedConnection
        return metrics
    }

    private var connectionFacts: ConnectionFacts? {
        guard let easy = state.handle?.easy else { return nil }
        var facts = ConnectionFacts()
        var address: UnsafeMutableRawPointer?
        if ntapi_easy_get_pointer(easy, CURLINFO_PRIMARY_IP, &address) == CURLE_OK, let address {
            facts.address = String(cString: address.assumingMemoryBound(to: CChar.self))
        }
        guard wasConnected, let ends = state.ends else { return facts }
        facts.localPort = Int(ends.localPort)
        // Over a Unix socket libcurl says the port of the URL.
        if exchange.request.settings.session?.identity.route.unixSocket == nil {
            ntapi_easy_get_long(easy, CURLINFO_PRIMARY_PORT, &facts.port)
        }
        return facts
    }

    /// Whether the transfer used a connection that another one had opened.
    var reusedConnection: Bool {
        guard let easy = state.handle?.easy, wasConnected else { return false }
        var opened = 0
        ntapi_easy_get_long(easy, CURLINFO_NUM_CONNECTS, &opened)
        return opened == 0
    }

    /// What to ask the program about a transfer that failed.
    private func question(_ code: CURLcode) -> ConnectionQuestion? {
        if let question = state.question { return question }
        switch code {
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR: return .untrusted
        default:
            guard !wasConnected, let easy = state.handle?.easy, ntapi_easy_proxy_wants_basic(easy) != 0 else {
                return nil
            }
            return .proxyCredential
        }
    }
}
