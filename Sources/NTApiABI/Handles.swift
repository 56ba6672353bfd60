import Synchronization

/// The table behind every opaque pointer of the header.
///
/// A pointer is a slot number and a generation, not an address. So NULL, a handle of another type and a freed one are
/// recognized, and a mistake in C gives a status, not a crash.
enum Handles {
    private static let half = UInt.bitWidth / 2

    /// Makes a handle. An object may have several handles, and each must be freed.
    ///
    /// - Returns: nil when there is no memory for more.
    static func make<Object: AnyObject>(_ object: Object) -> OpaquePointer? { make(object, isLent: false) }

    /// Makes a handle that the library frees, so it does not count as one that the program has.
    static func lend<Object: AnyObject>(_ object: Object) -> OpaquePointer? { make(object, isLent: true) }

    private static func make<Object: AnyObject>(_ object: Object, isLent: Bool) -> OpaquePointer? {
        guard let (index, slot) = HandleSlots.take() else { return nil }
        let generation = slot.pointee.fill(
            Unmanaged.passRetained(object).toOpaque(), ObjectIdentifier(Object.self), isLent: isLent)
        // An odd value is not an address, so it is easy to recognize in a debugger.
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
    /// - Returns: its object; nil, without any effect, for NULL, a handle of another type, or a freed one.
    @discardableResult static func free<Object: AnyObject>(_ handle: OpaquePointer?, _ type: Object.Type) -> Object? {
        guard let (index, slot, generation) = parts(handle) else { return nil }
        var object: Object?
        if let pointer = slot.pointee.pin(generation, ObjectIdentifier(type)), slot.pointee.retire(generation) {
            object = Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
        }
        unpin(index, slot)
        // When the caller releases the object, it may be destroyed and run user code.
        return object
    }

    /// The object behind a handle of any type; nil for NULL, a freed handle, and what is no handle.
    static func any(_ handle: OpaquePointer?) -> AnyObject? {
        guard let (index, slot, generation) = parts(handle) else { return nil }
        let object = slot.pointee.pin(generation).map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() }
        unpin(index, slot)
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

    // The last one to leave a retired slot empties it.
    private static func unpin(_ index: Int, _ slot: UnsafeMutablePointer<HandleSlot>) {
        guard let pointer = slot.pointee.unpin() else { return }
        HandleSlots.giveBack(index, slot)
        Unmanaged<AnyObject>.fromOpaque(pointer).release()
    }
}

/// The slots of all handles, in chunks of growing size. Chunks are never freed, so addresses stay valid.
enum HandleSlots {
    private typealias Chunk = UnsafeMutablePointer<HandleSlot>

    private static let firstChunk = 256
    /// Chunks of 256, 512, 1,024 and so on. They cover all numbers that fit a handle.
    private static let chunkCount = UInt.bitWidth / 2 - 9
    private static let capacity = firstChunk << chunkCount - firstChunk

    // Safe to share: made once, never freed, with atomic content.
    nonisolated(unsafe) private static let chunks: UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>> = {
        LiveHandles.arrangeReport()
        let chunks = UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>>.allocate(capacity: chunkCount)
        for number in 0..<chunkCount { (chunks + number).initialize(to: Atomic(nil)) }
        return chunks
    }()

    /// How many slots were ever used.
    private static let used = Atomic<Int>(0)

    /// The empty slots as a stack: the number of the first one plus 1 (0 is none), and in the upper half a count of
    /// changes. The count solves the ABA problem: while a thread has read the first slot and its successor, others may
    /// take both and return the first one, which then has another successor.
    private static let empty = Atomic<UInt64>(0)

    /// The slot of a number from an untrusted handle.
    static func slot(_ index: Int) -> UnsafeMutablePointer<HandleSlot>? {
        guard index < capacity else { return nil }
        let (number, offset) = place(index)
        return chunks[number].load(ordering: .acquiring).map {
            $0.assumingMemoryBound(to: HandleSlot.self) + offset
        }
    }

    /// How many handles of a type the program has to free. It looks at every slot, so that making a handle costs nothing.
    static func count(_ type: ObjectIdentifier) -> Int {
        (0..<min(capacity, used.load(ordering: .acquiring))).count { slot($0)?.pointee.isOwned(type) ?? false }
    }

    /// Takes an empty slot; nil when there is no memory.
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

    /// The chunk, and the offset in it.
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

/// One slot of the table of handles. It holds an object until its handle is freed.
///
/// There is no lock, for three reasons: every call from C passes here, on any thread; a forked child continues to use
/// its handles, whatever other threads did during the fork; and a lock would cost more than most calls.
///
/// Instead, a reader pins the slot. The race: one thread has found the object and is about to retain it, while another
/// frees the handle and with it the last reference. So freeing only retires the slot, after which nobody finds the
/// object. The last thread to leave a retired slot, the reader or the one that freed it, empties it.
struct HandleSlot: ~Copyable {
    #if _pointerBitWidth(_64)
        typealias Generation = UInt32
    #else
        typealias Generation = UInt16
    #endif

    /// The next empty slot; see `HandleSlots`.
    let nextEmpty = Atomic<UInt32>(0)

    /// Generation, number of pins, filled and retired bits in one word, because they change together.
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
    // Written before the slot is filled, and read with a pin, so `state` orders the accesses.
    private let object = Atomic<UnsafeMutableRawPointer?>(nil)
    private let type = Atomic<UInt>(0)
    private let isLent = Atomic<Bool>(false)

    /// Fills an empty slot that nobody else has.
    ///
    /// - Returns: the generation that finds it.
    func fill(_ object: UnsafeMutableRawPointer, _ type: ObjectIdentifier, isLent: Bool) -> Generation {
        self.object.store(object, ordering: .relaxed)
        self.type.store(UInt(bitPattern: type), ordering: .relaxed)
        self.isLent.store(isLent, ordering: .relaxed)
        // Not a store: a thread with an old handle may be pinning the slot right now.
        return State(word: state.add(State.filled, ordering: .releasing).newValue).generation
    }

    /// Whether it holds an object of that type for the program.
    func isOwned(_ type: ObjectIdentifier) -> Bool {
        State(word: state.load(ordering: .acquiring)).isFilled && !isLent.load(ordering: .relaxed)
            && self.type.load(ordering: .relaxed) == UInt(bitPattern: type)
    }

    /// Finds the object, which stays until `unpin`. Always call `unpin` afterwards.
    func pin(_ generation: Generation, _ type: ObjectIdentifier) -> UnsafeMutableRawPointer? {
        let object = pin(generation)
        return self.type.load(ordering: .relaxed) == UInt(bitPattern: type) ? object : nil
    }

    /// The same for an object of any type.
    func pin(_ generation: Generation) -> UnsafeMutableRawPointer? {
        let found = State(word: state.add(State.onePin, ordering: .acquiring).newValue)
        guard found.isFilled, found.generation == generation else { return nil }
        return object.load(ordering: .relaxed)
    }

    /// Retires the slot, so that nobody finds its object. Call it with a pin.
    ///
    /// - Returns: false when another thread was faster.
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
    /// - Returns: the object, when the slot was retired and is now empty. The caller releases it.
    func unpin() -> UnsafeMutableRawPointer? {
        let left = State(word: state.subtract(State.onePin, ordering: .acquiringAndReleasing).newValue)
        guard left.isToBeEmptied else { return nil }
        // A thread with an old handle may have pinned it since. That thread then empties it.
        let (done, _) = state.compareExchange(
            expected: left.word, desired: left.emptied.word, ordering: .acquiringAndReleasing)
        return done ? object.load(ordering: .relaxed) : nil
    }
}
