import Testing

@testable import NTApi

@Suite struct MemoryCacheTests {
    private func key(_ name: String, _ partition: String = "") throws -> CacheKey {
        CacheKey(try URLParts("http://h/\(name)"), partition: partition)
    }

    private func response(_ size: Int, language: String? = nil) -> CachedResponse {
        let body = Bytes()
        _ = [UInt8](repeating: 1, count: size).withUnsafeBytes { body.append($0) }
        return CachedResponse(
            head: ResponseHead(status: 200, headers: HTTPHeaders(), httpVersion: 1.1), requestTime: 0, responseTime: 0,
            selectors: [.init(name: "accept-language", digest: language)], body: body)
    }

    @Test func whatWasNotUsedLongestGoes() throws {
        let size = response(1000).size
        var cache = MemoryCache(capacity: size * 5)
        for name in 1...5 { #expect(cache.put(response(1000), try key("\(name)")).isEmpty) }
        #expect(cache.usage == size * 5)
        #expect(cache.variants(try key("1")).count == 1)
        #expect(cache.put(response(1000), try key("6")).count == 1)
        #expect(cache.variants(try key("2")).isEmpty)
        #expect(cache.variants(try key("1")).count == 1)
        #expect(cache.usage == size * 5)
    }

    @Test func aLargeOneIsNotKeptAndTakesTheOldOneWithIt() throws {
        var cache = MemoryCache(capacity: 10_000)
        _ = cache.put(response(100), try key("a"))
        _ = cache.put(response(100, language: "de"), try key("a"))
        #expect(cache.variants(try key("a")).count == 2)
        _ = cache.put(response(5000, language: "de"), try key("a"))
        #expect(cache.variants(try key("a")).map(\.selectors[0].digest) == [nil])
        _ = cache.put(response(5000), try key("a"))
        #expect(cache.variants(try key("a")).isEmpty && cache.usage == 0)
    }

    @Test func usageIsThatOfWhatIsThere() throws {
        var cache = MemoryCache(capacity: 1 << 20)
        var generator = SeededGenerator(SeededGenerator.ofThisRun)
        var expected: [CacheKey: [String: Int]] = [:]
        for _ in 0..<2000 {
            let key = try key(
                "\(Int.random(in: 0..<20, using: &generator))", ["", "p"].randomElement(using: &generator) ?? "")
            let language = "\(Int.random(in: 0..<3, using: &generator))"
            switch Int.random(in: 0..<10, using: &generator) {
            case 0:
                _ = cache.remove(key)
                expected[key] = nil
            default:
                let response = response(Int.random(in: 0..<500, using: &generator), language: language)
                _ = cache.put(response, key)
                expected[key, default: [:]][language] = response.size
            }
            #expect(cache.usage == expected.values.reduce(0) { $0 + $1.values.reduce(0, +) })
        }
        #expect(cache.keys(of: "http://h:80/3").count <= 2)
        _ = cache.removeAll()
        #expect(cache.variants(try key("3")).isEmpty)
        #expect(cache.usage == 0)
    }
}
