public import CNTApi
import NTApi

/// The event that a request in pull style puts into a mailbox.
final class EventBox: Sendable {
    private let token: UInt
    private let source: APIRequest.Event

    init(_ userData: UnsafeMutableRawPointer?, _ event: APIRequest.Event) {
        token = UInt(bitPattern: userData)
        source = event
    }

    /// The event as C sees it, with the new handles that belong to it.
    var event: ntapi_event {
        var stored = ntapi_event()
        stored.user_data = UnsafeMutableRawPointer(bitPattern: token)
        switch source {
        case .response(let response):
            stored.handler = NTAPI_HANDLER_RESPONSE
            let box = ResponseBox(response, isOwed: true)
            stored.response = box.handle
            stored.error = box.error
            stored.body = box.data
            stored.length = box.count
            stored.status = box.status
            stored.contents = box.contents
        case .data(let piece):
            stored.handler = NTAPI_HANDLER_DATA
            let box = DataBox(piece)
            stored.data = Handles.make(box)
            stored.body = box.start
            stored.length = box.count
        case .decision(let decision):
            stored.handler = NTAPI_HANDLER_DECISION
            stored.decision = Handles.make(DecisionBox(decision))
        case .progress(let kind, let progress):
            stored.handler = kind == .uploadProgress ? NTAPI_HANDLER_UPLOAD_PROGRESS : NTAPI_HANDLER_DOWNLOAD_PROGRESS
            stored.bytes = progress.bytes
            stored.total = progress.total ?? -1
        }
        return stored
    }
}

@_cdecl("ntapi_request_set_events") @implementation
public func ntapi_request_set_events(
    _ request: OpaquePointer!, _ handlers: CInt, _ user_data: UnsafeMutableRawPointer!
) -> ntapi_status {
    guard let box = Handles.get(request, RequestBox.self), let kinds = HandlerKinds(c: handlers) else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    let userData = UserData(user_data, nil)
    switch box.request.setEvents(kinds, { EventBox(userData.pointer, $0) }) {
    case nil: return NTAPI_STATUS_OK
    case .tooLate?: return NTAPI_STATUS_INVALID_STATE
    case .noMailbox?: return NTAPI_STATUS_INVALID_ARGUMENT
    }
}

@_cdecl("ntapi_client_begin_event") @implementation
public func ntapi_client_begin_event(
    _ client: OpaquePointer!, _ command: UnsafePointer<CChar>!, _ args: OpaquePointer!, _ mailbox: OpaquePointer!,
    _ user_data: UnsafeMutableRawPointer!
) -> OpaquePointer! { beginWithEvents(client, command, args, mailbox, .response, user_data) }

func beginWithEvents(
    _ client: OpaquePointer?, _ command: UnsafePointer<CChar>?, _ args: OpaquePointer?, _ mailbox: OpaquePointer?,
    _ kinds: HandlerKinds, _ user_data: UnsafeMutableRawPointer?
) -> OpaquePointer? {
    guard let destination = Handles.get(mailbox, MailboxBox.self)?.mailbox,
        let request = makeRequest(client, command, args, [.handlers(.all, on: .mailbox(destination))])
    else { return nil }
    let userData = UserData(user_data, nil)
    // Once the response is taken, the request releases its source of events, and so the handle ends.
    let lent = HandleOwner(RequestBox(request))
    let problem = request.setEvents(kinds) { event in
        withExtendedLifetime(lent) { EventBox(userData.pointer, event) }
    }
    guard problem == nil else { return nil }
    if kinds.contains(.data) { _ = request.setFormat(.bytes) }
    request.resume()
    return lent.handle
}

@_cdecl("ntapi_mailbox_take") @implementation
public func ntapi_mailbox_take(
    _ mailbox: OpaquePointer!, _ events: UnsafeMutablePointer<ntapi_event>!, _ size: Int, _ capacity: Int
) -> Int {
    guard let box = Handles.get(mailbox, MailboxBox.self), let events, capacity > 0,
        ntapi_event.canHave(size: size)
    else { return 0 }
    var place = UnsafeMutableRawPointer(events)
    var stored = 0
    while stored < capacity, let event = box.mailbox.takeEvent() as? EventBox {
        event.event.store(to: place, size: size)
        place += size
        stored += 1
    }
    return stored
}

/// What an `ntapi_data` stands for.
final class DataBox: Sendable {
    /// The last lent element of the piece. It stays until the next one is requested.
    private struct Lent {
        var json: OpaquePointer?
        var event: LentEvent?
    }

    private let piece: BodyPiece
    private let lent = Lock(Lent())

    init(_ piece: BodyPiece) { self.piece = piece }

    deinit { Handles.free(lent.withLock { $0.json }, JSONBox.self) }

    var count: Int { piece.data.count }

    /// Valid as long as this.
    var start: UnsafePointer<CChar>? {
        piece.data.withUnsafeBytes { $0.baseAddress?.assumingMemoryBound(to: CChar.self) }
    }

    func nextJSON() -> OpaquePointer? {
        guard case .json(let value) = piece.next() else { return nil }
        return lend(Lent(json: Handles.lend(JSONBox(value)))).json
    }

    func nextEvent() -> UnsafePointer<ntapi_server_event>? {
        guard case .event(let event) = piece.next() else { return nil }
        return lend(Lent(event: LentEvent(event))).event?.pointer
    }

    private func lend(_ next: Lent) -> Lent {
        let before = lent.withLock { lent in
            defer { lent = next }
            return lent
        }
        Handles.free(before.json, JSONBox.self)
        return next
    }
}

@_cdecl("ntapi_request_set_data_format") @implementation
public func ntapi_request_set_data_format(_ request: OpaquePointer!, _ format: ntapi_data_format) -> ntapi_status {
    let known: BodyFormat
    switch format {
    case NTAPI_DATA_FORMAT_BYTES: known = .bytes
    case NTAPI_DATA_FORMAT_JSON_LINES: known = .jsonLines
    case NTAPI_DATA_FORMAT_SERVER_EVENTS: known = .serverEvents
    default: return NTAPI_STATUS_INVALID_ARGUMENT
    }
    return with(request) { $0.setFormat(known) }
}

@_cdecl("ntapi_data_next_json") @implementation
public func ntapi_data_next_json(_ data: OpaquePointer!) -> OpaquePointer! {
    Handles.get(data, DataBox.self)?.nextJSON()
}

@_cdecl("ntapi_data_next_server_event") @implementation
public func ntapi_data_next_server_event(_ data: OpaquePointer!) -> UnsafePointer<ntapi_server_event>! {
    Handles.get(data, DataBox.self)?.nextEvent()
}

@_cdecl("ntapi_data_free") @implementation
public func ntapi_data_free(_ data: OpaquePointer!) { Handles.free(data, DataBox.self) }
