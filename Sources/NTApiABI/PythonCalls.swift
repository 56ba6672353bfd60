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
        make("ntapi_args_json_text", argsJSONText),
        make("ntapi_response_json_python", responseJSON),
        make("ntapi_json_python", jsonValue),
        make("ntapi_client_begin_event", clientBeginEvent),
        make("ntapi_client_perform_watching", clientPerformWatching),
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

    var none: Object {
        python.retain(python.none)
        return python.none
    }
}

private let responseFree: PythonFunction = { _, arguments, count in
    guard var call = PythonCall(arguments, count, of: 1) else { return nil }
    let response = call.handle(0)
    guard !call.hasFailed else { return nil }
    // Keep Python's lock: getting it back would take longer than freeing the response.
    ntapi_response_free(response)
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

private let clientBeginEvent: PythonFunction = { _, arguments, count in
    guard var call = PythonCall(arguments, count, of: 5) else { return nil }
    let client = call.handle(0)
    let command = call.bytes(1)
    let args = call.handle(2)
    let mailbox = call.handle(3)
    let userData = call.address(4)
    guard !call.hasFailed else { return nil }
    let request = call.unlocked { ntapi_client_begin_event(client, command, args, mailbox, userData) }
    return call.python.int(Int64(Int(bitPattern: request)))
}

private let clientPerformWatching: PythonFunction = { _, arguments, count in
    guard var call = PythonCall(arguments, count, of: 4) else { return nil }
    let client = call.handle(0)
    let command = call.bytes(1)
    let args = call.handle(2)
    let watch = call.address(3)
    guard !call.hasFailed else { return nil }
    let status = call.unlocked {
        ntapi_client_perform_watching(client, command, args, watch?.assumingMemoryBound(to: ntapi_watch.self))
    }
    return call.python.int(Int64(status.rawValue))
}
