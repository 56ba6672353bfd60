#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Mailbox {
    /// The mailbox of the process's main thread.
    public static var main: Mailbox { Thread.isMain ? current : DeliveryRuntime.current.mainMailbox }

    /// The mailbox of the calling thread.
    public static var current: Mailbox { ThreadMailbox.ofThisThread }
}

/// Gives each thread its mailbox, and sees to it that nothing is lost when the thread ends.
private enum ThreadMailbox {
    private final class Slot {
        // The main thread can end before the process does, with pthread_exit: its mailbox is closed as any other.
        let mailbox = Thread.isMain ? DeliveryRuntime.current.mainMailbox : Mailbox(owner: .thread(pthread_self()))
        let generation = Fork.generation
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { pointer in
            #if canImport(Glibc)
                guard let pointer else { return }
            #endif
            ThreadMailbox.threadEnds(Unmanaged<Slot>.fromOpaque(pointer).takeRetainedValue())
        }
        return key
    }()

    static var ofThisThread: Mailbox {
        if let pointer = pthread_getspecific(key) {
            let slot = Unmanaged<Slot>.fromOpaque(pointer).takeUnretainedValue()
            // A forked child has the parent's mailbox under its key, and must leave it alone.
            if slot.generation == Fork.generation { return slot.mailbox }
        }
        let slot = Slot()
        pthread_setspecific(key, Unmanaged.passRetained(slot).toOpaque())
        DeliveryRuntime.current.register(slot.mailbox)
        return slot.mailbox
    }

    // What waits here can no longer run on its thread: the promise that every handler is called outweighs where.
    private static func threadEnds(_ slot: Slot) {
        guard slot.generation == Fork.generation else { return }
        slot.mailbox.close()
    }
}
