public import CNTApi
import NTApi

extension RetryPolicy {
    fileprivate init(c policy: UnsafePointer<ntapi_retry_policy>) throws(APIError) {
        let given = try ntapi_retry_policy(c: policy)
        var statuses = Self.standardStatuses
        if let listed = given.statuses {
            guard given.status_count > 0 else {
                throw .invalidArgument("the policy has statuses, but status_count is 0")
            }
            statuses = Set(UnsafeBufferPointer(start: listed, count: given.status_count).map { Int($0) })
        }
        let header = String(c: given.attempt_header)
        if header == nil, given.attempt_header != nil {
            throw .invalidArgument("attempt_header is not UTF-8")
        }
        self.init(
            attempts: Int(given.attempts), base: given.base, cap: given.cap,
            maximumRetryAfter: given.maximum_retry_after, statuses: statuses, networkErrors: given.network_errors,
            budget: given.budget, budgetMinimum: Int(given.budget_minimum), attemptHeader: header)
        if let problem { throw .invalidArgument(problem) }
    }
}

/// What an `ntapi_rate_limiter` stands for.
final class RateLimiterBox: Sendable {
    let limiter: RateLimiter

    init(_ limiter: RateLimiter) { self.limiter = limiter }
}

@_cdecl("ntapi_args_retry") @implementation
public func ntapi_args_retry(_ args: OpaquePointer!, _ policy: UnsafePointer<ntapi_retry_policy>!) -> ntapi_status {
    append(args) { () throws(APIError) in
        guard let policy else { return .retry(nil) }
        return .retry(try RetryPolicy(c: policy))
    }
}

@_cdecl("ntapi_args_rate_limiter") @implementation
public func ntapi_args_rate_limiter(_ args: OpaquePointer!, _ limiter: OpaquePointer!) -> ntapi_status {
    append(args) { () throws(APIError) in
        guard limiter != nil else { return .rateLimiter(nil) }
        guard let limiter = limiterOf(limiter) else { throw .wrongHandle("limiter", "a rate limiter") }
        return .rateLimiter(limiter)
    }
}

@_cdecl("ntapi_rate_limiter_create") @implementation
public func ntapi_rate_limiter_create(
    _ requests: Double, _ seconds: Double, _ burst: CInt, _ maximum_pause: Double
) -> OpaquePointer! {
    let limiter = RateLimiter(
        RateLimit(requests: requests, seconds: seconds, burst: Int(burst), maximumPause: maximum_pause))
    return limiter.problem == nil ? Handles.make(RateLimiterBox(limiter)) : nil
}

@_cdecl("ntapi_rate_limiter_free") @implementation
public func ntapi_rate_limiter_free(_ limiter: OpaquePointer!) { Handles.free(limiter, RateLimiterBox.self) }

@_cdecl("ntapi_rate_limiter_pause") @implementation
public func ntapi_rate_limiter_pause(_ limiter: OpaquePointer!, _ seconds: Double) -> ntapi_status {
    guard seconds >= 0, let limiter = limiterOf(limiter) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    limiter.pause(seconds: seconds)
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_rate_limiter_waiting") @implementation
public func ntapi_rate_limiter_waiting(_ limiter: OpaquePointer!) -> Int { limiterOf(limiter)?.waitingCount ?? 0 }

@_cdecl("ntapi_client_set_rate_limiter") @implementation
public func ntapi_client_set_rate_limiter(_ client: OpaquePointer!, _ limiter: OpaquePointer!) -> ntapi_status {
    attach(client, limiter, RateLimiterBox.self) { $0.rateLimiter = $1?.limiter }
}

private func limiterOf(_ limiter: OpaquePointer?) -> RateLimiter? {
    Handles.get(limiter, RateLimiterBox.self)?.limiter
}
