/// The five clocks of an exchange. A pure value: the caller passes the time, and it says which clock ran out.
///
/// libcurl's own timeouts are not used. Its clock also runs while a transfer waits for a connection, and its error does
/// not say which limit was exceeded.
struct ExchangeClocks: Sendable {
    private enum Phase {
        case queued
        case connecting
        case transferring
    }

    private let timeouts: Timeouts
    /// The deadline of the whole request: the total clock, which includes retries and redirects.
    private var deadline: MonotonicTime
    private var begun: MonotonicTime
    private var phase = Phase.queued
    private(set) var startedAt: MonotonicTime?
    private(set) var lastActivity: MonotonicTime
    private var isHeld = false
    private var suspendedAt: MonotonicTime?

    init(begun: MonotonicTime, timeouts: Timeouts, deadline: MonotonicTime) {
        self.begun = begun
        self.timeouts = timeouts
        self.deadline = deadline
        lastActivity = begun
    }

    /// The exchange left the queue and is on the network: connect, idle and attempt begin.
    mutating func started(_ now: MonotonicTime) {
        phase = .connecting
        startedAt = now
        lastActivity = now
    }

    /// The exchange is back in the queue. Nothing of it was sent.
    mutating func putBack() {
        phase = .queued
        startedAt = nil
    }

    /// A connection is established, and the request can be sent.
    mutating func connected(_ now: MonotonicTime) {
        guard phase == .connecting else { return }
        phase = .transferring
        lastActivity = max(lastActivity, now)
    }

    /// A byte of the request's body, or of the response, moved.
    mutating func bytesMoved(_ now: MonotonicTime) { lastActivity = max(lastActivity, now) }

    /// The exchange pauses for a local reason. The clocks stop, because the server is not slow.
    mutating func hold(_ holds: Holds, _ now: MonotonicTime) {
        isHeld = true
        if holds.contains(.suspended), suspendedAt == nil { suspendedAt = now }
    }

    /// Removes holds. The time of a suspension does not count.
    mutating func release(leaving holds: Holds, _ now: MonotonicTime) {
        isHeld = !holds.isEmpty
        lastActivity = max(lastActivity, now)
        guard !holds.contains(.suspended), let since = suspendedAt else { return }
        suspendedAt = nil
        let pause = now.seconds(since: since)
        deadline = deadline.advanced(bySeconds: pause)
        begun = begun.advanced(bySeconds: pause)
        startedAt = startedAt?.advanced(bySeconds: pause)
    }

    /// The earliest moment at which a clock can run out. It moves later when bytes move.
    var nextDeadline: MonotonicTime { next.deadline }

    /// The clock that has run out, the earliest if there are several.
    func expired(_ now: MonotonicTime) -> TimeoutClock? { next.deadline <= now ? next.clock : nil }

    /// The clock's limit in seconds, for the message.
    func limit(of clock: TimeoutClock) -> Double? { timeouts[clock] }

    /// Seconds spent in the queue.
    func queued(until now: MonotonicTime) -> Double { (startedAt ?? now).seconds(since: begun) }

    private var next: (clock: TimeoutClock, deadline: MonotonicTime) {
        guard suspendedAt == nil else { return (.total, .distantFuture) }
        var next = (clock: TimeoutClock.total, deadline: deadline)
        func consider(_ clock: TimeoutClock, from start: MonotonicTime) {
            guard let seconds = timeouts[clock] else { return }
            let moment = start.advanced(bySeconds: seconds)
            // If two clocks run out together, report the narrower one.
            if moment < next.deadline || (moment == next.deadline && next.clock == .total) { next = (clock, moment) }
        }
        guard let startedAt else {
            consider(.queue, from: begun)
            return next
        }
        if phase == .connecting { consider(.connect, from: startedAt) }
        if !isHeld { consider(.idle, from: lastActivity) }
        consider(.attempt, from: startedAt)
        return next
    }
}

extension APIError {
    /// One of the five clocks has run out.
    ///
    /// - Parameters:
    ///   - limit: the clock's limit in seconds.
    ///   - isRetryable: whether the server cannot have processed the request, or may process it twice.
    static func timeout(_ clock: TimeoutClock, _ limit: Double?, _ origin: Origin, isRetryable: Bool) -> APIError {
        let limit = limit.map { "\(decimal($0)) s" } ?? "its time"
        let what =
            switch clock {
            case .queue: "no connection to the host became free for \(limit)"
            case .connect: "no connection within \(limit)"
            case .idle: "no byte moved for \(limit)"
            case .attempt: "no complete answer within \(limit)"
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
