import CNTApi
import NTApi

/// What an `ntapi_headers` stands for: header lines that never change.
final class HeadersBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    private let headers: HTTPHeaders

    init(_ headers: HTTPHeaders) { self.headers = headers }

    /// The lines, secrets redacted.
    var description: String { headers.map { "\($0)" }.joined(separator: "\n") }

    /// The reason phrase of the status line that they came with.
    fileprivate var reason: UnsafePointer<CChar>? { text(.reason) { headers.reason } }

    /// All lines as "name: value", each with CRLF behind it.
    var lines: UnsafePointer<CChar>? { lend(headers.text) }

    fileprivate func value(of name: String) -> UnsafePointer<CChar>? { lend(headers.bytes(name)) }

    fileprivate func line(_ index: Int, named: Bool) -> (name: UnsafePointer<CChar>?, value: UnsafePointer<CChar>)? {
        guard headers.indices.contains(index), let value = lend(headers[index].bytes) else { return nil }
        return (named ? lend(Array(headers[index].name.utf8)) : nil, value)
    }
}

extension HTTPHeaders {
    /// C's lines "name: value" of an answer, with NULL after the last; nil when one of them is something else.
    init?(c lines: UnsafePointer<UnsafePointer<CChar>?>?) {
        self.init()
        var next = lines
        while let line = next?.pointee {
            guard let text = String(c: line), let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
                return nil
            }
            let name = String(text[..<colon])
            let value = String(text[text.index(after: colon)...].drop { $0 == " " })
            guard HTTPHeaders.canArrive(name, value) else { return nil }
            add(name, value)
            next = next?.successor()
        }
    }
}

@_cdecl("ntapi_headers_free") @implementation
public func ntapi_headers_free(_ headers: OpaquePointer!) { Handles.free(headers, HeadersBox.self) }

@_cdecl("ntapi_headers_reason_phrase") @implementation
public func ntapi_headers_reason_phrase(_ headers: OpaquePointer!) -> UnsafePointer<CChar>! { get(headers)?.reason }

@_cdecl("ntapi_headers_get") @implementation
public func ntapi_headers_get(_ headers: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> UnsafePointer<CChar>! {
    guard let box = get(headers), let name = String(c: name) else { return nil }
    return box.value(of: name)
}

@_cdecl("ntapi_headers_at") @implementation
public func ntapi_headers_at(
    _ headers: OpaquePointer!, _ index: Int, _ name: UnsafeMutablePointer<UnsafePointer<CChar>?>!
) -> UnsafePointer<CChar>! {
    let line = get(headers)?.line(index, named: name != nil)
    name?.pointee = line?.name
    return line?.value
}

private func get(_ headers: OpaquePointer?) -> HeadersBox? { Handles.get(headers, HeadersBox.self) }
