public import CNTApi
import NTApi

/// An event as C sees it, with the memory of its texts.
final class LentEvent: @unchecked Sendable {
    // Safe to share: constant, like the memory it points to.
    private let event: UnsafeMutablePointer<ntapi_server_event>

    var pointer: UnsafePointer<ntapi_server_event> { UnsafePointer(event) }

    init(_ source: ServerSentEvent) {
        event = .allocate(capacity: 1)
        event.initialize(
            to: ntapi_server_event(
                size: MemoryLayout<ntapi_server_event>.size, type: newText(source.type), data: newText(source.data),
                length: source.data.utf8.count, last_event_id: newText(source.lastEventID)))
    }

    deinit {
        for text in [event.pointee.type, event.pointee.data, event.pointee.last_event_id] { text?.deallocate() }
        event.deallocate()
    }
}

@_cdecl("ntapi_request_set_data_handler") @implementation
public func ntapi_request_set_data_handler(
    _ request: OpaquePointer!, _ handler: ntapi_data_fn!, _ user_data: UnsafeMutableRawPointer!,
    _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    with(request, user_data, destroy) { $0.setDataHandler(dataHandler(handler, $1)) }
}

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

private func dataHandler(_ handler: ntapi_data_fn?, _ userData: UserData) -> APIRequest.DataHandler? {
    guard let handler else { return nil }
    return { data in
        data.withUnsafeBytes {
            handler(userData.pointer, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
        }
    }
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
        withExtendedLifetime(lent) { handler(userData.pointer, lent.pointer) }
    }
}
