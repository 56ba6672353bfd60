import Synchronization

/// Something that an object may be given, and mostly is not: asked for without a lock as long as it is not there.
struct Attachment<Value: Sendable>: ~Copyable, Sendable {
    private let isThere = Atomic<Bool>(false)
    private let lock: Lock<Value?>

    init(sharing mutex: SharedMutex) { lock = Lock(nil, sharing: mutex) }

    var value: Value? { isThere.load(ordering: .acquiring) ? lock.withLock { $0 } : nil }

    func set(_ new: Value?) {
        // What is replaced may run the user's code as it goes, so it must outlive the lock.
        let replaced = lock.withLock { value in exchange(&value, with: new) }
        isThere.store(new != nil, ordering: .releasing)
        withExtendedLifetime(replaced) {}
    }
}
