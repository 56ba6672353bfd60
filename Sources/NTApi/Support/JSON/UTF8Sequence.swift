/// Well-formed UTF-8 beyond ASCII: table 3-7 of the Unicode Standard.
enum UTF8Sequence {
    /// The length of the sequence that begins there: 2, 3 or 4; 0 when it is not well-formed.
    ///
    /// - Parameter start: a text that ends in NUL, which no sequence contains: no byte behind one is looked at.
    @inline(__always)
    static func length(_ start: UnsafePointer<UInt8>) -> Int {
        let lead = start.pointee
        if lead < 0xE0 {
            return lead >= 0xC2 && isContinuation(start[1]) ? 2 : 0
        }
        let second = start[1]
        if lead < 0xF0 {
            guard isContinuation(second), isContinuation(start[2]) else { return 0 }
            // Too long a form, or a surrogate.
            let isBad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0)
            return isBad ? 0 : 3
        }
        guard lead < 0xF5, isContinuation(second), isContinuation(start[2]), isContinuation(start[3]) else { return 0 }
        // Too long a form, or beyond U+10FFFF.
        let isBad = (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90)
        return isBad ? 0 : 4
    }

    @inline(__always)
    private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }
}
