import CNTApi
import NTApi

/// The C type of a handle's object, and what a person wants to know, without secrets.
func described(_ object: AnyObject) -> (type: String, detail: String) {
    switch object {
    case let box as ClientBox:
        let text = box.client.description
        // Without the name of the class, which is the same for all.
        return ("client", String(text[text.index(text.firstIndex(of: " ") ?? text.startIndex, offsetBy: 1)...]))
    case let box as RequestBox: return ("request", box.request.description)
    case let box as ResponseBox: return ("response", box.description)
    case let box as ErrorBox: return ("error", "(\(box.error.domain.rawValue)) \(box.error.description)")
    case let box as HTTPRequestBox: return ("http_request", box.request.description)
    case let box as HeadersBox: return ("headers", box.description)
    case let box as JSONBox: return ("json", "\(box.json.kind.rawValue), \(box.json.count) children")
    case is JSONIterator: return ("json_iterator", "")
    case let box as ArgsBox: return ("args", box.description)
    case is ClassBox: return ("class", "")
    case is DefaultsBox: return ("defaults", "")
    case let box as ConfigurationBox: return ("configuration", box.kind.words)
    case is CookieStorageBox: return ("cookie_storage", "")
    case let box as CacheBox:
        return ("cache", "\(box.cache.currentMemoryUsage) of \(box.cache.memoryCapacity) bytes in memory")
    case is CredentialStorageBox: return ("credential_storage", "")
    case let box as DecisionBox: return ("decision", "\(box.decision.kind.rawValue) for \(box.decision.request)")
    case let box as InterceptionBox:
        let side = box.interception.response == nil ? "request" : "response"
        return (
            "interception", "\(side) of \(box.interception.httpRequest.method), \(box.interception.reason.rawValue)"
        )
    case let box as InterceptorBox: return ("interceptor", "of the scope \(box.interceptor.scope.rawValue)")
    case is ObserverBox: return ("observer", "")
    case is AuthenticatorBox: return ("authenticator", "")
    case is RefreshBox: return ("refresh", "")
    case let box as RateLimiterBox: return ("rate_limiter", "\(box.limiter), \(box.limiter.waitingCount) waiting")
    case is StoreBox: return ("store", "")
    case is StoreCallBox: return ("store_call", "")
    case is MailboxBox: return ("mailbox", "")
    case is ExecutorBox: return ("executor", "")
    case is JobBox: return ("job", "")
    case let box as DataBox: return ("data", "\(box.count) bytes")
    case is DecodedBox: return ("decoded", "")
    case let clock as ManualClock: return ("manual_clock", "\(clock.elapsed) s")
    case let box as StubBox: return ("stub", "\(box.stub.requests.count) requests")
    case let box as StubRuleBox: return ("stub_rule", box.rule?.description ?? "reply")
    case let recorder as Recorder: return ("recorder", "\(recorder.count) exchanges")
    default: return ("handle", "")
    }
}
