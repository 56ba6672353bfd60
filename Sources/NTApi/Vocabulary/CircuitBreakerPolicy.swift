/// When a client stops sending requests to a server that fails, and when it tries again.
///
///     var configuration = SessionConfiguration.default
///     configuration.circuitBreaker = CircuitBreakerPolicy(failureRate: 0.5, openSeconds: 30)
///
/// Each origin has its own circuit. While it is open, requests fail at once with the code ``ErrorCode/circuitOpen``, and
/// nothing is sent. Then a few requests try the server; when all of them succeed, the circuit is closed again.
public struct CircuitBreakerPolicy: Sendable, Hashable {
    /// The share of failed exchanges that opens the circuit, above 0 and at most 1.
    public var failureRate: Double
    /// How many exchanges the window must have before the share counts.
    public var minimumCalls: Int
    /// The length of the window, in seconds.
    public var windowSeconds: Double
    /// How long the circuit stays open, in seconds.
    public var openSeconds: Double
    /// How many requests try the server after that.
    public var probes: Int
    /// The statuses, from 400, that count as failures.
    public var statuses: Set<Int>
    /// Whether a failed connection, a broken one and a timeout count as failures.
    public var networkErrors: Bool

    /// The statuses of a server that fails: 500 Internal Server Error, 502 Bad Gateway, 503 Service Unavailable and 504
    /// Gateway Timeout.
    public static let standardStatuses: Set<Int> = [500, 502, 503, 504]

    /// Makes a policy. By default the circuit opens for 30 seconds when half of at least 20 exchanges in 10 seconds have
    /// failed.
    public init(
        failureRate: Double = 0.5, minimumCalls: Int = 20, windowSeconds: Double = 10, openSeconds: Double = 30,
        probes: Int = 3, statuses: Set<Int> = standardStatuses, networkErrors: Bool = true
    ) {
        self.failureRate = failureRate
        self.minimumCalls = minimumCalls
        self.windowSeconds = windowSeconds
        self.openSeconds = openSeconds
        self.probes = probes
        self.statuses = statuses
        self.networkErrors = networkErrors
    }

    /// Why the policy is invalid; nil when it is valid.
    private var problem: String? {
        if !(failureRate > 0 && failureRate <= 1) {
            return "failure_rate is \(failureRate): it must be above 0 and at most 1"
        }
        for (name, count) in [("minimum_calls", minimumCalls), ("probes", probes)]
        where !(1...1_000_000).contains(count) {
            return "\(name) is \(count): it must be from 1 to 1000000"
        }
        for (name, seconds) in [("window_seconds", windowSeconds), ("open_seconds", openSeconds)]
        where !(seconds > 0 && seconds <= 86_400) {
            return "\(name) is \(seconds): it must be above 0 and at most 86400"
        }
        guard let other = statuses.first(where: { !(400...999).contains($0) }) else { return nil }
        return "\(other) is among the statuses: they must be from 400 to 999"
    }
}

// As a setting: `true` for the standard policy, or an object with the members that differ from it.
extension CircuitBreakerPolicy {
    private static let names = [
        "failure_rate", "minimum_calls", "window_seconds", "open_seconds", "probes", "statuses", "network_errors",
    ]

    /// Reads the value of the default `circuitBreaker`.
    ///
    /// - Returns: nil for `false`.
    /// - Throws: what is wrong with it, as text to follow the name of the setting.
    static func read(_ json: JSON) throws(APIError) -> CircuitBreakerPolicy? {
        if let isOn = json.bool { return isOn ? CircuitBreakerPolicy() : nil }
        guard json.kind == .object, json.keys.allSatisfy(names.contains) else {
            throw .invalidRequest(
                "it must be true, false, or an object with \(names.map(quoted).joined(separator: ", "))")
        }
        let fields = JSONFields(json: json) { .invalidRequest("\($0): \($1)") }
        var policy = CircuitBreakerPolicy()
        if let share = try fields.optionalNumber("failure_rate") { policy.failureRate = share }
        if let count = try fields.optionalInteger("minimum_calls") { policy.minimumCalls = Int(clamping: count) }
        if let seconds = try fields.optionalNumber("window_seconds") { policy.windowSeconds = seconds }
        if let seconds = try fields.optionalNumber("open_seconds") { policy.openSeconds = seconds }
        if let count = try fields.optionalInteger("probes") { policy.probes = Int(clamping: count) }
        if let isOn = try fields.optionalBool("network_errors") { policy.networkErrors = isOn }
        if let numbers = try fields.optionalIntegers("statuses") { policy.statuses = Set(numbers) }
        if let problem = policy.problem { throw .invalidRequest(problem) }
        return policy
    }

    /// The form that is read.
    var json: JSON {
        JSON([
            ("failure_rate", JSON(failureRate)), ("minimum_calls", JSON(minimumCalls)),
            ("window_seconds", JSON(windowSeconds)), ("open_seconds", JSON(openSeconds)), ("probes", JSON(probes)),
            ("statuses", JSON(statuses.sorted().map { JSON($0) })), ("network_errors", JSON(networkErrors)),
        ])
    }
}
