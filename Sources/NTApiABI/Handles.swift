import NTApi

/// The table behind every opaque pointer of the header.
///
/// A pointer is a slot number and a generation, not an address: NULL, a handle of another type and one that was freed
/// are told from a good one, so that a mistake in C is a status and never a crash.
enum Handles {
    private struct Slot {
        var object: AnyObject?
        var type: ObjectIdentifier?
        var generation: UInt = 0
    }

    private struct Table {
        var slots: [Slot] = []
        var free: [Int] = []
    }

    private static let table = Lock(Table(), survivesFork: true)

    private static let half = UInt.bitWidth / 2
    private static let mask: UInt = (1 << UInt(half)) - 1

    /// Makes a handle. Several handles of one object are several handles: each is freed for itself.
    static func make<Object: AnyObject>(_ object: Object) -> OpaquePointer? {
        let bits = table.withLock { table -> UInt in
            let index = table.free.popLast() ?? table.slots.count
            if index == table.slots.count { table.slots.append(Slot()) }
            table.slots[index].object = object
            table.slots[index].type = ObjectIdentifier(Object.self)
            // An odd value is no address of anything, so a debugger shows at once what it is.
            return (table.slots[index].generation & mask) << UInt(half) | (UInt(index) << 1 | 1)
        }
        return OpaquePointer(bitPattern: bits)
    }

    /// The object behind a handle; nil for NULL, another type's, or a freed one.
    static func get<Object: AnyObject>(_ handle: OpaquePointer?, _ type: Object.Type) -> Object? {
        guard let handle, let (index, generation) = parts(handle) else { return nil }
        let object = table.withLock { table -> AnyObject? in
            guard isCurrent(table, index, generation, type) else { return nil }
            return table.slots[index].object
        }
        return object.map { unsafeDowncast($0, to: type) }
    }

    /// Ends a handle.
    ///
    /// - Returns: the object it stood for; nil, and nothing happens, for NULL, another type's, or a freed one.
    @discardableResult static func free<Object: AnyObject>(_ handle: OpaquePointer?, _ type: Object.Type) -> Object? {
        guard let handle, let (index, generation) = parts(handle) else { return nil }
        let object = table.withLock { table -> AnyObject? in
            guard isCurrent(table, index, generation, type) else { return nil }
            let object = table.slots[index].object
            table.slots[index].object = nil
            table.slots[index].type = nil
            table.slots[index].generation &+= 1
            table.free.append(index)
            return object
        }
        // The object may go here, outside the lock, and run the user's code as it does.
        return object.map { unsafeDowncast($0, to: type) }
    }

    private static func parts(_ handle: OpaquePointer) -> (index: Int, generation: UInt)? {
        let bits = UInt(bitPattern: handle)
        guard bits & 1 == 1 else { return nil }
        return (Int(bits & mask) >> 1, bits >> UInt(half))
    }

    private static func isCurrent(_ table: Table, _ index: Int, _ generation: UInt, _ type: AnyObject.Type) -> Bool {
        table.slots.indices.contains(index) && table.slots[index].generation & mask == generation
            && table.slots[index].type == ObjectIdentifier(type)
    }
}
