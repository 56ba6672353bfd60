/// When a failed request is repeated automatically, and after how long.
///
///     client.args = [.retry(.standard)]
///     client.perform("orders", args: [.json(order), .idempotencyKey(), .retry(RetryPolicy(attempts: 6, base: 1))])
///
/// Only safe repeats are made: of a request with an idempotent method (RFC 9110, 9.2.2) or an idempotency key, and of a
/// request that certainly never reached the server. All attempts share one deadline, the resource timeout.
public struct RetryPolicy: Sendable, Hashable, CustomStringConvertible {
    /// The largest number of attempts, including the first; 1 means no repeat.
    public var attempts: Int
    /// Seconds. The wait before the second attempt is random, between 0 and this value. The upper bound doubles with
    /// each attempt.
    public var base: Double
    /// The longest random wait, in seconds.
    public var cap: Double
    /// Seconds. If a server's Retry-After or retry-after-ms asks for a longer wait, the answer is delivered at once.
    public var maximumRetryAfter: Double
    /// The statuses, from 400, that lead to another attempt unless the server's header x-should-retry says otherwise.
    public var statuses: Set<Int>
    /// Whether a failed or broken connection, or a timeout other than the total one, leads to another attempt.
    public var networkErrors: Bool
    /// How many of the client's requests to the same origin may be repeated at a time, as a share from 0 to 1: with 0.2,
    /// one of five. 0 is no bound.
    ///
    /// A request whose policy has a budget counts from its start to its end. It counts as repeated once it waits for
    /// another attempt.
    public var budget: Double
    /// How many may be repeated at a time whatever `budget` says.
    public var budgetMinimum: Int
    /// The header that tells the server the number of the attempt, from 1; nil sends none.
    public var attemptHeader: String?

    /// The statuses of a failure that may pass, which are also those of a retryable error: 408 Request Timeout, 425 Too
    /// Early, 429 Too Many Requests, 500 Internal Server Error, 502 Bad Gateway, 503 Service Unavailable and 504 Gateway
    /// Timeout.
    public static let standardStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// Four attempts.
    public static let standard = RetryPolicy()

    /// One attempt: for a request of a client that has a retry policy.
    public static let never = RetryPolicy(attempts: 1)

    /// Makes a policy; by default four attempts with growing waits.
    public init(
        attempts: Int = 4, base: Double = 0.5, cap: Double = 30, maximumRetryAfter: Double = 60,
        statuses: Set<Int> = standardStatuses, networkErrors: Bool = true, budget: Double = 0, budgetMinimum: Int = 3,
        attemptHeader: String? = nil
    ) {
        self.attempts = attempts
        self.base = base
        self.cap = cap
        self.maximumRetryAfter = maximumRetryAfter
        self.statuses = statuses
        self.networkErrors = networkErrors
        self.budget = budget
        self.budgetMinimum = budgetMinimum
        self.attemptHeader = attemptHeader
    }

    public var description: String {
        guard attempts != 1 else { return "never" }
        let statuses = statuses.sorted().map { "\($0)" }.joined(separator: ", ")
        var text =
            "attempts: \(attempts), base: \(base), cap: \(cap), maximumRetryAfter: \(maximumRetryAfter), "
            + "statuses: [\(statuses)], networkErrors: \(networkErrors)"
        if budget > 0 { text += ", budget: \(budget), budgetMinimum: \(budgetMinimum)" }
        if let attemptHeader { text += ", attemptHeader: \(attemptHeader)" }
        return text
    }

    /// The upper bound of the random wait after this many attempts, in seconds. Full jitter: the wait is between 0 and
    /// this.
    func ceiling(after attempts: Int) -> Double {
        // With more doublings the cap is reached, or the base is 0.
        let doublings = min(max(attempts - 1, 0), 62)
        return min(cap, base * Double(UInt64(1) << UInt64(doublings)))
    }

    /// Why the policy is invalid; nil when it is valid.
    package var problem: String? {
        if !(1...1000).contains(attempts) { return "attempts is \(attempts): it must be from 1 to 1000" }
        for (name, seconds) in [("base", base), ("cap", cap), ("maximumRetryAfter", maximumRetryAfter)]
        where !(seconds >= 0) {
            return "\(name) is \(seconds): it must be 0 or more seconds"
        }
        if let other = statuses.first(where: { !(400...999).contains($0) }) {
            return "\(other) is among the statuses: they must be from 400 to 999"
        }
        if !(0...1).contains(budget) { return "budget is \(budget): it must be from 0 to 1" }
        if !(0...1_000_000).contains(budgetMinimum) {
            return "budgetMinimum is \(budgetMinimum): it must be from 0 to 1000000"
        }
        guard let attemptHeader, !HeaderSyntax.allows(name: attemptHeader, value: "1") else { return nil }
        return "attemptHeader is \(quoted(attemptHeader)), which is no name of a header that may be set"
    }
}

// A policy as JSON: `true`, `false`, or an object with the members that differ from the defaults.
extension RetryPolicy {
    private enum Name {
        static let all = [
            "attempts", "base", "cap", "maximum_retry_after", "statuses", "network_errors", "budget", "budget_minimum",
            "attempt_header",
        ]
    }

    /// Reads a policy. `true` is the standard policy, `false` never tries again.
    ///
    /// - Throws: what is wrong, as text to follow the name of the setting or arg.
    package init(_ json: JSON) throws(APIError) {
        self = .standard
        if let isOn = json.bool {
            if !isOn { self = .never }
            return
        }
        let wanted = "must be true, false, or an object with \(Name.all.map(quoted).joined(separator: ", "))"
        guard json.kind == .object else { throw .invalidRequest("it \(wanted)") }
        if let unknown = json.keys.first(where: { !Name.all.contains($0) }) {
            throw .invalidRequest("\(quoted(unknown)) is not part of a retry policy, which \(wanted)")
        }
        let fields = JSONFields(json: json) { .invalidRequest("\($0): \($1)") }
        if let count = try fields.optionalInteger("attempts") { attempts = Int(clamping: count) }
        if let seconds = try fields.optionalNumber("base") { base = seconds }
        if let seconds = try fields.optionalNumber("cap") { cap = seconds }
        if let seconds = try fields.optionalNumber("maximum_retry_after") { maximumRetryAfter = seconds }
        if let isOn = try fields.optionalBool("network_errors") { networkErrors = isOn }
        if let numbers = try fields.optionalIntegers("statuses") { statuses = Set(numbers) }
        if let share = try fields.optionalNumber("budget") { budget = share }
        if let count = try fields.optionalInteger("budget_minimum") { budgetMinimum = Int(clamping: count) }
        if let name = try fields.optionalString("attempt_header") { attemptHeader = name }
        if let problem { throw .invalidRequest(problem) }
    }

    /// The form that the initializer reads. An infinite wait becomes the largest number that JSON can represent.
    package var json: JSON {
        func number(_ seconds: Double) -> JSON { JSON(min(seconds, Double.greatestFiniteMagnitude)) }
        var members = [
            ("attempts", JSON(attempts)), ("base", number(base)), ("cap", number(cap)),
            ("maximum_retry_after", number(maximumRetryAfter)), ("statuses", JSON(statuses.sorted().map { JSON($0) })),
            ("network_errors", JSON(networkErrors)), ("budget", JSON(budget)), ("budget_minimum", JSON(budgetMinimum)),
        ]
        if let attemptHeader { members.append(("attempt_header", JSON(attemptHeader))) }
        return JSON(members)
    }
}
