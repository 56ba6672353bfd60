/// What the process has once to run callbacks: the workers, the main thread's mailbox, and a list of all mailboxes.
///
/// A forked child gets its own and does not touch the parent's, because the parent's threads do not exist in it.
final class DeliveryRuntime: Sendable {
    let workers = WorkerPool()
    let mainMailbox = Mailbox(owner: .mainThread)
    private let mailboxes = Lock<[MailboxReference]>([])
    private let generation = Fork.generation

    private static let slot = Lock<DeliveryRuntime?>(nil, survivesFork: true)

    static var current: DeliveryRuntime {
        let generation = Fork.generation
        return slot.withLock { slot in
            if let runtime = slot, runtime.generation == generation { return runtime }
            // The child leaks the parent's runtime on purpose: to free it would be to touch it.
            if let inherited = slot { _ = Unmanaged.passRetained(inherited) }
            let runtime = DeliveryRuntime()
            slot = runtime
            return runtime
        }
    }

    /// Remembers a mailbox, so that what waits in it can run when the process exits.
    func register(_ mailbox: Mailbox) {
        mailboxes.withLock { mailboxes in
            if mailboxes.count >= 64, mailboxes.count.nonzeroBitCount == 1 { mailboxes.removeAll { $0.mailbox == nil } }
            mailboxes.append(mailbox.reference)
        }
    }

    /// All mailboxes that somebody can still drain.
    var allMailboxes: [Mailbox] { mailboxes.withLock { Array($0) }.compactMap(\.mailbox) + [mainMailbox] }

    /// Runs on a worker what waited for a thread that has ended, or for a mailbox that nobody can drain any more.
    static func adopt(_ callbacks: [Job], _ events: [DeliveryBatch.Event]) {
        let count = callbacks.count + events.count
        guard count > 0 else { return }
        current.workers.run {
            APILog.warn("\(count) callback(s) asked for a thread that has ended: run on a background worker")
            for callback in callbacks { callback.run() }
            for event in events { _ = event.take() }
        }
    }
}
