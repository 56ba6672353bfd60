/// What a request has been through so far, over all its exchanges.
struct RequestJourney: Sendable {
    var startTime = 0.0
    var started = MonotonicTime.distantFuture
    var deadline = MonotonicTime.distantFuture
    var redirects = 0
    var retries = 0
    /// How often it was sent as its retry policy counts: a replay with other credentials is no attempt of its own.
    var attempts = 1
    var queued = 0.0
    /// With an authenticator of the client's.
    var credentials: RequestCredentials?
    /// Rare and large: apart, so that a journey is small.
    private var box: Box?

    private final class Box: Sendable {
        let challenges: RequestChallenges

        init(_ challenges: RequestChallenges) { self.challenges = challenges }
    }

    var challenges: RequestChallenges? {
        get { box?.challenges }
        set { box = newValue.map(Box.init) }
    }

    /// What is sent now: the built request, or what a redirect made of it.
    var current: HTTPRequest?

    mutating func begin(_ request: HTTPRequest?) {
        startTime = wallClockSeconds()
        started = .now()
        current = request
        if let total = request?.settings.timeouts.total { deadline = started.advanced(bySeconds: total) }
    }
}
