import Synchronization

/// One place of the table of handles: an object, as long as its handle is not freed.
///
/// No lock, for three reasons: every call from C comes through here, from any thread; a forked child goes on using its
/// handles whatever other threads were doing in that moment; and a lock would cost more than most of the calls.
///
/// Instead a reader pins the slot. The story it is for: one thread has found the object and is about to retain it, when
/// another frees the handle, and with it the last reference. So free only retires the slot, after which nobody finds the
/// object there any more; and whoever leaves a retired slot last, be it the reader or the one that freed, empties it.
struct HandleSlot: ~Copyable {
    #if _pointerBitWidth(_64)
        typealias Generation = UInt32
    #else
        typealias Generation = UInt16
    #endif

    /// Where the next one of the empty slots is; see `HandleSlots`.
    let nextEmpty = Atomic<UInt32>(0)

    /// Generation, number of pins, and whether it is filled or retired, in one word: they change together.
    private struct State {
        var word: UInt64

        static let filled: UInt64 = 1
        static let retired: UInt64 = 2
        static let onePin: UInt64 = 4

        var generation: Generation { Generation(truncatingIfNeeded: word >> 32) }
        var isFilled: Bool { word & Self.filled != 0 }
        /// Retired, and without pins.
        var isToBeEmptied: Bool { UInt32(truncatingIfNeeded: word) == UInt32(Self.retired) }
        var emptied: State { State(word: UInt64(generation &+ 1) << 32) }
    }

    private let state = Atomic<UInt64>(0)
    // Written before the slot is filled and read with a pin, so `state` orders them.
    private let object = Atomic<UnsafeMutableRawPointer?>(nil)
    private let type = Atomic<UInt>(0)

    /// Fills an empty slot, which nobody else has.
    ///
    /// - Returns: the generation that finds it.
    func fill(_ object: UnsafeMutableRawPointer, _ type: ObjectIdentifier) -> Generation {
        self.object.store(object, ordering: .relaxed)
        self.type.store(UInt(bitPattern: type), ordering: .relaxed)
        // Not a store: somebody with a handle of old may be looking in just now, and counts as a pin.
        return State(word: state.add(State.filled, ordering: .releasing).newValue).generation
    }

    /// Finds the object, which then stays until `unpin`. That is to be called in any case.
    func pin(_ generation: Generation, _ type: ObjectIdentifier) -> UnsafeMutableRawPointer? {
        let found = State(word: state.add(State.onePin, ordering: .acquiring).newValue)
        guard found.isFilled, found.generation == generation,
            self.type.load(ordering: .relaxed) == UInt(bitPattern: type)
        else { return nil }
        return object.load(ordering: .relaxed)
    }

    /// Makes the slot one that is found no more. To be called with a pin.
    ///
    /// - Returns: false when somebody else was faster.
    func retire(_ generation: Generation) -> Bool {
        var known = State(word: state.load(ordering: .relaxed))
        while known.isFilled, known.generation == generation {
            let retired = known.word & ~State.filled | State.retired
            let (done, now) = state.compareExchange(
                expected: known.word, desired: retired, ordering: .acquiringAndReleasing)
            if done { return true }
            known.word = now
        }
        return false
    }

    /// Ends a `pin`.
    ///
    /// - Returns: the object, when the slot was retired and is empty now: it is the caller's to release.
    func unpin() -> UnsafeMutableRawPointer? {
        let left = State(word: state.subtract(State.onePin, ordering: .acquiringAndReleasing).newValue)
        guard left.isToBeEmptied else { return nil }
        // Somebody with a handle of old may have looked in since, and empties it then.
        let (done, _) = state.compareExchange(
            expected: left.word, desired: left.emptied.word, ordering: .acquiringAndReleasing)
        return done ? object.load(ordering: .relaxed) : nil
    }
}
