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
