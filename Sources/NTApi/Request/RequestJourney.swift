/// What a request has been through so far, over all its exchanges.
struct RequestJourney: Sendable {
    var startTime = 0.0
    var started = MonotonicTime.distantFuture
    var deadline = MonotonicTime.distantFuture
    var redirects = 0
    /// Those of the connection that runs: a stream of events may need some for each of its connections.
    var redirectsOfConnection = 0
    var retries = 0
    /// How often it was sent as its retry policy counts: a replay with other credentials is no attempt of its own.
    var attempts = 1
    var queued = 0.0
    /// With an authenticator of the client's.
    @Boxed var credentials: RequestCredentials?
    /// Large, and rarely there: apart, so that a journey is small.
    private var box: Box?

    private final class Box: Sendable {
        let challenges: RequestChallenges?
        let transactions: [TransactionMetrics]

        init(_ challenges: RequestChallenges?, _ transactions: [TransactionMetrics]) {
            self.challenges = challenges
            self.transactions = transactions
        }
    }

    var challenges: RequestChallenges? {
        get { box?.challenges }
        set { box = Box(newValue, transactions) }
    }

    /// The exchanges that are over.
    var transactions: [TransactionMetrics] {
        get { box?.transactions ?? [] }
        set { box = Box(challenges, newValue) }
    }

    /// What is sent now: the built request, or what a redirect made of it.
    var current: HTTPRequest?

    mutating func begin(_ request: HTTPRequest?, _ clock: any WaitingClock) {
        startTime = clock.calendarSeconds
        started = clock.now
        current = request
        if let total = request?.settings.timeouts.total { deadline = started.advanced(bySeconds: total) }
    }
}
