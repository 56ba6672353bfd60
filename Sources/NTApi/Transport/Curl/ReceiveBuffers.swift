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
/// take memory once bytes arrive. That is a fifth of what a request in flight costs; and it saves the C library's search for a
/// piece of this size, during which it joins all that is free.
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
    // Safe to share: with the lock only.
    @exclusivity(unchecked) nonisolated(unsafe) private static var slots = BufferSlots(capacity: capacity)
    @exclusivity(unchecked) nonisolated(unsafe) private static var accessible = 0

    /// Sets up libcurl, with these functions where it needs them.
    static func initializeCurl() -> CURLcode {
        // Later versions lend one buffer to all transfers.
        guard (ntapi_version()?.pointee.version_num ?? 0) < 0x08_07_00, reserve() else {
            return curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        }
        return ntapi_global_init(curlAllocates, curlFrees, curlReallocates)
    }

    /// Whether this libcurl needs them.
    static var areUsed: Bool { start != 0 }

    static var takenCount: Int { SharedMutex.receiveBuffers.withLock { slots.taken } }

    /// Reserves addresses, which costs no memory.
    private static func reserve() -> Bool {
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

    /// Nil when there are no more.
    fileprivate static func take() -> UnsafeMutableRawPointer? {
        SharedMutex.receiveBuffers.withLock {
            guard let slot = slots.take() else { return nil }
            if slot < accessible || makeAccessible(slot) { return address(slot) }
            _ = slots.giveBack(slot)
            return nil
        }
    }

    fileprivate static func giveBack(_ pointer: UnsafeMutableRawPointer?) {
        let slot = Int((UInt(bitPattern: pointer) &- start) / stride)
        SharedMutex.receiveBuffers.withLock {
            for slot in slots.giveBack(slot) {
                #if os(Linux)
                    madvise(address(Int(slot)), Int(stride), MADV_DONTNEED)
                #else
                    madvise(address(Int(slot)), Int(stride), MADV_FREE)
                #endif
            }
        }
    }

    private static func makeAccessible(_ slot: Int) -> Bool {
        let count = min(step, capacity - slot)
        guard mprotect(address(slot), count * Int(stride), PROT_READ | PROT_WRITE) == 0 else { return false }
        accessible = slot + count
        return true
    }

    private static func address(_ slot: Int) -> UnsafeMutableRawPointer? {
        UnsafeMutableRawPointer(bitPattern: start &+ UInt(slot) &* stride)
    }
}

private func curlAllocates(_ size: Int) -> UnsafeMutableRawPointer? {
    guard size == ReceiveBuffers.size + 1 || size == ReceiveBuffers.size else { return malloc(size) }
    return ReceiveBuffers.take() ?? malloc(size)
}

private func curlFrees(_ pointer: UnsafeMutableRawPointer?) {
    if ReceiveBuffers.own(pointer) { ReceiveBuffers.giveBack(pointer) } else { free(pointer) }
}

/// libcurl grows none of its buffers; it would get what it asks for.
private func curlReallocates(_ pointer: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
    guard let pointer, ReceiveBuffers.own(pointer) else { return realloc(pointer, size) }
    guard let moved = malloc(size) else { return nil }
    memcpy(moved, pointer, min(size, ReceiveBuffers.size + 1))
    ReceiveBuffers.giveBack(pointer)
    return moved
}
