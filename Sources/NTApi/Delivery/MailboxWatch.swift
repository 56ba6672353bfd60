import Synchronization

/// Tells the program, once, that a handler waits in a mailbox that nobody runs: an easy mistake, of which nothing is seen.
final class MailboxWatch: Sendable {
    static let shared = MailboxWatch()

    private static let patience = 5.0

    private let clock: (any WaitingClock)?
    private let log: @Sendable (String) -> Void
    private let hasTold = Atomic(false)

    /// - Parameter clock: nil is the system's.
    init(clock: (any WaitingClock)? = nil, log: @escaping @Sendable (String) -> Void = { APILog.write(.warn, $0) }) {
        self.clock = clock
        self.log = log
    }

    /// Whether there is still something to tell.
    var isOn: Bool { !hasTold.load(ordering: .relaxed) }

    /// Looks at a mailbox after some seconds.
    func begin(_ mailbox: MailboxReference, runs: Int) {
        let clock = clock ?? Runtime.current.clock
        clock.schedule(.limit, at: clock.now.advanced(bySeconds: Self.patience)) { [self] in
            guard mailbox.mailbox?.isUnattended(since: runs) == true,
                !hasTold.exchange(true, ordering: .relaxed)
            else { return }
            log(
                "a handler has waited \(Int(Self.patience)) seconds for a thread that does not run its mailbox: run it "
                    + "(Mailbox.run, ntapi_mailbox_run, ntapi.run), wait in the library, or ask for the background")
        }
    }
}
