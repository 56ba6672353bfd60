import CNTApi
import NTApi

/// What an `ntapi_headers` stands for: the header lines that an object has at each call.
final class HeadersBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    private let current: @Sendable () -> HTTPHeaders

    init(_ current: @escaping @Sendable () -> HTTPHeaders) { self.current = current }

    fileprivate var count: Int { current().count }

    /// The lines, secrets redacted.
    var description: String { current().map { "\($0)" }.joined(separator: "\n") }

    fileprivate func value(of name: String) -> UnsafePointer<CChar>? { lend(current().bytes(name)) }

    fileprivate func field(_ index: Int, _ part: (HTTPHeaders.Field) -> [UInt8]) -> UnsafePointer<CChar>? {
        let headers = current()
        return headers.indices.contains(index) ? lend(part(headers[index])) : nil
    }
}

@_cdecl("ntapi_headers_get") @implementation
public func ntapi_headers_get(_ headers: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> UnsafePointer<CChar>! {
    guard let box = get(headers), let name = String(c: name) else { return nil }
    return box.value(of: name)
}

@_cdecl("ntapi_headers_count") @implementation
public func ntapi_headers_count(_ headers: OpaquePointer!) -> Int { get(headers)?.count ?? 0 }

@_cdecl("ntapi_headers_name") @implementation
public func ntapi_headers_name(_ headers: OpaquePointer!, _ index: Int) -> UnsafePointer<CChar>! {
    get(headers)?.field(index) { Array($0.name.utf8) }
}

@_cdecl("ntapi_headers_value") @implementation
public func ntapi_headers_value(_ headers: OpaquePointer!, _ index: Int) -> UnsafePointer<CChar>! {
    get(headers)?.field(index) { $0.bytes }
}

private func get(_ headers: OpaquePointer?) -> HeadersBox? { Handles.get(headers, HeadersBox.self) }
