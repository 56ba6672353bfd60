public import CNTApi
import NTApi

@_cdecl("ntapi_client_background_error") @implementation
public func ntapi_client_background_error(_ client: OpaquePointer!) -> OpaquePointer! {
    guard let box = Handles.get(client, ClientBox.self) else {
        return APIError.invalidArgument("client is NULL, freed, or not a client").handle
    }
    return box.client.backgroundError?.handle
}

@_cdecl("ntapi_client_restored_requests") @implementation
public func ntapi_client_restored_requests(
    _ client: OpaquePointer!, _ args: OpaquePointer!, _ requests: UnsafeMutablePointer<OpaquePointer?>!,
    _ capacity: Int
) -> Int {
    guard let box = Handles.get(client, ClientBox.self), let args = threadArgs(args) else { return 0 }
    let restored = box.client.restoredRequests(args: args)
    guard let requests, capacity > 0 else { return restored.count }
    for (index, request) in restored.prefix(capacity).enumerated() {
        (requests + index).initialize(to: Handles.make(RequestBox(request)))
    }
    return restored.count
}

@_cdecl("ntapi_client_resume_restored_requests") @implementation
public func ntapi_client_resume_restored_requests(
    _ client: OpaquePointer!, _ args: OpaquePointer!, _ handler: ntapi_response_fn!,
    _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> Int {
    let userData = UserData(user_data, destroy)
    guard let box = Handles.get(client, ClientBox.self), let args = threadArgs(args) else { return 0 }
    return box.client.resumeRestoredRequests(args: args, handler: responseHandler(handler, userData))
}

@_cdecl("ntapi_response_was_delivered_before") @implementation
public func ntapi_response_was_delivered_before(_ response: OpaquePointer!) -> Bool {
    Handles.get(response, ResponseBox.self)?.response?.wasDeliveredBefore ?? false
}

@_cdecl("ntapi_response_begin_delivery") @implementation
public func ntapi_response_begin_delivery(_ response: OpaquePointer!) -> ntapi_status {
    guard let box = Handles.get(response, ResponseBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    guard box.isOwed else { return NTAPI_STATUS_INVALID_STATE }
    box.response?.request.beginDelivery()
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_response_acknowledge") @implementation
public func ntapi_response_acknowledge(_ response: OpaquePointer!) -> ntapi_status {
    guard let box = Handles.get(response, ResponseBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    guard box.isOwed else { return NTAPI_STATUS_INVALID_STATE }
    box.response?.request.acknowledge()
    return NTAPI_STATUS_OK
}

/// Nil for a wrong handle.
private func threadArgs(_ args: OpaquePointer?) -> [APIArg]? {
    args == nil ? [] : Handles.get(args, ArgsBox.self)?.args
}
