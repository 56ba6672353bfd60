import Synchronization

/// The table behind every opaque pointer of the header.
///
/// A pointer is a slot number and a generation, not an address: NULL, a handle of another type and one that was freed
/// are told from a good one, so that a mistake in C is a status and never a crash.
enum Handles {
    private static let half = UInt.bitWidth / 2

    /// Makes a handle. Several handles of one object are several handles: each is freed for itself.
    ///
    /// - Returns: nil when there is no memory for more.
    static func make<Object: AnyObject>(_ object: Object) -> OpaquePointer? {
        guard let (index, slot) = HandleSlots.take() else { return nil }
        let generation = slot.pointee.fill(Unmanaged.passRetained(object).toOpaque(), ObjectIdentifier(Object.self))
        // An odd value is no address of anything, so a debugger shows at once what it is.
        return OpaquePointer(bitPattern: UInt(generation) << UInt(half) | (UInt(index) << 1 | 1))
    }

    /// The object behind a handle; nil for NULL, another type's, or a freed one.
    static func get<Object: AnyObject>(_ handle: OpaquePointer?, _ type: Object.Type) -> Object? {
        guard let (index, slot, generation) = parts(handle) else { return nil }
        let pointer = slot.pointee.pin(generation, ObjectIdentifier(type))
        let object = pointer.map { Unmanaged<Object>.fromOpaque($0).takeUnretainedValue() }
        unpin(index, slot)
        return object
    }

    /// Ends a handle.
    ///
    /// - Returns: the object it stood for; nil, and nothing happens, for NULL, another type's, or a freed one.
    @discardableResult static func free<Object: AnyObject>(_ handle: OpaquePointer?, _ type: Object.Type) -> Object? {
        guard let (index, slot, generation) = parts(handle) else { return nil }
        var object: Object?
        if let pointer = slot.pointee.pin(generation, ObjectIdentifier(type)), slot.pointee.retire(generation) {
            object = Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
        }
        unpin(index, slot)
        // The object may go when the caller lets go of it, and run the user's code as it does.
        return object
    }

    private static func parts(
        _ handle: OpaquePointer?
    ) -> (index: Int, slot: UnsafeMutablePointer<HandleSlot>, generation: HandleSlot.Generation)? {
        let bits = UInt(bitPattern: handle)
        guard bits & 1 == 1 else { return nil }
        let index = Int((bits & ((1 << UInt(half)) - 1)) >> 1)
        guard let slot = HandleSlots.slot(index) else { return nil }
        return (index, slot, HandleSlot.Generation(bits >> UInt(half)))
    }

    // Whoever leaves a retired slot last empties it.
    private static func unpin(_ index: Int, _ slot: UnsafeMutablePointer<HandleSlot>) {
        guard let pointer = slot.pointee.unpin() else { return }
        HandleSlots.giveBack(index, slot)
        Unmanaged<AnyObject>.fromOpaque(pointer).release()
    }
}

/// The slots of all handles, in chunks of growing size that are never freed, so that a slot's address is for ever.
enum HandleSlots {
    private typealias Chunk = UnsafeMutablePointer<HandleSlot>

    private static let firstChunk = 256
    /// Chunks of 256, 512, 1,024 and so on; with these all numbers that fit into a handle are covered.
    private static let chunkCount = UInt.bitWidth / 2 - 9
    private static let capacity = firstChunk << chunkCount - firstChunk

    // Safe to share: made once and never freed, and what is in it is atomic.
    nonisolated(unsafe) private static let chunks: UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>> = {
        let chunks = UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>>.allocate(capacity: chunkCount)
        for number in 0..<chunkCount { (chunks + number).initialize(to: Atomic(nil)) }
        return chunks
    }()

    /// How many slots were ever used.
    private static let used = Atomic<Int>(0)

    /// The empty slots among them, as a stack: number of the first one plus 1 (0 is none), and above it a count of the
    /// changes. The count is for a thread that has looked at the first slot and its next one when others take both and
    /// give the first one back: the first one is the same then, but its next one is not.
    private static let empty = Atomic<UInt64>(0)

    /// The slot of a number that a handle may have made up.
    static func slot(_ index: Int) -> UnsafeMutablePointer<HandleSlot>? {
        guard index < capacity else { return nil }
        let (number, offset) = place(index)
        return chunks[number].load(ordering: .acquiring).map {
            $0.assumingMemoryBound(to: HandleSlot.self) + offset
        }
    }

    /// An empty slot that nobody else has; nil when there is none to be had.
    static func take() -> (index: Int, slot: UnsafeMutablePointer<HandleSlot>)? {
        var first = empty.load(ordering: .acquiring)
        while first & 0xFFFF_FFFF != 0 {
            let index = Int(first & 0xFFFF_FFFF) - 1
            guard let slot = slot(index) else { return nil }
            let next = UInt64(slot.pointee.nextEmpty.load(ordering: .relaxed))
            let (done, now) = empty.compareExchange(
                expected: first, desired: changed(first, to: next), ordering: .acquiringAndReleasing)
            if done { return (index, slot) }
            first = now
        }
        let index = used.add(1, ordering: .relaxed).oldValue
        guard index < capacity else {
            used.subtract(1, ordering: .relaxed)
            return nil
        }
        return slot(index, addingChunk: true).map { (index, $0) }
    }

    static func giveBack(_ index: Int, _ slot: UnsafeMutablePointer<HandleSlot>) {
        var first = empty.load(ordering: .relaxed)
        while true {
            slot.pointee.nextEmpty.store(UInt32(truncatingIfNeeded: first), ordering: .relaxed)
            let (done, now) = empty.compareExchange(
                expected: first, desired: changed(first, to: UInt64(index + 1)), ordering: .acquiringAndReleasing)
            if done { return }
            first = now
        }
    }

    private static func changed(_ word: UInt64, to first: UInt64) -> UInt64 { (word >> 32 &+ 1) << 32 | first }

    /// Which chunk, and where in it.
    private static func place(_ index: Int) -> (chunk: Int, offset: Int) {
        let number = index + firstChunk
        let chunk = Int.bitWidth - 1 - number.leadingZeroBitCount
        return (chunk - firstChunk.trailingZeroBitCount, number - 1 << chunk)
    }

    private static func slot(_ index: Int, addingChunk: Bool) -> UnsafeMutablePointer<HandleSlot>? {
        if let slot = slot(index) { return slot }
        let number = place(index).chunk
        let count = firstChunk << number
        let made = Chunk.allocate(capacity: count)
        for offset in 0..<count { (made + offset).initialize(to: HandleSlot()) }
        let (done, _) = chunks[number].compareExchange(
            expected: nil, desired: UnsafeMutableRawPointer(made), ordering: .acquiringAndReleasing)
        if !done {
            made.deinitialize(count: count)
            made.deallocate()
        }
        return slot(index)
    }
}

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
