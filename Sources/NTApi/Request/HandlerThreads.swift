/// Where the handlers of a request run. Read separately from the other args, because a request with invalid args calls
/// its handler too.
struct HandlerThreads: Sendable {
    private(set) var response = CallbackThread.main
    /// Nil when all handlers run where the response handler does, which is usual.
    private(set) var others: OtherDestinations?

    /// What the caller does while the request runs.
    enum Caller: Sendable {
        /// It continues. Handlers run on the main thread.
        case whoGoesOn
        /// It awaits in a task, which takes its response on any thread. Other handlers run on a worker, because such a
        /// program need not run the main thread's mailbox.
        case whoAwaits
        /// It waits, and its thread runs its mailbox and the handlers.
        case whoPerforms
    }

    /// Call it on the thread that begins the request.
    ///
    /// - Parameter caller: decides where handlers run that no arg names.
    init(_ args: [APIArg], for caller: Caller = .whoGoesOn) {
        var asked: Asked?
        for index in args.indices {
            guard case .thread(let kinds, let thread) = args[index].kind else { continue }
            asked = asked ?? Asked(caller)
            asked?.set(kinds, thread)
        }
        if case .whoAwaits = caller {
            response = .anywhere
            others = asked?.others ?? .onWorkers
        } else if let asked {
            response = asked.response
            others = asked.isUniform ? nil : asked.others
        } else if case .whoPerforms = caller {
            response = .current
        }
    }

    /// The threads that the args name.
    private struct Asked {
        var response: CallbackThread
        var uploadProgress: CallbackThread
        var downloadProgress: CallbackThread
        /// Nil is where the response handler runs.
        var data: CallbackThread?
        /// Nil is where the response handler runs.
        var decision: CallbackThread?
        /// Whether one arg names the same thread for all.
        var isUniform = false

        init(_ caller: Caller) {
            let usual: CallbackThread
            switch caller {
            case .whoGoesOn: usual = .main
            case .whoAwaits: usual = .background
            case .whoPerforms: usual = .current
            }
            response = usual
            uploadProgress = usual
            downloadProgress = usual
            if case .whoAwaits = caller {
                data = usual
                decision = usual
            }
        }

        mutating func set(_ kinds: HandlerKinds, _ thread: CallbackThread) {
            isUniform = kinds.isSuperset(of: .all)
            if kinds.contains(.response) { response = thread }
            if kinds.contains(.uploadProgress) { uploadProgress = thread }
            if kinds.contains(.downloadProgress) { downloadProgress = thread }
            if kinds.contains(.data) { data = thread }
            if kinds.contains(.decision) { decision = thread }
        }

        var others: OtherDestinations {
            OtherDestinations(
                uploadProgress: Destination(uploadProgress), downloadProgress: Destination(downloadProgress),
                data: Destination(data ?? response), decision: Destination(decision ?? response))
        }
    }
}

/// The destinations of the callbacks that do not run where the response handler does.
final class OtherDestinations: Sendable {
    let uploadProgress: Destination
    let downloadProgress: Destination
    let data: Destination
    let decision: Destination

    static let onWorkers = OtherDestinations(
        uploadProgress: .background, downloadProgress: .background, data: .background, decision: .background)

    init(uploadProgress: Destination, downloadProgress: Destination, data: Destination, decision: Destination) {
        self.uploadProgress = uploadProgress
        self.downloadProgress = downloadProgress
        self.data = data
        self.decision = decision
    }
}
