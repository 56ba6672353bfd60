public import CNTApi
import NTApi

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

    func nextEvent() -> ntapi_server_event? {
        guard case .event(let event) = piece.next() else { return nil }
        return lend(Lent(event: LentEvent(event))).event?.event
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

/// The texts of an event for C.
final class LentEvent: @unchecked Sendable {
    // Safe to share: constant, like the memory it points to.
    let event: ntapi_server_event

    init(_ source: ServerSentEvent) {
        event = ntapi_server_event(
            type: Self.copy(source.type), data: Self.copy(source.data), length: source.data.utf8.count,
            last_event_id: Self.copy(source.lastEventID))
    }

    deinit {
        for text in [event.type, event.data, event.last_event_id] { text?.deallocate() }
    }

    private static func copy(_ text: String) -> UnsafePointer<CChar> {
        let count = text.utf8.count + 1
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: count)
        text.withCString { copy.initialize(from: $0, count: count) }
        return UnsafePointer(copy)
    }
}

@_cdecl("ntapi_data_next_json") @implementation
public func ntapi_data_next_json(_ data: OpaquePointer!) -> OpaquePointer! {
    Handles.get(data, DataBox.self)?.nextJSON()
}

@_cdecl("ntapi_data_next_server_event") @implementation
public func ntapi_data_next_server_event(
    _ data: OpaquePointer!, _ event: UnsafeMutablePointer<ntapi_server_event>!
) -> Bool {
    guard let event, let next = Handles.get(data, DataBox.self)?.nextEvent() else { return false }
    event.pointee = next
    return true
}

@_cdecl("ntapi_data_free") @implementation
public func ntapi_data_free(_ data: OpaquePointer!) { Handles.free(data, DataBox.self) }

@_cdecl("ntapi_request_set_json_lines_handler") @implementation
public func ntapi_request_set_json_lines_handler(
    _ request: OpaquePointer!, _ handler: ntapi_json_fn!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    with(request, user_data, destroy) { $0.setJSONLinesHandler(linesHandler(handler, $1)) }
}

@_cdecl("ntapi_request_set_server_event_handler") @implementation
public func ntapi_request_set_server_event_handler(
    _ request: OpaquePointer!, _ handler: ntapi_server_event_fn!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    with(request, user_data, destroy) { $0.setServerEventHandler(eventHandler(handler, $1)) }
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

private func linesHandler(_ handler: ntapi_json_fn?, _ userData: UserData) -> APIRequest.JSONLinesHandler? {
    guard let handler else { return nil }
    return { value in
        let handle = Handles.lend(JSONBox(value))
        handler(userData.pointer, handle)
        Handles.free(handle, JSONBox.self)
    }
}

private func eventHandler(_ handler: ntapi_server_event_fn?, _ userData: UserData) -> APIRequest.ServerEventHandler? {
    guard let handler else { return nil }
    return { event in
        let lent = LentEvent(event)
        withUnsafePointer(to: lent.event) { handler(userData.pointer, $0) }
    }
}
