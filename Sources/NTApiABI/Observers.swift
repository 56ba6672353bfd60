public import CNTApi
import NTApi

/// What an `ntapi_observer` stands for: an observer that was written in C.
final class ObserverBox: Sendable {
    fileprivate let observer: CObserver

    fileprivate init(_ observer: CObserver) { self.observer = observer }
}

/// Fills an `ntapi_observation` for each event and calls the function.
private final class CObserver: APIObserver {
    /// What is known of the request in each of its events.
    private struct Known: Sendable {
        let name: String
        let command: String
        let context = Context()
    }

    /// What the function has put into the event `begun`.
    private final class Context: @unchecked Sendable {
        // Safe to share: the calls for a request come one after the other.
        @exclusivity(unchecked) var pointer: UnsafeMutableRawPointer?
    }

    let events: ObservedEvents
    private let wanted: UInt32
    private let observe: ntapi_observe_fn
    private let userData: UserData

    init(_ wanted: UInt32, _ observe: ntapi_observe_fn, _ userData: UserData) {
        self.wanted = wanted
        self.observe = observe
        self.userData = userData
        // Without the first one, nothing would be known in the others.
        events = Self.kinds.reduce(.begun) { wanted & $1.0.rawValue == 0 ? $0 : $0.union($1.1) }
    }

    private static let kinds: [(ntapi_observed, ObservedEvents)] = [
        (NTAPI_OBSERVED_WAIT_BEGINS, .waits), (NTAPI_OBSERVED_WAIT_ENDS, .waits),
        (NTAPI_OBSERVED_ATTEMPT_BEGINS, .attemptBegins), (NTAPI_OBSERVED_ATTEMPT_ENDS, .attemptEnds),
        (NTAPI_OBSERVED_CACHE, .cache), (NTAPI_OBSERVED_CIRCUIT, .circuit), (NTAPI_OBSERVED_ENDED, .ended),
    ]

    /// - Returns: the event, to be filled and told; nil when the function does not want to hear of it.
    private func event(_ kind: ntapi_observed, _ context: (any Sendable)?) -> Event? {
        guard wanted & kind.rawValue != 0, let known = context as? Known else { return nil }
        let event = Event()
        event.observation.size = MemoryLayout<ntapi_observation>.size
        event.observation.event = kind
        event.observation.context = known.context.pointer
        event.observation.request = event.text(known.name)
        event.observation.command = event.text(known.command)
        return event
    }

    private func tell(_ event: Event) {
        withUnsafeMutablePointer(to: &event.observation) { observe(userData.pointer, $0) }
    }

    // MARK: Events

    func begun(_ request: APIRequest) -> (any Sendable)? {
        let known = Known(name: request.logName, command: request.command)
        if let event = event(NTAPI_OBSERVED_BEGUN, known) {
            if let http = request.httpRequest { event.take(http) }
            tell(event)
            known.context.pointer = event.observation.context
        }
        return known
    }

    func waitBegins(_ wait: ObservedWait, _ context: (any Sendable)?) {
        guard let event = event(NTAPI_OBSERVED_WAIT_BEGINS, context) else { return }
        event.observation.wait = event.text(wait.rawValue)
        tell(event)
    }

    func waitEnds(_ wait: ObservedWait, seconds: Double, _ context: (any Sendable)?) {
        guard let event = event(NTAPI_OBSERVED_WAIT_ENDS, context) else { return }
        event.observation.wait = event.text(wait.rawValue)
        event.observation.seconds = seconds
        tell(event)
    }

    func attemptBegins(_ attempt: ObservedAttempt, _ context: (any Sendable)?) -> HTTPHeaders {
        guard let event = event(NTAPI_OBSERVED_ATTEMPT_BEGINS, context) else { return HTTPHeaders() }
        let added = AddedHeaders()
        event.take(attempt)
        event.observation.headers = event.headers(attempt.request.headers)
        event.observation.added = Unmanaged.passUnretained(added).toOpaque()
        tell(event)
        return withExtendedLifetime(added) { added.headers }
    }

    func attemptEnds(_ attempt: ObservedAttempt, _ answer: ObservedAnswer, _ context: (any Sendable)?) {
        guard let event = event(NTAPI_OBSERVED_ATTEMPT_ENDS, context) else { return }
        event.take(attempt)
        event.take(answer.status, answer.error, answer.headers, answer.metrics)
        event.observation.address = event.text(answer.address)
        event.observation.port = CInt(answer.port)
        event.observation.seconds = answer.metrics.queued + answer.metrics.total
        tell(event)
    }

    func cacheAnswered(_ outcome: CacheOutcome, _ context: (any Sendable)?) {
        guard let event = event(NTAPI_OBSERVED_CACHE, context) else { return }
        event.observation.outcome = event.text(outcome.rawValue)
        tell(event)
    }

    func circuitChanged(_ change: CircuitEvent, _ origin: String, _ context: (any Sendable)?) {
        guard let event = event(NTAPI_OBSERVED_CIRCUIT, context) else { return }
        event.observation.outcome = event.text(change.rawValue)
        event.observation.origin = event.text(origin)
        tell(event)
    }

    func ended(_ response: APIResponse, _ context: (any Sendable)?) {
        guard let event = event(NTAPI_OBSERVED_ENDED, context) else { return }
        if let http = response.request.httpRequest { event.take(http) }
        event.take(response.status, response.error, response.headers, response.metrics)
        event.observation.seconds = response.requestMetrics.elapsed
        tell(event)
    }
}

/// The headers that a function adds to an attempt.
private final class AddedHeaders {
    var headers = HTTPHeaders()
}

/// An event, and what it lends during its call.
private final class Event {
    var observation = ntapi_observation()
    private var texts: [UnsafeMutablePointer<CChar>] = []
    private var owners: [AnyObject] = []

    deinit { for text in texts { text.deallocate() } }

    func text(_ text: String) -> UnsafePointer<CChar>? {
        let copy = newText(text)
        texts.append(copy)
        return UnsafePointer(copy)
    }

    func headers(_ headers: HTTPHeaders) -> OpaquePointer? {
        let owner = HandleOwner(HeadersBox(headers))
        owners.append(owner)
        return owner.handle
    }

    func take(_ http: HTTPRequest) {
        observation.method = text(http.method)
        observation.url = text(http.url)
    }

    func take(_ attempt: ObservedAttempt) {
        take(attempt.request)
        observation.attempt = CInt(clamping: attempt.number)
        observation.reason = text(attempt.reason.rawValue)
    }

    func take(_ status: Int, _ error: APIError?, _ headers: HTTPHeaders, _ metrics: ResponseMetrics) {
        observation.status = CInt(status)
        if let error {
            let owner = HandleOwner(ErrorBox(error))
            owners.append(owner)
            observation.error = owner.handle
        }
        observation.headers = self.headers(headers)
        observation.http_version = metrics.httpVersion
        observation.connection_reused = metrics.connectionReused
        observation.queued = metrics.queued
        observation.name_lookup = metrics.nameLookup
        observation.connect = metrics.connect
        observation.tls = metrics.tls
        observation.first_byte = metrics.firstByte
        observation.total = metrics.total
        observation.bytes_sent = metrics.bytesSent
        observation.bytes_received = metrics.bytesReceived
        observation.bytes_decoded = metrics.bytesDecoded
    }
}

@_cdecl("ntapi_observer_create") @implementation
public func ntapi_observer_create(
    _ events: CInt, _ observe: ntapi_observe_fn!, _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> OpaquePointer! {
    let userData = UserData(user_data, destroy)
    guard let observe, let events = UInt32(exactly: events), events & ~NTAPI_OBSERVED_ALL.rawValue == 0 else {
        return nil
    }
    return Handles.make(ObserverBox(CObserver(events, observe, userData)))
}

@_cdecl("ntapi_observer_free") @implementation
public func ntapi_observer_free(_ observer: OpaquePointer!) { Handles.free(observer, ObserverBox.self) }

@_cdecl("ntapi_add_observer") @implementation
public func ntapi_add_observer(_ observer: OpaquePointer!) -> ntapi_status {
    with(observer, .ofProcess) { list, observer in
        list.add(observer)
        return true
    }
}

@_cdecl("ntapi_remove_observer") @implementation
public func ntapi_remove_observer(_ observer: OpaquePointer!) -> ntapi_status {
    with(observer, .ofProcess) { $0.remove($1) }
}

@_cdecl("ntapi_client_add_observer") @implementation
public func ntapi_client_add_observer(_ client: OpaquePointer!, _ observer: OpaquePointer!) -> ntapi_status {
    with(observer, observers(of: client)) { list, observer in
        list.add(observer)
        return true
    }
}

@_cdecl("ntapi_client_remove_observer") @implementation
public func ntapi_client_remove_observer(_ client: OpaquePointer!, _ observer: OpaquePointer!) -> ntapi_status {
    with(observer, observers(of: client)) { $0.remove($1) }
}

@_cdecl("ntapi_observation_add_header") @implementation
public func ntapi_observation_add_header(
    _ observed: UnsafeMutablePointer<ntapi_observation>!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status {
    guard let observed, let name = String(c: name), let value = String(c: value),
        HTTPHeaders.canBeSent(name, value)
    else { return NTAPI_STATUS_INVALID_ARGUMENT }
    guard let added = observed.pointee.added else { return NTAPI_STATUS_INVALID_STATE }
    Unmanaged<AddedHeaders>.fromOpaque(added).takeUnretainedValue().headers.set(name, value)
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_traceparent") @implementation
public func ntapi_traceparent(_ parent: UnsafePointer<CChar>!) -> UnsafeMutablePointer<CChar>! {
    newText(TraceParent.make(childOf: String(c: parent)))
}

private func observers(of client: OpaquePointer?) -> Observers? {
    Handles.get(client, ClientBox.self)?.client.observers
}

private func with(
    _ observer: OpaquePointer?, _ list: Observers?, _ body: (Observers, CObserver) -> Bool
) -> ntapi_status {
    guard let list, let box = Handles.get(observer, ObserverBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return body(list, box.observer) ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_STATE
}
