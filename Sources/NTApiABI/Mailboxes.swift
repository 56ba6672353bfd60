public import CNTApi
import NTApi

/// What an `ntapi_mailbox` stands for.
final class MailboxBox: Sendable {
    let mailbox: Mailbox

    init(_ mailbox: Mailbox) { self.mailbox = mailbox }
}

/// The event that a request in pull style puts into a mailbox.
final class EventBox: Sendable {
    private let token: UInt
    private let event: APIRequest.Event

    init(_ userData: UnsafeMutableRawPointer?, _ event: APIRequest.Event) {
        token = UInt(bitPattern: userData)
        self.event = event
    }

    func store(to destination: UnsafeMutablePointer<ntapi_event>) {
        var stored = ntapi_event()
        stored.user_data = UnsafeMutableRawPointer(bitPattern: token)
        switch event {
        case .response(let response):
            stored.handler = NTAPI_HANDLER_RESPONSE
            let box = ResponseBox(response, isOwed: true)
            stored.response = box.handle
            stored.summary = box.summary
        case .data(let piece):
            stored.handler = NTAPI_HANDLER_DATA
            let box = DataBox(piece)
            stored.data = Handles.make(box)
            stored.summary.data = box.start
            stored.summary.length = box.count
        case .decision(let decision):
            stored.handler = NTAPI_HANDLER_DECISION
            stored.decision = Handles.make(DecisionBox(decision))
        case .progress(let kind, let progress):
            stored.handler = kind == .uploadProgress ? NTAPI_HANDLER_UPLOAD_PROGRESS : NTAPI_HANDLER_DOWNLOAD_PROGRESS
            stored.bytes = progress.bytes
            stored.total = progress.total ?? -1
        }
        destination.initialize(to: stored)
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

@_cdecl("ntapi_mailbox_take") @implementation
public func ntapi_mailbox_take(
    _ mailbox: OpaquePointer!, _ events: UnsafeMutablePointer<ntapi_event>!, _ capacity: Int
) -> Int {
    guard let box = Handles.get(mailbox, MailboxBox.self), let events, capacity > 0 else { return 0 }
    var stored = 0
    while stored < capacity, let event = box.mailbox.takeEvent() as? EventBox {
        event.store(to: events + stored)
        stored += 1
    }
    return stored
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
