extension UnsafeRawBufferPointer {
    /// Whether the bytes are the same. For short texts, where calling `memcmp` would cost more than comparing.
    ///
    /// What is left behind the last whole word is compared together with bytes before it once more, not one by one.
    @inline(__always)
    func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        if count >= 8 {
            var index = 0
            while index &+ 8 < count {
                guard word(index) == other.word(index) else { return false }
                index &+= 8
            }
            return word(count &- 8) == other.word(count &- 8)
        }
        if count >= 4 { return half(0) == other.half(0) && half(count &- 4) == other.half(count &- 4) }
        var index = 0
        while index < count {
            guard self[index] == other[index] else { return false }
            index &+= 1
        }
        return true
    }

    @inline(__always)
    private func word(_ offset: Int) -> UInt64 { loadUnaligned(fromByteOffset: offset, as: UInt64.self) }

    @inline(__always)
    private func half(_ offset: Int) -> UInt32 { loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
}
