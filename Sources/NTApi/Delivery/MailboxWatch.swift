import Synchronization

/// Tells the program, once, that a handler waits in a mailbox that nobody runs: an easy mistake, of which nothing is seen.
final class MailboxWatch: Sendable {
    static let shared = MailboxWatch()

    private static let patience = 5.0

    private let clock: (any WaitingClock)?
    private let log: @Sendable (String) -> Void
    private let hasRequests: @Sendable () -> Bool
    private let hasTold = Atomic(false)

    /// - Parameters:
    ///   - clock: nil is the system's.
    ///   - hasRequests: whether there is a request whose handler has not returned.
    init(
        clock: (any WaitingClock)? = nil, log: @escaping @Sendable (String) -> Void = { APILog.warn($0) },
        hasRequests: @escaping @Sendable () -> Bool = { !Runtime.current.requests.isEmpty }
    ) {
        self.clock = clock
        self.log = log
        self.hasRequests = hasRequests
    }

    /// Whether there is still something to tell.
    var isOn: Bool { !hasTold.load(ordering: .relaxed) }

    /// Looks at a mailbox after some seconds.
    func begin(_ mailbox: MailboxReference, runs: Int) {
        let clock = clock ?? Runtime.current.clock
        let moment = clock.now.advanced(bySeconds: Self.patience)
        clock.schedule(.limit, at: moment) { [self] in
            // Before its moment the job is run when the process exits. What waits without a request waits for nobody.
            guard clock.now >= moment, mailbox.mailbox?.isUnattended(since: runs) == true, hasRequests(),
                !hasTold.exchange(true, ordering: .relaxed)
            else { return }
            log(
                "a handler has waited \(Int(Self.patience)) seconds for a thread that does not run its mailbox: run it "
                    + "(Mailbox.run, ntapi_mailbox_run, ntapi.run), wait in the library, or ask for the background")
        }
    }
}
