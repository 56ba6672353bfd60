extension UnsafeRawBufferPointer {
    /// Whether the bytes are the same. For short texts, where calling `memcmp` would cost more than comparing.
    @inline(__always)
    func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        var index = 0
        while count &- index >= 8 {
            guard word(index) == other.word(index) else { return false }
            index &+= 8
        }
        guard index < count else { return true }
        // The last eight once more, if there are as many: quicker than one by one.
        if count >= 8 { return word(count &- 8) == other.word(count &- 8) }
        while index < count {
            guard self[index] == other[index] else { return false }
            index &+= 1
        }
        return true
    }

    private func word(_ offset: Int) -> UInt64 { loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
}
