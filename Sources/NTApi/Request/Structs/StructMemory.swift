#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Owns the strings and arrays that the members of decoded structs point to.
package final class StructMemory: @unchecked Sendable {
    // Safe to share: one thread writes while it decodes, and later it is only freed.
    private var blocks: [UnsafeMutableRawPointer] = []
    private var free: UnsafeMutableRawBufferPointer = .init(start: nil, count: 0)

    private static let blockSize = 16 * 1024

    deinit {
        for block in blocks { block.deallocate() }
    }

    /// Zeroed memory.
    func array(bytes: Int) -> UnsafeMutableRawPointer {
        let block = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
        block.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
        blocks.append(block)
        return block
    }

    /// A copy with a NUL at its end.
    func string(_ text: UnsafeRawBufferPointer) -> UnsafePointer<CChar> {
        let copy = room(text.count + 1)
        if let source = text.baseAddress { memcpy(copy, source, text.count) }
        copy.storeBytes(of: 0, toByteOffset: text.count, as: UInt8.self)
        return UnsafePointer(copy.assumingMemoryBound(to: CChar.self))
    }

    // Strings are small and many, so they share blocks.
    private func room(_ count: Int) -> UnsafeMutableRawPointer {
        if let start = free.baseAddress, free.count >= count {
            free = UnsafeMutableRawBufferPointer(rebasing: free[count...])
            return start
        }
        let size = max(count, Self.blockSize)
        let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 1)
        blocks.append(block)
        if size > count { free = .init(start: block + count, count: size - count) }
        return block
    }
}
