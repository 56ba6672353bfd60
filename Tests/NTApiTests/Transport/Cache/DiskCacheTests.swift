import Testing

@testable import NTApi

/// The cache on disk. Two caches in one folder behave like those of two processes.
@Suite struct DiskCacheTests {
    private let folder: String
    private let time = TestTime()

    init() throws {
        folder = "\(try TestServers.url("tmp"))/cache-\(UInt64.random(in: 0 ... .max))/responses"
    }

    private func cache(_ memory: Int = 1 << 20, disk: Int = 1 << 20) throws -> HTTPCache {
        try HTTPCache(memory, disk, folder, { [time] in time.now })
    }

    private func key(_ name: String, _ partition: String = "") throws -> CacheKey {
        CacheKey(try URLParts("http://h/\(name)"), partition: partition)
    }

    private func response(_ text: String, language: String? = nil, tag: [UInt8] = Array("\"1\"".utf8)) -> CachedResponse
    {
        let body = Bytes()
        _ = Array(text.utf8).withUnsafeBytes { body.append($0) }
        var headers = HTTPHeaders([("X-Text", "ü \t\""), ("Content-Length", "1")])
        headers.add(HTTPHeaders.Field(name: "ETag", received: tag))
        return CachedResponse(
            head: ResponseHead(status: 203, headers: headers, httpVersion: 2), requestTime: time.now - 1.5,
            responseTime: time.now, selectors: [.init(name: "", digest: nil), .init(name: "l", digest: language)],
            body: body)
    }

    private func text(_ response: CachedResponse?) -> String? {
        response.map { String(decoding: $0.body.buffer, as: UTF8.self) }
    }

    private func read(_ cache: HTTPCache, _ name: String) throws -> String? {
        text(cache.read(try key(name)) { $0.first })
    }

    private var files: [String] {
        String(decoding: shell("ls -A \(folder) 2>/dev/null"), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func whatIsWrittenIsRead() throws {
        let one = try cache()
        #expect(files.isEmpty)
        let stored = response("text")
        one.store(stored, try key("a"), .disk)
        try one.save()
        #expect(files.count == 2 && !files.contains { $0.hasSuffix(".new") })
        let modes = String(decoding: shell("stat -c %a \(folder) \(folder)/*"), as: UTF8.self)
        #expect(modes == "700\n600\n600\n")
        let found = try #require(try cache().read(try key("a")) { $0.first })
        #expect(text(found) == "text" && found.head.status == 203 && found.head.httpVersion == 2)
        #expect(found.head.headers == stored.head.headers && found.selectors == stored.selectors)
        #expect(found.requestTime == stored.requestTime && found.responseTime == stored.responseTime)
        #expect(try read(try cache(), "b") == nil)
        #expect(try cache().read(try key("a", "other")) { $0.first } == nil)
    }

    /// A program may choose a folder that has other files.
    @Test func filesOfOthersAreNotTouched() throws {
        let digest = String(repeating: "a", count: 64)
        let names = [
            "package.json", "a.json", "a.1.body", "x.new", "\(digest)", "\(digest).txt", "\(digest).json.bak",
            "\(digest.dropLast()).json", "\(digest.dropLast())g.json", "\(digest)-a.json", "\(digest).body",
            "\(digest).g.body", "\(digest).1.2.body", "12345678901234567.new", "index.html",
        ]
        _ = shell("mkdir -p \(folder) && cd \(folder) && touch -d @1 \(names.joined(separator: " "))")
        let one = try cache(disk: 4000)
        for number in 0..<20 { one.store(response("\(number)"), try key("\(number)"), .disk) }
        try one.save()
        #expect(files.count > names.count)
        one.removeAll()
        #expect(Set(files) == Set(names))
    }

    @Test func whatIsInMemoryOnlyIsNeverWritten() throws {
        let one = try cache()
        one.store(response("secret"), try key("a"), .memory)
        try one.save()
        #expect(one.variants(try key("a")).count == 1)
        #expect(files.isEmpty)
        // It replaces the response on disk.
        one.store(response("open"), try key("b"), .disk)
        one.store(response("secret"), try key("b"), .memory)
        try one.save()
        #expect(try read(try cache(), "b") == nil)
        #expect(files.isEmpty)
    }

    /// The server gets a tag back byte for byte.
    @Test func aHeadKeepsItsBytes() throws {
        let one = try cache()
        let tag: [UInt8] = [0x22, 0xE9, 0x22]
        one.store(response("x", tag: tag), try key("a"), .disk)
        try one.save()
        let found = try #require(try cache().read(try key("a")) { $0.first })
        #expect(found.head.headers.bytes("ETag") == tag && found.head.headers["ETag"] == "\"é\"")
    }

    @Test func itIsReadBeforeItIsWritten() throws {
        let one = try cache(0)
        for number in 0..<50 {
            one.store(response("\(number)"), try key("a"), .disk)
            #expect(try read(one, "a") == "\(number)")
        }
        one.remove(try key("a"))
        #expect(try read(one, "a") == nil)
        try one.save()
        #expect(files.isEmpty)
    }

    @Test func aURLHasVariants() throws {
        let one = try cache(0)
        one.store(response("1", language: "en"), try key("a"), .disk)
        try one.save()
        let other = try cache(0)
        other.store(response("2", language: "de"), try key("a"), .disk)
        try other.save()
        let languages = try #require(
            one.read(try key("a")) { variants in
                #expect(variants.map { $0.selectors[1].digest } == ["de", "en"])
                return variants.last
            })
        #expect(text(languages) == "1")
        other.store(response("3", language: "en"), try key("a"), .disk)
        try other.save()
        #expect(try read(one, "a") == "3")
        // The body that was replaced is removed.
        #expect(files.count == 3)
    }

    @Test func aConfirmedBodyIsNotWrittenAgain() throws {
        let one = try cache()
        one.store(response("text"), try key("a"), .disk)
        try one.save()
        let before = files
        var confirmed = try #require(one.variants(try key("a")).first)
        confirmed.head.headers.set("ETag", "\"2\"")
        one.update(confirmed, try key("a"))
        try one.save()
        #expect(files == before)
        #expect(try cache().read(try key("a")) { $0.first }?.head.headers["ETag"] == "\"2\"")
    }

    @Test func whatIsDamagedIsAMiss() throws {
        func damaged(_ name: String, _ command: String) throws -> String? {
            let one = try cache()
            one.store(response(String(repeating: "x", count: 5000)), try key(name), .disk)
            try one.save()
            let digest = try key(name).digest
            time.advance(10)
            _ = shell("cd \(folder) && \(command) \(digest)* 2>/dev/null")
            return try read(try cache(), name)
        }
        #expect(try damaged("whole", "true")?.count == 5000)
        #expect(try damaged("empty", "truncate -s 0") == nil)
        #expect(try damaged("short", "truncate -s -1") == nil)
        #expect(try damaged("long", "truncate -s +1") == nil)
        #expect(try damaged("gone", "rm -f $(ls | grep body) #") == nil)
        #expect(try damaged("folder", "sh -c 'for f; do rm $f; mkdir $f; done' sh") == nil)
        #expect(try damaged("pipe", "sh -c 'for f; do rm $f; mkfifo $f; done' sh") == nil)
        #expect(try damaged("link", "sh -c 'for f; do mv $f x.$f; ln -s x.$f $f; done' sh") == nil)
        #expect(
            try damaged(
                "byte", "sh -c 'for f; do printf y | dd of=$f bs=1 seek=4000 conv=notrunc status=none; done' sh") == nil
        )
    }

    /// A record may name another record's file, or a file elsewhere.
    @Test func recordsAreOnlyBelievedOfTheirOwn() throws {
        let digest = try key("a").digest
        let body = "\(digest).1.body"
        func record(_ changes: [(String, JSON)]) -> CacheRecord? {
            let variant: [(String, JSON)] = [
                ("status", 200), ("httpVersion", 1.1), ("headers", [["A", "b"]]), ("requestTime", 1),
                ("responseTime", 1),
                ("selectors", [["", .null]]), ("body", JSON(body)), ("length", 1), ("checksum", "ff"),
            ]
            let json: JSON = ["version": 1, "key": JSON(digest), "variants": [JSON(variant + changes)]]
            return CacheRecord(parsing: json.utf8(), digest: digest)
        }
        #expect(record([]) != nil)
        for change: (String, JSON) in [
            ("body", "../../etc/passwd"), ("body", JSON("\(digest).x/../y.body")),
            ("body", JSON(try key("b").digest + ".1.body")),
            ("status", 99), ("status", 100), ("status", "200"), ("httpVersion", 0), ("headers", [["A", "b\r\nX: y"]]),
            ("headers", [["A b", "c"]]), ("headers", [[]]), ("headers", .null), ("length", -1), ("checksum", "-1"),
            ("checksum", 1), ("selectors", [[1, "a"]]), ("selectors", [["a", 1]]), ("requestTime", .null),
        ] {
            #expect(record([change]) == nil, "\(change)")
        }
    }

    @Test func itStaysWithinItsCapacity() throws {
        let one = try cache(0, disk: 100_000)
        for number in 0..<60 {
            one.store(response(String(repeating: "x", count: 9000)), try key("\(number)"), .disk)
            try one.save()
            #expect(one.currentDiskUsage <= 100_000)
        }
        #expect(one.currentDiskUsage > 50_000)
        #expect(try read(one, "59") != nil)
        #expect(try read(one, "0") == nil)
        // A response that would remove too many others is not kept.
        one.store(response(String(repeating: "x", count: 30_000)), try key("large"), .disk)
        try one.save()
        #expect(try read(one, "large") == nil)
        #expect(try read(one, "59") != nil)
    }

    @Test func whatWasUsedStaysLonger() throws {
        let one = try cache(0, disk: 100_000)
        for number in 0..<5 {
            one.store(response(String(repeating: "x", count: 9000)), try key("\(number)"), .disk)
            try one.save()
        }
        _ = shell("touch -d '1 hour ago' \(folder)/*")
        #expect(try read(one, "0") != nil)
        for number in 5..<13 {
            one.store(response(String(repeating: "x", count: 9000)), try key("\(number)"), .disk)
            try one.save()
        }
        #expect(try read(one, "0") != nil)
        #expect(try read(one, "1") == nil)
    }

    @Test func whatAnswersFromMemoryIsUsedOnDiskToo() throws {
        let one = try cache(disk: 100_000)
        for number in 0..<5 { one.store(response(String(repeating: "x", count: 9000)), try key("\(number)"), .disk) }
        try one.save()
        func use(_ name: String) throws -> Bool {
            _ = shell("touch -d '1 hour ago' \(folder)/*")
            #expect(one.variants(try key(name)).count == 1)
            try one.save()
            return shell("find \(folder) -name '*.json' -mmin -30").count > 0
        }
        // The use is not written every time, which would cost too much.
        #expect(try !use("0"))
        time.advance(61)
        #expect(try use("0"))
        #expect(try !use("0"))
        #expect(try use("1"))
        time.advance(61)
        #expect(try use("0"))
        let other = try cache(0, disk: 100_000)
        for number in 5..<13 {
            other.store(response(String(repeating: "x", count: 9000)), try key("\(number)"), .disk)
            try other.save()
        }
        #expect(try read(other, "0") != nil)
        #expect(try read(other, "1") == nil)
    }

    @Test func forgetting() throws {
        let one = try cache()
        for name in ["a", "b"] { one.store(response(name), try key(name), .disk) }
        one.store(response("p"), try key("a", "partition"), .disk)
        try one.save()
        _ = shell("touch \(folder)/mine.txt")
        try one.remove("http://H:80/a#fragment")
        #expect(try [read(one, "a"), read(one, "b")] == [nil, "b"])
        #expect(one.read(try key("a", "partition")) { $0.first } == nil)
        #expect(thrown { try one.remove("ftp://h/") }?.code == .invalidRequest)
        one.store(response("waits"), try key("c"), .disk)
        one.removeAll()
        #expect(try [read(one, "b"), read(one, "c")] == [nil, nil])
        #expect(one.currentMemoryUsage == 0 && one.currentDiskUsage == 0 && files == ["mine.txt"])
        one.store(response("again"), try key("c"), .disk)
        try one.save()
        #expect(try read(try cache(), "c") == "again")
    }

    @Test func aFolderThatCannotBeMadeIsNoCrash() throws {
        _ = shell("mkdir -p $(dirname \(folder)) && touch \(folder)")
        let one = try cache()
        one.store(response("a"), try key("a"), .disk)
        #expect(thrown { try one.save() }?.message.containsSubstring("the cache was not written") == true)
        // The failure is logged once.
        try one.save()
        #expect(one.variants(try key("a")).count == 1 && one.currentDiskUsage == 0)
        #expect(try read(try cache(), "a") == nil)
        #expect(thrown { _ = try HTTPCache(folder: "relative") }?.code == .invalidRequest)
    }

    /// One process clears the cache while another one writes. A new file may be gone before it is renamed: that is no
    /// error.
    @Test func clearingWhileAnotherWritesIsNoError() async throws {
        let (writer, cleaner) = (try cache(), try cache())
        let key = try key("a")
        let isOver = Lock(false)
        await withTaskGroup { group in
            group.addTask { await onThread { while !isOver.withLock({ $0 }) { cleaner.removeAll() } } }
            group.addTask {
                await onThread {
                    for number in 0..<1000 {
                        writer.store(self.response("\(number)"), key, .disk)
                        if let problem = thrown({ try writer.save() }) {
                            Issue.record("write \(number): \(problem.message)")
                            break
                        }
                    }
                    isOver.withLock { $0 = true }
                }
            }
        }
        writer.store(response("last"), key, .disk)
        try writer.save()
        #expect(try read(try cache(), "a") == "last")
    }

    @Test func manyThreadsAndCaches() async throws {
        let caches = [try cache(), try cache(0, disk: 60_000), try cache()]
        let keys = try (0..<8).map { try key("\($0)") }
        await withTaskGroup { group in
            for (index, cache) in (caches + caches).enumerated() {
                group.addTask {
                    await onThread {
                        for round in 0..<150 {
                            let key = keys[(round * 7 + index) % keys.count]
                            switch (round + index) % 5 {
                            case 0: cache.remove(key)
                            case 1, 2:
                                let text = String(repeating: "\(round % 10)", count: 1000 + round * 10)
                                cache.store(self.response(text), key, .disk)
                            case 3: if round % 50 == 0 { cache.removeAll() } else { try? cache.save() }
                            default:
                                // Every found response is complete.
                                let text = self.text(cache.read(key) { $0.first })
                                #expect(text.map { Set($0).count == 1 && $0.count >= 1000 } ?? true)
                            }
                        }
                    }
                }
            }
        }
        for cache in caches { try cache.save() }
        #expect(files.allSatisfy { !$0.hasSuffix(".new") })
    }
}
