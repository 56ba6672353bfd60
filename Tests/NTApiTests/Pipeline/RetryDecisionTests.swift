import Testing

@testable import NTApi

@Suite struct RetryDecisionTests {
    private typealias Attempt = RetryDecision.Attempt
    private let broken = APIError(domain: .network, code: .network, message: "reset", isRetryable: true)

    private func decide(
        _ attempt: Attempt, _ policy: RetryPolicy = .standard, fraction: Double = 0.5, left: Double = 1000
    ) -> RetryDecision {
        RetryDecision.decide(policy, attempt, fraction: fraction, secondsLeft: left)
    }

    private func reason(_ decision: RetryDecision) -> String {
        if case .giveUp(let reason) = decision { reason } else { "" }
    }

    // MARK: What is tried again

    @Test(
        arguments: [
            ("7", 7), ("0", 0), ("9223372036854775807", 0x1p63), ("9223372036854775808", 0x1p63),
            ("18446744073709551616", 0x1p63), (String(repeating: "9", count: 500), 0x1p63), ("-1", nil), ("+5", 5),
            ("", nil),
            ("1e3", nil), ("soon", nil),
        ] as [(String, Double?)]) func aLongWaitIsNotNone(_ text: String, _ seconds: Double?)
    {
        let head = ResponseHead(status: 503, headers: HTTPHeaders([("Retry-After", text)]), httpVersion: 1.1)
        #expect(head.retryAfter(now: 0) == seconds)
        guard let seconds, seconds > 60 else { return }
        #expect(reason(decide(Attempt(status: 503, retryAfter: head.retryAfter(now: 0)))).contains("asks to wait"))
    }

    /// The retryable errors, and only these, are retried.
    @Test func theStandardStatusesAreTheRetryableOnes() {
        for status in 400...999 {
            let isRepeated = decide(Attempt(status: status)) != .stand
            #expect(isRepeated == HTTPStatus.isPassing(status), "\(status)")
            #expect(isRepeated == [408, 425, 429, 500, 502, 503, 504].contains(status), "\(status)")
        }
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504]) func statusesThatPass(_ status: Int) {
        #expect(decide(Attempt(status: status)) == .retry(afterSeconds: 0.25))
    }

    @Test(arguments: [200, 204, 301, 304, 400, 401, 404, 409, 501, 505, 507]) func statusesThatStand(_ status: Int) {
        #expect(decide(Attempt(status: status)) == .stand)
    }

    @Test func ownStatuses() {
        let policy = RetryPolicy(statuses: [409, 520])
        #expect(decide(Attempt(status: 409), policy) == .retry(afterSeconds: 0.25))
        #expect(decide(Attempt(status: 503), policy) == .stand)
    }

    @Test func networkErrorsThatMayPass() {
        #expect(decide(Attempt(error: broken)) == .retry(afterSeconds: 0.25))
        #expect(decide(Attempt(error: broken), RetryPolicy(networkErrors: false)) == .stand)
        let certificate = APIError(domain: .network, code: .tls, message: "expired")
        #expect(decide(Attempt(error: certificate)) == .stand)
        let wrong = APIError(domain: .request, code: .invalidRequest, isRetryable: true)
        #expect(decide(Attempt(error: wrong)) == .stand)
    }

    /// The connection broke after a complete head. The error counts, not the status.
    @Test func aBrokenBodyIsANetworkError() {
        #expect(decide(Attempt(status: 200, error: broken)) == .retry(afterSeconds: 0.25))
        let ambiguous = APIError(domain: .network, code: .network, message: "ambiguous")
        #expect(decide(Attempt(status: 503, error: ambiguous)) == .stand)
    }

    @Test func withoutAPolicyNothingIs() {
        #expect(decide(Attempt(status: 503), .never) == .stand && decide(Attempt(error: broken), .never) == .stand)
    }

    // MARK: What is not, and why

    @Test func onlyWhatMayBeSentTwice() {
        let post = Attempt(status: 503, method: "POST", mayBeRepeated: false)
        #expect(
            decide(post)
                == .giveUp("not sent again: a POST is not idempotent, and has no idempotency key"))
        #expect(decide(Attempt(status: 503, method: "POST", mayBeRepeated: true)) == .retry(afterSeconds: 0.25))
        // The error says that the server never got the request, so any request may be sent again.
        #expect(decide(Attempt(error: broken, method: "POST", mayBeRepeated: false)) == .retry(afterSeconds: 0.25))
    }

    @Test func aSpentStream() {
        #expect(
            decide(Attempt(status: 503, hasSpentBody: true))
                == .giveUp("not sent again: the body is a stream that cannot be sent twice"))
        #expect(decide(Attempt(status: 400, hasSpentBody: true)) == .stand)
    }

    @Test func whatWasDelivered() {
        #expect(
            decide(Attempt(error: broken, wasDelivered: true))
                == .giveUp("not sent again: a part of the body has been delivered"))
    }

    @Test func attemptsEnd() {
        let policy = RetryPolicy(attempts: 3)
        #expect(decide(Attempt(number: 2, status: 503), policy) == .retry(afterSeconds: 0.5))
        #expect(decide(Attempt(number: 3, status: 503), policy) == .giveUp("sent 3 times"))
    }

    // MARK: How long the wait is

    @Test func fullJitterDoubles() {
        let policy = RetryPolicy(attempts: 1000, base: 1, cap: 10)
        let ceilings = (1...6).map { policy.ceiling(after: $0) }
        #expect(ceilings == [1, 2, 4, 8, 10, 10])
        for (number, ceiling) in zip(1..., ceilings) {
            #expect(decide(Attempt(number: number, status: 503), policy, fraction: 0) == .retry(afterSeconds: 0))
            #expect(decide(Attempt(number: number, status: 503), policy, fraction: 1) == .retry(afterSeconds: ceiling))
        }
        #expect(policy.ceiling(after: 999) == 10 && policy.ceiling(after: .max) == 10)
        #expect(RetryPolicy(base: 0).ceiling(after: 900) == 0)
    }

    @Test func theServerSaysWhen() {
        #expect(decide(Attempt(status: 429, retryAfter: 7)) == .retry(afterSeconds: 7))
        // The random pause may be longer than the server asks for.
        #expect(decide(Attempt(number: 3, status: 429, retryAfter: 1), fraction: 1) == .retry(afterSeconds: 2))
        #expect(decide(Attempt(status: 429, retryAfter: 60)) == .retry(afterSeconds: 60))
    }

    @Test func notForEver() {
        #expect(
            decide(Attempt(status: 429, retryAfter: 61))
                == .giveUp("not sent again: the server asks to wait 61 s, but the policy allows 60 s"))
        #expect(
            decide(Attempt(status: 429, retryAfter: 61), RetryPolicy(maximumRetryAfter: 100))
                == .retry(afterSeconds: 61))
        #expect(decide(Attempt(status: 429, retryAfter: 0.5), RetryPolicy(maximumRetryAfter: 0)) != .stand)
        let far = reason(decide(Attempt(status: 429, retryAfter: 1e300), RetryPolicy(maximumRetryAfter: 1)))
        #expect(far == "not sent again: the server asks to wait for ever, but the policy allows 1 s")
        #expect(
            reason(decide(Attempt(status: 429, retryAfter: 1e300), RetryPolicy(maximumRetryAfter: .infinity)))
                .hasASCIIPrefix("not sent again: the wait of for ever would end after the total timeout"))
    }

    @Test func oneDeadlineOverAll() {
        #expect(decide(Attempt(status: 503), fraction: 1, left: 0.501) == .retry(afterSeconds: 0.5))
        #expect(
            decide(Attempt(status: 503), fraction: 1, left: 0.5)
                == .giveUp("not sent again: the wait of 0.5 s would end after the total timeout, in 0.5 s"))
        #expect(decide(Attempt(status: 503), fraction: 0, left: 0) != .retry(afterSeconds: 0))
        #expect(decide(Attempt(status: 429, retryAfter: 60), left: .infinity) == .retry(afterSeconds: 60))
    }

    // MARK: Policies

    @Test(arguments: [
        (RetryPolicy(attempts: 0), "attempts is 0"), (RetryPolicy(attempts: 1001), "attempts is 1001"),
        (RetryPolicy(base: -1), "base is -1.0"), (RetryPolicy(cap: .nan), "cap is nan"),
        (RetryPolicy(maximumRetryAfter: -.infinity), "maximumRetryAfter is -inf"),
        (RetryPolicy(statuses: [503, 200]), "200 is among the statuses"),
    ]) func problemsAreNamed(_ policy: RetryPolicy, _ text: String) {
        #expect(policy.problem?.hasASCIIPrefix(text) == true)
    }

    @Test func policiesAsJSON() throws {
        #expect(try RetryPolicy(JSON(true)) == .standard && RetryPolicy(JSON(false)) == .never)
        #expect(try RetryPolicy([:]) == .standard)
        let policy = RetryPolicy(
            attempts: 7, base: 0.1, cap: 3, maximumRetryAfter: 5, statuses: [429, 503], networkErrors: false)
        #expect(try RetryPolicy(policy.json) == policy)
        #expect(try RetryPolicy(RetryPolicy(cap: .infinity).json).cap == .greatestFiniteMagnitude)
        #expect(thrown { _ = try RetryPolicy(["tries": 3]) }?.message.hasASCIIPrefix("\"tries\" is not part") == true)
        #expect(thrown { _ = try RetryPolicy(["attempts": "3"]) }?.message == "attempts: it is not an integer")
        #expect(thrown { _ = try RetryPolicy(["attempts": 0]) }?.message.hasASCIIPrefix("attempts is 0") == true)
        #expect(thrown { _ = try RetryPolicy(["statuses": ["x"]]) }?.message == "statuses: they must be whole numbers")
        #expect(
            thrown { _ = try RetryPolicy(JSON(3)) }?.message.hasASCIIPrefix("it must be true, false, or an object")
                == true)
    }
}
