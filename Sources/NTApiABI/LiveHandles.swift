public import CNTApi
import NTApi

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The handles that a program has not freed yet.
enum LiveHandles {
    /// Every type that a program has to free.
    private static let kinds: [(kind: ntapi_handle_kind, name: String, type: AnyObject.Type)] = [
        (NTAPI_HANDLE_KIND_REQUEST, "request", RequestBox.self),
        (NTAPI_HANDLE_KIND_RESPONSE, "response", ResponseBox.self),
        (NTAPI_HANDLE_KIND_CLIENT, "client", ClientBox.self),
        (NTAPI_HANDLE_KIND_ARGS, "args", ArgsBox.self),
        (NTAPI_HANDLE_KIND_ERROR, "error", ErrorBox.self),
        (NTAPI_HANDLE_KIND_JSON, "json", JSONBox.self),
        (NTAPI_HANDLE_KIND_JSON_ITERATOR, "json_iterator", JSONIterator.self),
        (NTAPI_HANDLE_KIND_CLASS, "class", ClassBox.self),
        (NTAPI_HANDLE_KIND_CONFIGURATION, "configuration", ConfigurationBox.self),
        (NTAPI_HANDLE_KIND_MAILBOX, "mailbox", MailboxBox.self),
        (NTAPI_HANDLE_KIND_EXECUTOR, "executor", ExecutorBox.self),
        (NTAPI_HANDLE_KIND_JOB, "job", JobBox.self),
        (NTAPI_HANDLE_KIND_DATA, "data", DataBox.self),
        (NTAPI_HANDLE_KIND_DECODED, "decoded", DecodedBox.self),
        (NTAPI_HANDLE_KIND_INTERCEPTION, "interception", InterceptionBox.self),
        (NTAPI_HANDLE_KIND_DECISION, "decision", DecisionBox.self),
        (NTAPI_HANDLE_KIND_RATE_LIMITER, "rate_limiter", RateLimiterBox.self),
        (NTAPI_HANDLE_KIND_AUTHENTICATOR, "authenticator", AuthenticatorBox.self),
        (NTAPI_HANDLE_KIND_REFRESH, "refresh", RefreshBox.self),
        (NTAPI_HANDLE_KIND_CACHE, "cache", CacheBox.self),
        (NTAPI_HANDLE_KIND_CREDENTIAL_STORAGE, "credential_storage", CredentialStorageBox.self),
        (NTAPI_HANDLE_KIND_STUB, "stub", StubBox.self),
        (NTAPI_HANDLE_KIND_STUB_RULE, "stub_rule", StubRuleBox.self),
        (NTAPI_HANDLE_KIND_RECORDER, "recorder", Recorder.self),
        (NTAPI_HANDLE_KIND_MANUAL_CLOCK, "manual_clock", ManualClock.self),
        (NTAPI_HANDLE_KIND_HEADERS, "headers", HeadersBox.self),
        (NTAPI_HANDLE_KIND_INTERCEPTOR, "interceptor", InterceptorBox.self),
        (NTAPI_HANDLE_KIND_OBSERVER, "observer", ObserverBox.self),
        (NTAPI_HANDLE_KIND_STORE, "store", StoreBox.self),
        (NTAPI_HANDLE_KIND_STORE_CALL, "store_call", StoreCallBox.self),
    ]

    /// How many of a kind, or of all kinds, are left; 0 for a number that is no kind.
    static func count(_ kind: ntapi_handle_kind) -> Int {
        kinds.lazy.filter { kind == NTAPI_HANDLE_KIND_ANY || $0.kind == kind }
            .reduce(0) { $0 + HandleSlots.count(ObjectIdentifier($1.type)) }
    }

    /// Called before the first handle is made. The report comes after the exit handlers that are registered later, which
    /// are those that end the requests, and most of the program's own.
    static func arrangeReport() {
        guard getenv("NTAPI_REPORT_HANDLES").map({ String(cString: $0) }) == "1" else { return }
        _ = process
        atexit { LiveHandles.report() }
    }

    /// The process that reports. A forked child has copies of its parent's handles, which it cannot free for it.
    private static let process = getpid()

    private static func report() {
        guard getpid() == process else { return }
        for kind in kinds {
            let left = HandleSlots.count(ObjectIdentifier(kind.type))
            if left > 0 { say("ntapi: \(left) ntapi_\(kind.name) not freed\n") }
        }
    }

    private static func say(_ line: String) {
        var line = line
        line.withUTF8 {
            // There is nobody to tell when it cannot be written.
            _ = write(STDERR_FILENO, $0.baseAddress, $0.count)
        }
    }
}

@_cdecl("ntapi_live_handles") @implementation
public func ntapi_live_handles(_ kind: ntapi_handle_kind) -> Int { LiveHandles.count(kind) }
