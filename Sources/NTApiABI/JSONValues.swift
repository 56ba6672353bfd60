public import CNTApi
import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What an `ntapi_json` stands for.
final class JSONBox: TextLender, @unchecked Sendable {
    // Safe to share: constant.
    let json: JSON

    init(_ json: JSON) { self.json = json }

    var text: UnsafePointer<CChar>? { text(.jsonText) { json.dumped } }
}

/// The value at a path of a document.
func value(_ json: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> JSON? {
    guard let box = Handles.get(json, JSONBox.self) else { return nil }
    guard let path else { return box.json }
    return box.json.value(atPath: UnsafeRawBufferPointer(start: path, count: strlen(path)))
}

@_cdecl("ntapi_json_parse") @implementation
public func ntapi_json_parse(
    _ text: UnsafePointer<CChar>!, _ length: Int, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> OpaquePointer! {
    guard let text else {
        error?.pointee = APIError.invalidArgument("text is NULL").handle
        return nil
    }
    do {
        return Handles.make(JSONBox(try JSON(loading: UnsafeRawBufferPointer(start: text, count: max(0, length)))))
    } catch let problem {
        error?.pointee = APIError(domain: .json, code: .invalidJSON, message: "\(problem)").handle
        return nil
    }
}

@_cdecl("ntapi_json_create_string") @implementation
public func ntapi_json_create_string(_ value: UnsafePointer<CChar>!) -> OpaquePointer! {
    String(c: value).flatMap { Handles.make(JSONBox(JSON($0))) }
}

@_cdecl("ntapi_json_free") @implementation
public func ntapi_json_free(_ json: OpaquePointer!) { Handles.free(json, JSONBox.self) }

@_cdecl("ntapi_json_get_type") @implementation
public func ntapi_json_get_type(_ json: OpaquePointer!, _ path: UnsafePointer<CChar>!) -> ntapi_json_type {
    switch value(json, path)?.kind {
    case nil: NTAPI_JSON_TYPE_ABSENT
    case .null?: NTAPI_JSON_TYPE_NULL
    case .bool?: NTAPI_JSON_TYPE_BOOL
    case .int?: NTAPI_JSON_TYPE_INT
    case .double?: NTAPI_JSON_TYPE_DOUBLE
    case .string?: NTAPI_JSON_TYPE_STRING
    case .array?: NTAPI_JSON_TYPE_ARRAY
    case .object?: NTAPI_JSON_TYPE_OBJECT
    }
}

// The pointers lead into the document, which does not change while any of its handles exists.
@_cdecl("ntapi_json_string") @implementation
public func ntapi_json_string(_ json: OpaquePointer!, _ path: UnsafePointer<CChar>!) -> UnsafePointer<CChar>! {
    value(json, path)?.cString?.pointer
}

@_cdecl("ntapi_json_string_length") @implementation
public func ntapi_json_string_length(_ json: OpaquePointer!, _ path: UnsafePointer<CChar>!) -> Int {
    value(json, path)?.cString?.length ?? 0
}

@_cdecl("ntapi_json_int") @implementation
public func ntapi_json_int(_ json: OpaquePointer!, _ path: UnsafePointer<CChar>!, _ fallback: Int64) -> Int64 {
    value(json, path)?.int64 ?? fallback
}

@_cdecl("ntapi_json_double") @implementation
public func ntapi_json_double(_ json: OpaquePointer!, _ path: UnsafePointer<CChar>!, _ fallback: Double) -> Double {
    value(json, path)?.double ?? fallback
}

@_cdecl("ntapi_json_bool") @implementation
public func ntapi_json_bool(_ json: OpaquePointer!, _ path: UnsafePointer<CChar>!, _ fallback: Bool) -> Bool {
    value(json, path)?.bool ?? fallback
}

@_cdecl("ntapi_json_count") @implementation
public func ntapi_json_count(_ json: OpaquePointer!, _ path: UnsafePointer<CChar>!) -> Int {
    value(json, path)?.count ?? 0
}

@_cdecl("ntapi_json_get") @implementation
public func ntapi_json_get(_ json: OpaquePointer!, _ path: UnsafePointer<CChar>!) -> OpaquePointer! {
    value(json, path).flatMap { Handles.make(JSONBox($0)) }
}

/// What an `ntapi_json_iterator` stands for.
final class JSONIterator: @unchecked Sendable {
    // Safe to share: only accessed under a lock.
    private let state: Lock<State>

    private struct State {
        let json: JSON
        let values: [JSON]
        var next = 0
        var lent: HandleOwner<JSONBox>?
    }

    init(_ json: JSON) {
        state = Lock(State(json: json, values: json.array ?? json.object?.map(\.value) ?? []))
    }

    func next(_ key: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> OpaquePointer? {
        let (value, replaced, name) = state.withLock { state in
            let index = state.next
            let replaced = state.lent
            state.lent = nil
            guard state.values.indices.contains(index) else {
                return (OpaquePointer?.none, replaced, UnsafePointer<CChar>?.none)
            }
            state.next += 1
            let made = HandleOwner(JSONBox(state.values[index]))
            state.lent = made
            return (made.handle, replaced, key == nil ? nil : state.json.cKey(at: index))
        }
        withExtendedLifetime(replaced) {}
        key?.pointee = name
        return value
    }
}

@_cdecl("ntapi_json_iterate") @implementation
public func ntapi_json_iterate(_ json: OpaquePointer!, _ path: UnsafePointer<CChar>!) -> OpaquePointer! {
    value(json, path).flatMap { Handles.make(JSONIterator($0)) }
}

@_cdecl("ntapi_json_next") @implementation
public func ntapi_json_next(
    _ iterator: OpaquePointer!, _ key: UnsafeMutablePointer<UnsafePointer<CChar>?>!
) -> OpaquePointer! { Handles.get(iterator, JSONIterator.self)?.next(key) }

@_cdecl("ntapi_json_iterator_free") @implementation
public func ntapi_json_iterator_free(_ iterator: OpaquePointer!) { Handles.free(iterator, JSONIterator.self) }

@_cdecl("ntapi_json_text") @implementation
public func ntapi_json_text(_ json: OpaquePointer!) -> UnsafePointer<CChar>! { Handles.get(json, JSONBox.self)?.text }

extension APIError {
    @inline(never) static func invalidArgument(_ message: String) -> APIError {
        APIError(domain: .request, code: .invalidRequest, message: message)
    }
}
