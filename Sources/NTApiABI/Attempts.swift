public import CNTApi
import NTApi

/// What an `ntapi_retry_policy` stands for.
final class RetryPolicyBox: Sendable {
    private let state = Lock(RetryPolicy.standard, sharing: .args)

    var policy: RetryPolicy { state.withLock { $0 } }

    /// Changes nothing when the result would be invalid.
    func change(_ change: (inout RetryPolicy) -> Void) -> ntapi_status {
        state.withLock { policy in
            var changed = policy
            change(&changed)
            guard changed.problem == nil else { return NTAPI_STATUS_INVALID_ARGUMENT }
            policy = changed
            return NTAPI_STATUS_OK
        }
    }
}

/// What an `ntapi_rate_limiter` stands for.
final class RateLimiterBox: Sendable {
    let limiter: RateLimiter

    init(_ limiter: RateLimiter) { self.limiter = limiter }
}

@_cdecl("ntapi_retry_policy_create") @implementation
public func ntapi_retry_policy_create() -> OpaquePointer! { Handles.make(RetryPolicyBox()) }

@_cdecl("ntapi_retry_policy_free") @implementation
public func ntapi_retry_policy_free(_ policy: OpaquePointer!) { Handles.free(policy, RetryPolicyBox.self) }

@_cdecl("ntapi_retry_policy_set_attempts") @implementation
public func ntapi_retry_policy_set_attempts(_ policy: OpaquePointer!, _ attempts: CInt) -> ntapi_status {
    change(policy) { $0.attempts = Int(attempts) }
}

@_cdecl("ntapi_retry_policy_set_backoff") @implementation
public func ntapi_retry_policy_set_backoff(_ policy: OpaquePointer!, _ base: Double, _ cap: Double) -> ntapi_status {
    change(policy) {
        $0.base = base
        $0.cap = cap
    }
}

@_cdecl("ntapi_retry_policy_set_maximum_retry_after") @implementation
public func ntapi_retry_policy_set_maximum_retry_after(_ policy: OpaquePointer!, _ seconds: Double) -> ntapi_status {
    change(policy) { $0.maximumRetryAfter = seconds }
}

@_cdecl("ntapi_retry_policy_set_statuses") @implementation
public func ntapi_retry_policy_set_statuses(
    _ policy: OpaquePointer!, _ statuses: UnsafePointer<CInt>!, _ count: Int
) -> ntapi_status {
    guard let statuses, (1...600).contains(count) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return change(policy) { $0.statuses = Set(UnsafeBufferPointer(start: statuses, count: count).map { Int($0) }) }
}

@_cdecl("ntapi_retry_policy_set_network_errors") @implementation
public func ntapi_retry_policy_set_network_errors(_ policy: OpaquePointer!, _ network_errors: Bool) -> ntapi_status {
    change(policy) { $0.networkErrors = network_errors }
}

@_cdecl("ntapi_retry_policy_json") @implementation
public func ntapi_retry_policy_json(_ policy: OpaquePointer!) -> OpaquePointer! {
    get(policy).flatMap { Handles.make(JSONBox($0.policy.json)) }
}

@_cdecl("ntapi_args_retry") @implementation
public func ntapi_args_retry(_ args: OpaquePointer!, _ policy: OpaquePointer!) -> ntapi_status {
    append(args) { policy == nil ? .retry(nil) : get(policy).map { .retry($0.policy) } }
}

@_cdecl("ntapi_args_rate_limiter") @implementation
public func ntapi_args_rate_limiter(_ args: OpaquePointer!, _ limiter: OpaquePointer!) -> ntapi_status {
    append(args) { limiter == nil ? .rateLimiter(nil) : limiterOf(limiter).map { .rateLimiter($0) } }
}

@_cdecl("ntapi_args_idempotency_key") @implementation
public func ntapi_args_idempotency_key(_ args: OpaquePointer!) -> ntapi_status { append(args) { .idempotencyKey() } }

@_cdecl("ntapi_args_idempotency_key_value") @implementation
public func ntapi_args_idempotency_key_value(
    _ args: OpaquePointer!, _ key: UnsafePointer<CChar>!
) -> ntapi_status { append(args, key) { .idempotencyKey($0) } }

@_cdecl("ntapi_rate_limiter_create") @implementation
public func ntapi_rate_limiter_create(_ requests: Double, _ seconds: Double, _ burst: CInt) -> OpaquePointer! {
    let limiter = RateLimiter(requests: requests, seconds: seconds, burst: Int(burst))
    return limiter.problem == nil ? Handles.make(RateLimiterBox(limiter)) : nil
}

@_cdecl("ntapi_rate_limiter_free") @implementation
public func ntapi_rate_limiter_free(_ limiter: OpaquePointer!) { Handles.free(limiter, RateLimiterBox.self) }

@_cdecl("ntapi_rate_limiter_set_maximum_pause") @implementation
public func ntapi_rate_limiter_set_maximum_pause(_ limiter: OpaquePointer!, _ seconds: Double) -> ntapi_status {
    guard seconds >= 0, let limiter = limiterOf(limiter) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    limiter.setMaximumPause(seconds)
    return NTAPI_STATUS_OK
}

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

private func get(_ policy: OpaquePointer?) -> RetryPolicyBox? { Handles.get(policy, RetryPolicyBox.self) }

private func change(_ policy: OpaquePointer?, _ change: (inout RetryPolicy) -> Void) -> ntapi_status {
    get(policy)?.change(change) ?? NTAPI_STATUS_INVALID_ARGUMENT
}

private func limiterOf(_ limiter: OpaquePointer?) -> RateLimiter? {
    Handles.get(limiter, RateLimiterBox.self)?.limiter
}
