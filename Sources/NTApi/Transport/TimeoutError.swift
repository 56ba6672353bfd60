extension APIError {
    /// One of the five clocks has run out.
    ///
    /// - Parameters:
    ///   - limit: of the clock, in seconds.
    ///   - isRetryable: whether the server cannot have acted on the request, or may do so twice.
    static func timeout(_ clock: TimeoutClock, _ limit: Double?, _ origin: Origin, isRetryable: Bool) -> APIError {
        let limit = limit.map { "\(decimal($0)) s" } ?? "its time"
        let what =
            switch clock {
            case .queue: "no connection to the host became free for \(limit)"
            case .connect: "no connection within \(limit)"
            case .idle: "no byte moved for \(limit)"
            case .attempt: "no whole answer within \(limit)"
            case .total: "the whole request took longer than \(limit)"
            }
        var error = APIError(
            domain: .network, code: .timeout,
            message: "\(what) (\(clock.rawValue) timeout, \(origin.host):\(origin.port))",
            // CURLE_OPERATION_TIMEDOUT
            transportCode: 28, isRetryable: isRetryable)
        error.clock = clock
        return error
    }
}
