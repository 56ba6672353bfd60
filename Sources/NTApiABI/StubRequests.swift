import CNTApi
import NTApi

/// What an `ntapi_stub_request` stands for.
final class StubRequestBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    let request: StubRequest
    /// The body, and a NUL behind it.
    private let body: UnsafeMutableBufferPointer<UInt8>

    init(_ request: StubRequest) {
        self.request = request
        body = .allocate(capacity: request.body.count + 1)
        _ = body.initialize(from: request.body + [0])
    }

    deinit { body.deallocate() }

    var bytes: UnsafePointer<CChar>? {
        body.baseAddress.map { UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }
    }

    func field(_ index: Int) -> HTTPHeaders.Field? {
        request.headers.indices.contains(index) ? request.headers[index] : nil
    }
}

@_cdecl("ntapi_stub_request_count") @implementation
public func ntapi_stub_request_count(_ stub: OpaquePointer!) -> Int {
    Handles.get(stub, Stub.self)?.requests.count ?? 0
}

@_cdecl("ntapi_stub_get_request") @implementation
public func ntapi_stub_get_request(_ stub: OpaquePointer!, _ index: Int) -> OpaquePointer! {
    guard let requests = Handles.get(stub, Stub.self)?.requests, requests.indices.contains(index) else { return nil }
    return Handles.make(StubRequestBox(requests[index]))
}

@_cdecl("ntapi_stub_request_free") @implementation
public func ntapi_stub_request_free(_ request: OpaquePointer!) { Handles.free(request, StubRequestBox.self) }

@_cdecl("ntapi_stub_request_method") @implementation
public func ntapi_stub_request_method(_ request: OpaquePointer!) -> UnsafePointer<CChar>! {
    box(request).flatMap { box in box.text(.method) { box.request.method } }
}

@_cdecl("ntapi_stub_request_url") @implementation
public func ntapi_stub_request_url(_ request: OpaquePointer!) -> UnsafePointer<CChar>! {
    box(request).flatMap { box in box.text(.url) { box.request.url } }
}

@_cdecl("ntapi_stub_request_header_count") @implementation
public func ntapi_stub_request_header_count(_ request: OpaquePointer!) -> Int {
    box(request)?.request.headers.count ?? 0
}

@_cdecl("ntapi_stub_request_header_name") @implementation
public func ntapi_stub_request_header_name(_ request: OpaquePointer!, _ index: Int) -> UnsafePointer<CChar>! {
    box(request).flatMap { box in box.text(.headerName(index)) { box.field(index)?.name } }
}

@_cdecl("ntapi_stub_request_header_value") @implementation
public func ntapi_stub_request_header_value(_ request: OpaquePointer!, _ index: Int) -> UnsafePointer<CChar>! {
    box(request).flatMap { box in box.text(.headerValue(index)) { box.field(index)?.value } }
}

@_cdecl("ntapi_stub_request_body") @implementation
public func ntapi_stub_request_body(
    _ request: OpaquePointer!, _ length: UnsafeMutablePointer<Int>!
) -> UnsafePointer<CChar>! {
    let box = box(request)
    length?.pointee = box?.request.body.count ?? 0
    return box?.bytes
}

@_cdecl("ntapi_stub_request_is_matched") @implementation
public func ntapi_stub_request_is_matched(_ request: OpaquePointer!) -> Bool {
    box(request)?.request.isMatched ?? false
}

private func box(_ request: OpaquePointer?) -> StubRequestBox? { Handles.get(request, StubRequestBox.self) }
