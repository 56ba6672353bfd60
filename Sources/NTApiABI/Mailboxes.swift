public import CNTApi
import NTApi

/// What an `ntapi_mailbox` stands for.
final class MailboxBox: Sendable {
    let mailbox: Mailbox

    init(_ mailbox: Mailbox) { self.mailbox = mailbox }
}

@_cdecl("ntapi_args_thread") @implementation
public func ntapi_args_thread(_ args: OpaquePointer!, _ handlers: CInt, _ thread: ntapi_thread) -> ntapi_status {
    append(args) { () throws(APIError) in
        let kinds = try HandlerKinds(named: handlers)
        switch thread {
        case NTAPI_THREAD_MAIN: return .handlers(kinds, on: .main)
        case NTAPI_THREAD_BACKGROUND: return .handlers(kinds, on: .background)
        case NTAPI_THREAD_CURRENT: return .handlers(kinds, on: .current)
        default: throw .invalidArgument("\(thread.rawValue) is no ntapi_thread")
        }
    }
}

@_cdecl("ntapi_args_executor") @implementation
public func ntapi_args_executor(_ args: OpaquePointer!, _ handlers: CInt, _ executor: OpaquePointer!) -> ntapi_status {
    append(args) { () throws(APIError) in
        let kinds = try HandlerKinds(named: handlers)
        guard let executor else { return .handlers(kinds, on: nil) }
        guard let box = Handles.get(executor, ExecutorBox.self) else { throw .wrongHandle("executor", "an executor") }
        return .handlers(kinds, on: .executor(box))
    }
}

@_cdecl("ntapi_args_mailbox") @implementation
public func ntapi_args_mailbox(_ args: OpaquePointer!, _ handlers: CInt, _ mailbox: OpaquePointer!) -> ntapi_status {
    append(args) { () throws(APIError) in
        let kinds = try HandlerKinds(named: handlers)
        guard let mailbox else { return .handlers(kinds, on: nil) }
        guard let box = Handles.get(mailbox, MailboxBox.self) else { throw .wrongHandle("mailbox", "a mailbox") }
        return .handlers(kinds, on: .mailbox(box.mailbox))
    }
}

@_cdecl("ntapi_mailbox_create") @implementation
public func ntapi_mailbox_create() -> OpaquePointer! { Handles.make(MailboxBox(Mailbox())) }

@_cdecl("ntapi_mailbox_main") @implementation
public func ntapi_mailbox_main() -> OpaquePointer! { Handles.make(MailboxBox(.main)) }

@_cdecl("ntapi_mailbox_current") @implementation
public func ntapi_mailbox_current() -> OpaquePointer! { Handles.make(MailboxBox(.current)) }

@_cdecl("ntapi_mailbox_free") @implementation
public func ntapi_mailbox_free(_ mailbox: OpaquePointer!) { Handles.free(mailbox, MailboxBox.self) }

@_cdecl("ntapi_mailbox_fd") @implementation
public func ntapi_mailbox_fd(_ mailbox: OpaquePointer!) -> CInt {
    Handles.get(mailbox, MailboxBox.self)?.mailbox.fileDescriptor ?? -1
}

@_cdecl("ntapi_mailbox_drain") @implementation
public func ntapi_mailbox_drain(_ mailbox: OpaquePointer!) -> Int {
    Handles.get(mailbox, MailboxBox.self)?.mailbox.drain() ?? 0
}

@_cdecl("ntapi_mailbox_run") @implementation
public func ntapi_mailbox_run(_ mailbox: OpaquePointer!, _ timeout: Double) -> ntapi_status {
    guard let box = Handles.get(mailbox, MailboxBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    switch box.mailbox.run(timeout: seconds(timeout)) {
    case .stopped: return NTAPI_STATUS_OK
    case .timedOut: return NTAPI_STATUS_TIMED_OUT
    case .wrongThread: return NTAPI_STATUS_INVALID_STATE
    }
}

@_cdecl("ntapi_mailbox_stop") @implementation
public func ntapi_mailbox_stop(_ mailbox: OpaquePointer!) -> ntapi_status {
    guard let box = Handles.get(mailbox, MailboxBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    box.mailbox.stop()
    return NTAPI_STATUS_OK
}

/// What an `ntapi_executor` stands for: a queue or loop of the C program.
final class ExecutorBox: APIExecutor {
    private let submit: @Sendable (OpaquePointer?) -> Void

    init(_ submit: @escaping @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?) -> Void, _ userData: UserData) {
        self.submit = { submit(userData.pointer, $0) }
    }

    func execute(_ job: @escaping @Sendable () -> Void) { submit(Handles.make(JobBox(job))) }
}

/// What an `ntapi_job` stands for.
final class JobBox: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

@_cdecl("ntapi_executor_create") @implementation
public func ntapi_executor_create(
    _ submit: ntapi_submit_fn!, _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> OpaquePointer! {
    let userData = UserData(user_data, destroy)
    guard let submit else { return nil }
    return Handles.make(ExecutorBox(submit, userData))
}

@_cdecl("ntapi_executor_free") @implementation
public func ntapi_executor_free(_ executor: OpaquePointer!) { Handles.free(executor, ExecutorBox.self) }

// Frees the handle before the job runs, so that a second call finds nothing.
@_cdecl("ntapi_job_run") @implementation
public func ntapi_job_run(_ job: OpaquePointer!) { Handles.free(job, JobBox.self)?.run() }

extension HandlerKinds {
    /// nil for 0 and for unknown bits.
    init?(c bits: CInt) {
        guard bits > 0, bits <= CInt(HandlerKinds.all.rawValue) else { return nil }
        self.init(rawValue: Int(bits))
    }

    fileprivate init(named bits: CInt) throws(APIError) {
        guard let kinds = HandlerKinds(c: bits) else {
            throw .invalidArgument("\(bits) is no combination of ntapi_handler")
        }
        self = kinds
    }
}
