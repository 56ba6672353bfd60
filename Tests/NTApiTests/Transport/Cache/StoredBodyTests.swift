import Testing

@testable import NTApi

/// Bodies in the form in which a store keeps them.
@Suite struct StoredBodyTests {
    private func bytes(_ content: [UInt8]) -> Bytes {
        let bytes = Bytes()
        _ = content.withUnsafeBytes(bytes.append)
        return bytes
    }

    private func noise(_ count: Int, _ seed: UInt64) -> [UInt8] {
        var random = SeededGenerator(seed)
        return (0..<count).map { _ in .random(in: 0...255, using: &random) }
    }

    @Test func largeTextsAreCompressed() throws {
        for count in [4096, 100_000, 1_000_000] {
            let text = Array(String(repeating: #"{"city": "London"}"#, count: count / 18 + 1).utf8.prefix(count))
            let value = StoredBody.value(of: bytes(text))
            #expect(value.count < count / 5)
            let read = try #require(StoredBody.read(value, length: Int64(count)))
            #expect(Array(read.buffer) == text)
        }
    }

    @Test func othersAreKeptAsTheyAre() throws {
        let short = [UInt8](repeating: 65, count: 4095)
        for content in [[], short, noise(100_000, 1)] {
            let value = StoredBody.value(of: bytes(content))
            #expect(value == content)
            #expect(StoredBody.read(value, length: Int64(content.count)).map { Array($0.buffer) } == content)
        }
    }

    /// Anybody may have written to the store.
    @Test func damageIsFound() {
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let content = [UInt8](repeating: 65, count: 50_000)
        let value = StoredBody.value(of: bytes(content))
        for _ in 0..<500 {
            var damaged = value
            switch Int.random(in: 0..<3, using: &random) {
            case 0: damaged.removeLast(.random(in: 1...damaged.count, using: &random))
            case 1: damaged[.random(in: 0..<damaged.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
            default: damaged = noise(.random(in: 0..<200, using: &random), random.next())
            }
            // The result has the right length, and the caller compares its checksum. Otherwise it is nil.
            let read = StoredBody.read(damaged, length: 50_000)
            #expect(read == nil || read?.count == 50_000, "seed \(seed)")
        }
        // Lengths that a body cannot have, and lengths that are not the body's.
        for length in [-1, 49_999, 1_000_001, .max] as [Int64] {
            #expect(StoredBody.read(value, length: length) == nil, "\(length)")
        }
    }
}
