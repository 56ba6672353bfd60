public import CNTApi
import NTApi

// The functions that every request calls, as native functions of CPython. Converting one argument with ctypes takes as
// long as a whole call of such a function.

@_cdecl("ntapi_python_function") @implementation
public func ntapi_python_function(
    _ python: UnsafePointer<ntapi_python>!, _ name: UnsafePointer<CChar>!
) -> UnsafeMutableRawPointer! {
    guard let python, let name = String(c: name), let interpreter = PythonInterpreter(python.pointee),
        let definition = PythonDefinition.all.first(where: { $0.pointee.isNamed(name) })
    else { return nil }
    PythonInterpreter.install(interpreter)
    return python.pointee.make_function(definition, nil, nil)
}

@_cdecl("ntapi_response_json_python") @implementation
public func ntapi_response_json_python(
    _ response: OpaquePointer!, _ python: UnsafePointer<ntapi_python>!
) -> UnsafeMutableRawPointer! {
    PythonValues.make(Handles.get(response, ResponseBox.self)?.response?.json, python)
}

@_cdecl("ntapi_json_python") @implementation
public func ntapi_json_python(
    _ json: OpaquePointer!, _ python: UnsafePointer<ntapi_python>!
) -> UnsafeMutableRawPointer! {
    PythonValues.make(Handles.get(json, JSONBox.self)?.json, python)
}

private typealias Object = UnsafeMutableRawPointer
/// METH_FASTCALL: self, which is not used, the arguments, how many.
private typealias PythonFunction = @convention(c) (Object?, UnsafePointer<Object?>?, Int) -> Object?

/// PyMethodDef.
private struct PythonDefinition {
    let name: UnsafePointer<CChar>
    let function: PythonFunction
    let flags: CInt = 0x80
    let documentation: UnsafePointer<CChar>? = nil

    /// All of them. Never freed, because CPython keeps the addresses.
    // Safe to share: never written once they are made.
    nonisolated(unsafe) static let all = [
        make("ntapi_response_free", responseFree),
        make("ntapi_args_free", argsFree),
        make("ntapi_request_free", requestFree),
        make("ntapi_data_free", dataFree),
        make("ntapi_args_create_message", argsCreateMessage),
        make("ntapi_request_received_message", requestReceivedMessage),
        make("ntapi_args_json_text", argsJSONText),
        make("ntapi_response_json_python", responseJSON),
        make("ntapi_json_python", jsonValue),
        make("ntapi_client_begin_event", clientBeginEvent),
        make("ntapi_client_begin_stream", clientBeginStream),
        make("ntapi_client_perform_watching", clientPerformWatching),
        make("ntapi_client_pull_watching", clientPullWatching),
        make("ntapi_request_pull_watching", requestPullWatching),
    ]

    func isNamed(_ other: String) -> Bool { String(cString: name) == other }

    private static func make(_ name: StaticString, _ function: PythonFunction) -> UnsafeMutablePointer<Self> {
        let made = UnsafeMutablePointer<Self>.allocate(capacity: 1)
        let text = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        made.initialize(to: PythonDefinition(name: text, function: function))
        return made
    }
}

/// The functions of CPython that these functions need.
private struct PythonInterpreter {
    let none: Object
    let retain: @convention(c) (Object?) -> Void
    let int: @convention(c) (Int64) -> Object?
    let address: @convention(c) (Object?) -> Object?
    let bytes: @convention(c) (Object?) -> UnsafeMutablePointer<CChar>?
    let error: @convention(c) () -> Object?
    let unlock: @convention(c) () -> Object?
    let lock: @convention(c) (Object?) -> Void

    /// - Returns: nil when something is missing.
    init?(_ python: ntapi_python) {
        guard let none = python.none, let retain = python.retain, let int = python.make_int,
            let address = python.read_address, let bytes = python.read_bytes, let error = python.error,
            let unlock = python.unlock, let lock = python.lock, python.make_function != nil
        else { return nil }
        self.none = none
        self.retain = retain
        self.int = int
        self.address = address
        self.bytes = bytes
        self.error = error
        self.unlock = unlock
        self.lock = lock
    }

    // A process has one CPython. Safe to share: written once, under the lock, before there is a function that reads it.
    nonisolated(unsafe) private(set) static var installed: PythonInterpreter?
    private static let installing = Lock(())

    static func install(_ interpreter: PythonInterpreter) {
        installing.withLock { _ in if installed == nil { installed = interpreter } }
    }
}

/// The arguments of a call.
private struct PythonCall {
    let python: PythonInterpreter
    private let arguments: UnsafePointer<Object?>
    /// Whether an argument had a wrong type. Python's exception is set then.
    private(set) var hasFailed = false

    /// - Returns: nil for a wrong number of arguments. Python then raises a SystemError.
    @inline(__always)
    init?(_ arguments: UnsafePointer<Object?>?, _ count: Int, of expected: Int) {
        guard let arguments, count == expected, let python = PythonInterpreter.installed else { return nil }
        self.python = python
        self.arguments = arguments
    }

    /// An int, or None for NULL.
    @inline(__always)
    mutating func address(_ index: Int) -> Object? {
        guard arguments[index] != python.none else { return nil }
        let address = python.address(arguments[index])
        if address == nil && python.error() != nil { hasFailed = true }
        return address
    }

    @inline(__always)
    mutating func handle(_ index: Int) -> OpaquePointer? { address(index).map { OpaquePointer($0) } }

    @inline(__always)
    mutating func bytes(_ index: Int) -> UnsafeMutablePointer<CChar>? {
        let bytes = python.bytes(arguments[index])
        if bytes == nil { hasFailed = true }
        return bytes
    }

    /// Runs the body without Python's lock, so that Python's other threads can run.
    @inline(__always)
    func unlocked<Value>(_ body: () -> Value) -> Value {
        let thread = python.unlock()
        let value = body()
        python.lock(thread)
        return value
    }

    /// An address as an int; 0 for NULL.
    @inline(__always)
    func int(of address: OpaquePointer?) -> Object? { python.int(Int64(Int(bitPattern: address))) }

    var none: Object {
        python.retain(python.none)
        return python.none
    }
}

// Freeing these two keeps Python's lock: getting it back would take longer.
private let responseFree: PythonFunction = { _, arguments, count in
    freed(arguments, count) { ntapi_response_free($0) }
}

private let argsFree: PythonFunction = { _, arguments, count in
    freed(arguments, count) { ntapi_args_free($0) }
}

private let requestFree: PythonFunction = { _, arguments, count in
    freed(arguments, count, isUnlocked: true) { ntapi_request_free($0) }
}

private let dataFree: PythonFunction = { _, arguments, count in
    freed(arguments, count, isUnlocked: true) { ntapi_data_free($0) }
}

/// Frees a handle.
@inline(__always)
private func freed(
    _ arguments: UnsafePointer<Object?>?, _ count: Int, isUnlocked: Bool = false, _ free: (OpaquePointer?) -> Void
) -> Object? {
    guard var call = PythonCall(arguments, count, of: 1) else { return nil }
    let handle = call.handle(0)
    guard !call.hasFailed else { return nil }
    if isUnlocked { call.unlocked { free(handle) } } else { free(handle) }
    return call.none
}

/// A body that Python's own JSON encoder has written. It may be large, so it goes onto the tape.
private let argsJSONText: PythonFunction = { _, arguments, count in
    guard var call = PythonCall(arguments, count, of: 3) else { return nil }
    let args = call.handle(0)
    let text = call.bytes(1)
    let length = Int(bitPattern: call.address(2))
    guard !call.hasFailed else { return nil }
    let status = call.unlocked {
        append(args) {
            (try? JSON(parsing: UnsafeRawBufferPointer(start: text, count: max(0, length)))).map { .json($0) }
        }
    }
    return call.python.int(Int64(status.rawValue))
}

private let responseJSON: PythonFunction = { _, arguments, count in
    madeValue(arguments, count) { ntapi_response_json_python($0, $1) }
}

private let jsonValue: PythonFunction = { _, arguments, count in
    madeValue(arguments, count) { ntapi_json_python($0, $1) }
}

/// Makes Python's values for the JSON of a handle; None if it has none.
@inline(__always)
private func madeValue(
    _ arguments: UnsafePointer<Object?>?, _ count: Int,
    _ make: (OpaquePointer?, UnsafePointer<ntapi_python>?) -> Object?
) -> Object? {
    guard var call = PythonCall(arguments, count, of: 2) else { return nil }
    let handle = call.handle(0)
    let python = call.address(1)
    guard !call.hasFailed else { return nil }
    let value = make(handle, python?.assumingMemoryBound(to: ntapi_python.self))
    return value ?? (call.python.error() == nil ? call.none : nil)
}

private let argsCreateMessage: PythonFunction = { _, arguments, count in
    guard var call = PythonCall(arguments, count, of: 3) else { return nil }
    let usual = call.handle(0)
    let texts = call.bytes(1)
    let textCount = Int(bitPattern: call.address(2))
    guard !call.hasFailed else { return nil }
    return call.int(of: ntapi_args_create_message(usual, texts, textCount))
}

private let requestReceivedMessage: PythonFunction = { _, arguments, count in
    guard var call = PythonCall(arguments, count, of: 1) else { return nil }
    let request = call.handle(0)
    guard !call.hasFailed else { return nil }
    return call.int(of: ntapi_request_received_message(request).map { OpaquePointer($0) })
}

private let clientBeginEvent: PythonFunction = { _, arguments, count in
    begun(arguments, count) { ntapi_client_begin_event($0, $1, $2, $3, $4) }
}

private let clientBeginStream: PythonFunction = { _, arguments, count in
    begun(arguments, count) { ntapi_client_begin_stream($0, $1, $2, $3, $4) }
}

/// Begins a request whose events go to a mailbox.
@inline(__always)
private func begun(
    _ arguments: UnsafePointer<Object?>?, _ count: Int,
    _ begin: (OpaquePointer?, UnsafePointer<CChar>?, OpaquePointer?, OpaquePointer?, Object?) -> OpaquePointer?
) -> Object? {
    guard var call = PythonCall(arguments, count, of: 5) else { return nil }
    let client = call.handle(0)
    let command = call.bytes(1)
    let args = call.handle(2)
    let mailbox = call.handle(3)
    let userData = call.address(4)
    guard !call.hasFailed else { return nil }
    return call.int(of: call.unlocked { begin(client, command, args, mailbox, userData) })
}

private let clientPerformWatching: PythonFunction = { _, arguments, count in
    watched(arguments, count) { ntapi_client_perform_watching($0, $1, $2, $3) }
}

private let clientPullWatching: PythonFunction = { _, arguments, count in
    watched(arguments, count) { ntapi_client_pull_watching($0, $1, $2, $3) }
}

/// Begins a request and waits for it.
@inline(__always)
private func watched(
    _ arguments: UnsafePointer<Object?>?, _ count: Int,
    _ begin: (OpaquePointer?, UnsafePointer<CChar>?, OpaquePointer?, UnsafeMutablePointer<ntapi_watch>?) -> ntapi_status
) -> Object? {
    guard var call = PythonCall(arguments, count, of: 4) else { return nil }
    let client = call.handle(0)
    let command = call.bytes(1)
    let args = call.handle(2)
    let watch = call.address(3)?.assumingMemoryBound(to: ntapi_watch.self)
    guard !call.hasFailed else { return nil }
    return call.python.int(Int64(call.unlocked { begin(client, command, args, watch) }.rawValue))
}

private let requestPullWatching: PythonFunction = { _, arguments, count in
    guard var call = PythonCall(arguments, count, of: 2) else { return nil }
    let request = call.handle(0)
    let watch = call.address(1)?.assumingMemoryBound(to: ntapi_watch.self)
    guard !call.hasFailed else { return nil }
    return call.python.int(Int64(call.unlocked { ntapi_request_pull_watching(request, watch) }.rawValue))
}
