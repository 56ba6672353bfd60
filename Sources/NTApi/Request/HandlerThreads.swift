/// Where the handlers of a request run. Read apart from the other args: also a request that these cannot make calls
/// its handler where it was asked to.
struct HandlerThreads: Sendable {
    private(set) var response = CallbackThread.main
    /// Nil where all go with the response, which is the rule.
    private(set) var others: OtherDestinations?

    /// What the caller does while the request runs.
    enum Caller: Sendable {
        /// Its handlers run on the main thread.
        case whoGoesOn
        /// A task, which gets its response wherever that comes. A program that awaits need not run the main thread's mailbox, so
        /// that all else is called on a worker.
        case whoAwaits
        /// Its thread runs its mailbox, and the handlers, until the response is there.
        case whoPerforms
    }

    /// To be called on the thread that begins the request.
    ///
    /// - Parameter caller: says where handlers run of which no arg says it.
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

    /// What the args say.
    private struct Asked {
        var response: CallbackThread
        var uploadProgress: CallbackThread
        var downloadProgress: CallbackThread
        /// Nil is where the response handler runs.
        var data: CallbackThread?
        /// Nil is where the response handler runs.
        var decision: CallbackThread?
        /// Whether all were asked to the same thread.
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

/// Where the callbacks of a request go that do not go with its response.
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
