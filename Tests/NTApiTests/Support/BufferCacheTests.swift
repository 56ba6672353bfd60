import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The process has one cache. Other tests may take the buffers that these tests give back. So these tests check only
/// what holds in any case.
@Suite struct BufferCacheTests {
    @Test func aBufferIsLargeEnoughAndNotFarTooLarge() throws {
        for size in [40_000, 70_000, 200_000] {
            BufferCache.give(try #require(malloc(size)), size: size)
            if let taken = BufferCache.take(atLeast: 35_000) {
                #expect(taken.size >= 35_000 && taken.size <= 70_001)
                BufferCache.give(taken.start, size: taken.size)
            }
        }
        #expect(BufferCache.take(atLeast: 1 << 30) == nil)
    }

    /// Bytes of a freed body must not appear in the next one.
    @Test func bodiesOfAllSizesKeepTheirBytes() {
        for round in 0..<200 {
            let count = 20_000 + round * 1000
            let bytes = Bytes()
            #expect(bytes.reserve(round.isMultiple(of: 2) ? count : 0))
            let piece = [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: 1000)
            for _ in 0..<(count / 1000) { #expect(piece.withUnsafeBytes { bytes.append($0) }) }
            #expect(bytes.count == count / 1000 * 1000)
            #expect(bytes.buffer.allSatisfy { $0 == UInt8(truncatingIfNeeded: round) })
            #expect(bytes.buffer.baseAddress?.load(fromByteOffset: bytes.count, as: UInt8.self) == 0)
        }
    }
}
