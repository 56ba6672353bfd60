import Synchronization

/// Warns once when a handler waits in a mailbox that nobody runs. The mistake is easy to make and otherwise invisible.
final class MailboxWatch: Sendable {
    /// What the watch needs from the layers above.
    struct Source: Sendable {
        let clock: @Sendable () -> any WaitingClock
        /// Whether there is a request whose handler has not returned.
        let hasRequests: @Sendable () -> Bool
    }

    /// The watch of all mailboxes except those of tests. It is off until `connect`.
    static let shared = MailboxWatch(
        log: { APILog.warn($0) }, source: { connection.withLock { $0 } }, isListening: false)

    private static let connection = Lock<Source?>(nil, survivesFork: true)
    private static let patience = 5.0

    private let log: @Sendable (String) -> Void
    private let source: @Sendable () -> Source?
    private let isListening: Atomic<Bool>

    private init(
        log: @escaping @Sendable (String) -> Void, source: @escaping @Sendable () -> Source?, isListening: Bool
    ) {
        self.log = log
        self.source = source
        self.isListening = Atomic(isListening)
    }

    /// Makes a separate watch, for tests.
    convenience init(
        clock: any WaitingClock, log: @escaping @Sendable (String) -> Void,
        hasRequests: @escaping @Sendable () -> Bool
    ) {
        let source = Source(clock: { clock }, hasRequests: hasRequests)
        self.init(log: log, source: { source }, isListening: true)
    }

    /// Switches the shared watch on. Only the first call counts, so that a forked child does not warn again.
    ///
    /// Takes a lock that survives a fork, so the caller must hold no such lock.
    static func connect(_ source: Source) {
        let isFirst = connection.withLock { current in
            defer { current = current ?? source }
            return current == nil
        }
        if isFirst { shared.isListening.store(true, ordering: .relaxed) }
    }

    /// Whether it may still warn.
    var isOn: Bool { isListening.load(ordering: .relaxed) }

    /// Checks a mailbox after some seconds.
    func begin(_ mailbox: MailboxReference, runs: Int) {
        guard let source = source() else { return }
        let clock = source.clock()
        let moment = clock.now.advanced(bySeconds: Self.patience)
        clock.schedule(.limit, at: moment) { [self] in
            mailbox.mailbox?.closeIfMainHasEnded()
            // The job runs early when the process exits. A waiting callback that belongs to no request is no mistake
            // either.
            guard clock.now >= moment, mailbox.mailbox?.isUnattended(since: runs) == true, source.hasRequests(),
                isListening.exchange(false, ordering: .relaxed)
            else { return }
            log(
                "a handler has waited \(Int(Self.patience)) seconds for a thread that does not run its mailbox: run it "
                    + "(Mailbox.run, ntapi_mailbox_run, ntapi.run), wait in the library, or choose the thread background"
            )
        }
    }
}
