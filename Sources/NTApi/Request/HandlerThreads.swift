/// Where the handlers of a request run. Read apart from the other args: also a request that these cannot make calls
/// its handler where it was asked to.
struct HandlerThreads: Sendable {
    private(set) var response = CallbackThread.main
    /// Nil where all go with the response, which is the rule.
    private(set) var others: OtherDestinations?

    /// To be called on the thread that begins the request.
    ///
    /// - Parameter isAwaited: whether a task waits for the response, wherever that comes. A program that awaits need not run
    ///   the main thread's mailbox, so that all else is called on a worker unless an arg says otherwise.
    init(_ args: [APIArg], isAwaited: Bool = false) {
        var asked: Asked?
        for index in args.indices {
            guard case .thread(let kinds, let thread) = args[index].kind else { continue }
            asked = asked ?? Asked(isAwaited: isAwaited)
            asked?.set(kinds, thread)
        }
        if isAwaited {
            response = .anywhere
            others = asked?.others ?? .onWorkers
        } else if let asked {
            response = asked.response
            others = asked.isUniform ? nil : asked.others
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

        init(isAwaited: Bool) {
            let usual: CallbackThread = isAwaited ? .background : .main
            response = usual
            uploadProgress = usual
            downloadProgress = usual
            data = isAwaited ? usual : nil
            decision = data
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
