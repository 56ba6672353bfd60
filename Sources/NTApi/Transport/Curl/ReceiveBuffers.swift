import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Memory for the buffers that libcurl receives into.
///
/// Before 8.7 each transfer has one of its own from its beginning. Among everything else in the heap, a page of it is in use
/// although nothing is received yet: as the neighbours' of its first and its last byte. Here it has pages of its own, which
/// take memory once bytes arrive. That is a fifth of what a request in flight costs.
///
/// So libcurl gets its memory from the functions below, which are the C library's but for this one size. Where the host program
/// has set up libcurl before, it stays with those that it has.
enum ReceiveBuffers {
    /// Of a buffer as libcurl is told it; it asks for a byte more where it receives, and for just this to send.
    static let size = 65536
    private static let capacity = 16384
    /// So many are made accessible at a time.
    private static let step = 64

    // Safe to share: these two are written once, before libcurl is told of the functions that read them.
    @exclusivity(unchecked) nonisolated(unsafe) private static var start: UInt = 0
    @exclusivity(unchecked) nonisolated(unsafe) private static var stride: UInt = 0
    /// How many bytes there are from `start` on; 0 before it is set.
    @exclusivity(unchecked) nonisolated(unsafe) private static var length: UInt = 0
    // Safe to share: written with them, and what it leads to is touched under `SharedMutex.receiveBuffers` only.
    @exclusivity(unchecked) nonisolated(unsafe) private static var state: UnsafeMutablePointer<State>?

    #if os(Linux)
        private static let addressSpace = __rlimit_resource_t(RLIMIT_AS.rawValue)
    #else
        private static let addressSpace = RLIMIT_AS
    #endif
    private static let infinity = rlim_t.max

    private struct State {
        var slots = BufferSlots(capacity: capacity)
        var accessible = 0
    }

    /// Sets up libcurl, with these functions where it needs them.
    static func initializeCurl() -> CURLcode {
        // Later versions lend one buffer to all transfers.
        guard (ntapi_version()?.pointee.version_num ?? 0) < 0x08_07_00, reserve() else {
            return curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        }
        return ntapi_global_init(curlAllocates, curlFrees, curlReallocates)
    }

    /// Whether they are there: this libcurl needs them, and they could be had.
    static var areReserved: Bool { start != 0 }

    static var takenCount: Int {
        guard let state else { return 0 }
        return SharedMutex.receiveBuffers.withLock { state.pointee.slots.taken }
    }

    /// Reserves addresses, which costs no memory; none where the process may not have as many as it likes.
    private static func reserve() -> Bool {
        var limit = rlimit()
        guard getrlimit(addressSpace, &limit) == 0, limit.rlim_cur == infinity else { return false }
        let page = UInt(max(sysconf(Int32(_SC_PAGESIZE)), 4096))
        let stride = (UInt(size) + page) / page * page
        #if os(Linux)
            let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        #else
            let flags = MAP_PRIVATE | MAP_ANON
        #endif
        let length = Int(stride) * capacity
        guard let start = mmap(nil, length, PROT_NONE, flags, -1, 0), start != MAP_FAILED else { return false }
        #if os(Linux)
            // A huge page would be memory for thirty of them at the first byte of one.
            madvise(start, length, MADV_NOHUGEPAGE)
        #endif
        state = .allocate(capacity: 1)
        state?.initialize(to: State())
        self.start = UInt(bitPattern: start)
        self.stride = stride
        self.length = UInt(length)
        return true
    }

    /// Whether a piece of memory is one of these.
    @inline(__always)
    fileprivate static func own(_ pointer: UnsafeMutableRawPointer?) -> Bool {
        UInt(bitPattern: pointer) &- start < length
    }

    @inline(never) fileprivate static func take(_ size: Int) -> UnsafeMutableRawPointer? {
        guard let state else { return malloc(size) }
        let slot = SharedMutex.receiveBuffers.withLock { () -> Int? in
            guard let slot = state.pointee.slots.take() else { return nil }
            if slot < state.pointee.accessible || makeAccessible(slot, &state.pointee) { return slot }
            _ = state.pointee.slots.giveBack(slot)
            return nil
        }
        return slot.map(address) ?? malloc(size)
    }

    @inline(never) fileprivate static func giveBack(_ pointer: UnsafeMutableRawPointer?) {
        guard let state else { return }
        let slot = Int((UInt(bitPattern: pointer) &- start) / stride)
        SharedMutex.receiveBuffers.withLock { if state.pointee.slots.giveBack(slot) { empty(&state.pointee.slots) } }
    }

    private static func empty(_ slots: inout BufferSlots) {
        for slot in slots.empty() {
            #if os(Linux)
                madvise(address(Int(slot)), Int(stride), MADV_DONTNEED)
            #else
                madvise(address(Int(slot)), Int(stride), MADV_FREE)
            #endif
        }
    }

    private static func makeAccessible(_ slot: Int, _ state: inout State) -> Bool {
        let count = min(step, capacity - slot)
        guard mprotect(address(slot), count * Int(stride), PROT_READ | PROT_WRITE) == 0 else { return false }
        state.accessible = slot + count
        return true
    }

    @inline(never) fileprivate static func move(
        _ pointer: UnsafeMutableRawPointer, _ size: Int
    ) -> UnsafeMutableRawPointer? {
        guard let moved = malloc(size) else { return nil }
        memcpy(moved, pointer, min(size, Self.size + 1))
        giveBack(pointer)
        return moved
    }

    private static func address(_ slot: Int) -> UnsafeMutableRawPointer? {
        UnsafeMutableRawPointer(bitPattern: start &+ UInt(slot) &* stride)
    }
}

// Called for all that libcurl allocates: as short as can be.

private func curlAllocates(_ size: Int) -> UnsafeMutableRawPointer? {
    size == ReceiveBuffers.size + 1 || size == ReceiveBuffers.size ? ReceiveBuffers.take(size) : malloc(size)
}

private func curlFrees(_ pointer: UnsafeMutableRawPointer?) {
    if ReceiveBuffers.own(pointer) { ReceiveBuffers.giveBack(pointer) } else { free(pointer) }
}

/// libcurl grows none of its buffers; it would get what it asks for.
private func curlReallocates(_ pointer: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
    guard let pointer, ReceiveBuffers.own(pointer) else { return realloc(pointer, size) }
    return ReceiveBuffers.move(pointer, size)
}
