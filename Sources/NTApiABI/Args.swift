public import CNTApi
import NTApi

/// What an `ntapi_args` stands for.
final class ArgsBox: @unchecked Sendable {
    // Safe to share: only accessed under `SharedMutex.args`, by code that never calls back.
    @exclusivity(unchecked) private var list: [APIArg]
    /// Whether the last arg was suppressed, because its value was NULL.
    @exclusivity(unchecked) private var lastWasSuppressed = false
    /// The first mistake in a call that appends. It fails the request, because the caller may not look at the status, and
    /// a request without that arg is not the one that was meant.
    @exclusivity(unchecked) private var mistake: String?

    init(_ args: [APIArg] = []) { list = args }

    var args: [APIArg] { SharedMutex.args.withLock { all } }

    private var all: [APIArg] { mistake.map { list + [.mistake($0)] } ?? list }

    /// How many were appended.
    var count: Int { SharedMutex.args.withLock { list.count } }

    func refuse(_ problem: String) {
        SharedMutex.args.withLock { mistake = mistake ?? problem }
    }

    func append(_ arg: APIArg) {
        SharedMutex.args.withLock {
            lastWasSuppressed = arg.isSuppressed
            if !lastWasSuppressed { list.append(arg) }
        }
    }

    func append(contentsOf args: [APIArg]) {
        guard let last = args.last else { return }
        let wanted = args.filter { !$0.isSuppressed }
        SharedMutex.args.withLock {
            list += wanted
            lastWasSuppressed = last.isSuppressed
        }
    }

    func remove(_ interceptor: Interceptor) -> Bool {
        SharedMutex.args.withLock { list.removeLast(interceptor) } != nil
    }

    /// - Returns: false when there is none.
    func markLastSecret() -> Bool {
        SharedMutex.args.withLock {
            if lastWasSuppressed { return true }
            guard let last = list.popLast() else { return false }
            list.append(last.secret)
            return true
        }
    }

    var description: String {
        SharedMutex.args.withLock { all.map(\.description) }.joined(separator: "\n")
    }

    func option(_ name: String) -> String? {
        SharedMutex.args.withLock { list.last { $0.optionName == name }?.optionValue }
    }
}

/// Appends an arg. If it cannot be made of C's values, the list keeps the mistake, and its request fails with it.
///
/// - Parameter make: returns nil for a text that cannot be used; throws for every other mistake.
func append(
    _ args: OpaquePointer?, function: StaticString = #function, _ make: () throws(APIError) -> APIArg?
) -> ntapi_status {
    guard let box = Handles.get(args, ArgsBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let problem: String
    do throws(APIError) {
        if let arg = try make() {
            box.append(arg)
            return NTAPI_STATUS_OK
        }
        problem = "a text is not UTF-8, or is NULL where it must not be"
    } catch {
        problem = error.message
    }
    box.refuse("\(name(of: function)): \(problem)")
    return NTAPI_STATUS_INVALID_ARGUMENT
}

/// The name in C: without Swift's labels.
func name(of function: StaticString) -> Substring { "\(function)".prefix { $0 != "(" } }

/// Appends an arg of a text that NULL suppresses.
func append(
    _ args: OpaquePointer?, _ value: UnsafePointer<CChar>?, function: StaticString = #function,
    _ make: (String?) -> APIArg
) -> ntapi_status {
    append(args, function: function) {
        guard let value else { return make(nil) }
        return String(c: value).map { make($0) }
    }
}

/// Appends an arg of a name and a text that NULL suppresses.
func append(
    _ args: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?,
    function: StaticString = #function, _ make: (String, String?) -> APIArg
) -> ntapi_status {
    append(args, function: function) {
        guard let name = String(c: name) else { return nil }
        guard let value else { return make(name, nil) }
        return String(c: value).map { make(name, $0) }
    }
}

@_cdecl("ntapi_args_create") @implementation
public func ntapi_args_create() -> OpaquePointer! { Handles.make(ArgsBox()) }

@_cdecl("ntapi_args_free") @implementation
public func ntapi_args_free(_ args: OpaquePointer!) { Handles.free(args, ArgsBox.self) }

@_cdecl("ntapi_args_count") @implementation
public func ntapi_args_count(_ args: OpaquePointer!) -> Int { Handles.get(args, ArgsBox.self)?.count ?? 0 }

@_cdecl("ntapi_args_append_json") @implementation
public func ntapi_args_append_json(
    _ args: OpaquePointer!, _ text: UnsafePointer<CChar>!, _ length: Int, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    do throws(APIError) {
        guard let box = Handles.get(args, ArgsBox.self) else { throw .invalidArgument("args is no list of args") }
        guard let text else { throw .invalidArgument("text is NULL") }
        let bytes = UnsafeRawBufferPointer(start: text, count: max(0, length))
        box.append(contentsOf: try APIArg.list(loading: bytes))
        return NTAPI_STATUS_OK
    } catch let problem {
        Handles.get(args, ArgsBox.self)?.refuse("ntapi_args_append_json: \(problem.message)")
        error?.pointee = problem.handle
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
}

@_cdecl("ntapi_args_append") @implementation
public func ntapi_args_append(_ args: OpaquePointer!, _ other: OpaquePointer!) -> ntapi_status {
    guard let box = Handles.get(args, ArgsBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    guard let from = Handles.get(other, ArgsBox.self) else {
        box.refuse("ntapi_args_append: other is NULL, freed, or not a list of args")
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    box.append(contentsOf: from.args)
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_args_mark_secret") @implementation
public func ntapi_args_mark_secret(_ args: OpaquePointer!) -> ntapi_status {
    guard let box = Handles.get(args, ArgsBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return box.markLastSecret() ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_STATE
}

@_cdecl("ntapi_args_get_option") @implementation
public func ntapi_args_get_option(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!
) -> UnsafeMutablePointer<CChar>! {
    guard let box = Handles.get(args, ArgsBox.self), let name = String(c: name) else { return nil }
    return box.option(name).map(newText)
}
