import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Large and odd objects and arrays of a document. Their members are found in another way than those of small ones.
@Suite struct JSONDocumentTests {
    private func object(_ keys: [String]) throws -> JSON {
        try JSON(parsing: "{" + keys.enumerated().map { #""\#($1)":\#($0)"# }.joined(separator: ",") + "}")
    }

    /// Each key finds its last value, at the place of its first. Other keys find nothing.
    private func check(_ keys: [String]) throws {
        let value = try object(keys)
        var unique: [String] = []
        var last: [String: Int] = [:]
        for (index, key) in keys.enumerated() {
            if last.updateValue(index, forKey: key) == nil { unique.append(key) }
        }
        #expect(value.count == unique.count && value.keys == unique)
        #expect(unique.allSatisfy { value[$0]?.int == last[$0] })
        #expect(value.object?.map(\.value.int) == unique.map { last[$0] })
        for (index, key) in unique.enumerated() where index % max(1, unique.count / 100) == 0 {
            #expect(value.cKey(at: index).map { String(cString: $0) } == key)
        }
        #expect(value.cKey(at: unique.count) == nil && value.cKey(at: -1) == nil)
        for absent in ["", "x", "key", "key 1 ", "aaaaaaaa-bbbbbbbb"] where last[absent] == nil {
            #expect(value[absent] == nil)
        }
        #expect(value == (try JSON(parsing: value.text)))
        #expect(try value.decode([String: Int].self) == last)
    }

    @Test(arguments: [0, 1, 2, 16, 63, 64, 65, 128, 1_000]) func manyMembers(count: Int) throws {
        let keys = (0..<count).map { "key \($0)" }
        try check(keys)
        try check(keys + keys)
        try check(keys + keys.prefix(1))
        try check(keys.reversed() + ["key 0", "key 0"])
        try check(keys.map { "a long key, with more than sixteen bytes: \($0)" })
    }

    /// Ten times as many members may take about ten times as long, but not a hundred times. That would happen if each
    /// look-up went through all members, or compared a key with all others.
    ///
    /// Only this thread's own time counts, so a busy machine adds nothing.
    private func checkGrowth(from count: Int, _ body: (_ count: Int) throws -> Void) throws {
        let once = try processorTime { try body(count) }
        let tenfold = try processorTime { try body(10 * count) }
        #expect(tenfold < 40 * once, "\(once) s, then \(tenfold) s")
    }

    private func processorTime(_ body: () throws -> Void) rethrows -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        try body()
        return now() - start
    }

    @Test func hugeObjects() throws {
        try check((0..<100_000).map { "key \($0)" })
        try checkGrowth(from: 2000) { count in try check((0..<count).map { "key \($0)" }) }
        try checkGrowth(from: 2000) { count in try check((0..<count).map { "key \($0 % 10)" }) }
        try checkGrowth(from: 2000) { count in try check(Array(repeating: "a", count: count)) }
    }

    /// Keys of one length with the same ends: a hash of only some bytes would be the same for all of them.
    private func colliding(_ count: Int) -> [String] { (0..<count).map { "aaaaaaaa\(10_000 + $0)bbbbbbbb" } }

    @Test func keysThatCollide() throws {
        for count in [3, 40, 64, 1_000] {
            try check(colliding(count))
            try check(colliding(count) + colliding(count).suffix(1))
        }
    }

    @Test func hugeObjectsOfKeysThatCollide() throws {
        try checkGrowth(from: 2000) { count in try check(colliding(count)) }
    }

    @Test func hugeArrays() throws {
        try checkGrowth(from: 10_000) { count in
            let scalars = try JSON(parsing: "[" + (0..<count).map(String.init).joined(separator: ",") + "]")
            #expect((0..<count).allSatisfy { scalars[$0]?.int == $0 })
            let objects = try JSON(parsing: "[" + (0..<count).map { #"{"a":[\#($0)]}"# }.joined(separator: ",") + "]")
            #expect((0..<count).reversed().allSatisfy { objects[$0]?["a"]?[0]?.int == $0 })
            #expect((0..<count).allSatisfy { objects[path: "[\($0)].a[0]"]?.int == $0 })
            for value in [scalars, objects] {
                #expect(value[count] == nil && value[-1] == nil && value.count == count)
            }
        }
    }

    @Test func mixedArrays() throws {
        // The counts are around the stride of the index. Some elements take one word of the tape, some more.
        for count in [1, 15, 16, 17, 31, 32, 33, 100] {
            let elements = (0..<count).map { $0 % 3 == 0 ? "[\($0),{}]" : $0 % 3 == 1 ? "\($0)" : "\"\($0)\"" }
            let value = try JSON(parsing: "[\(elements.joined(separator: ","))]")
            #expect((0..<count).allSatisfy { value[$0]?.text == elements[$0] })
            #expect(value.array?.map(\.text) == elements)
        }
    }

    /// Many threads look up the same key at once, for the first time. This is mainly for the thread sanitizer.
    @Test func whatIsMadeOnDemandIsMadeOnce() async throws {
        let large = (0..<100).map { #""k\#($0)":"v\#($0)""# }.joined(separator: ",")
        let list = (0..<40).map { "[\($0)]" }.joined(separator: ",")
        for _ in 0..<20 {
            let document = try JSON(parsing: #"{"s":"a\nb","o":{\#(large),"k0":1},"l":[\#(list)]}"#)
            let answers = await withTaskGroup(of: [UInt].self, returning: [[UInt]].self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        [
                            UInt(bitPattern: document["s"]?.cString?.pointer),
                            UInt(bitPattern: document[path: "o.k99"]?.cString?.pointer),
                            UInt(bitPattern: document["o"]?.cKey(at: 50)), UInt(bitPattern: document.cKey(at: 1)),
                            UInt(document["l"]?[39]?[0]?.int ?? 0),
                        ]
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0 == answers[0] && !$0.contains(0) })
        }
    }

    @Test func recoveredDocumentsBeginBehindTheStrayText() throws {
        let body = Bytes.copy("Warning: x {y}\n{\"a\":[\"b\",{\"c\":1.5}],\"a\\u0000\":1}")
        guard case .failure = JSONParser.parseResponse(body) else {
            Issue.record("a key with U+0000")
            return
        }
        guard case .json(let json, let prefix) = JSONParser.parseResponse(Bytes.copy("Größe: 5 [\"é\",{\"c\":1.5}] "))
        else {
            Issue.record("not recovered")
            return
        }
        #expect(prefix == "Größe: 5 " && json[0]?.string == "é" && json[path: "[1].c"]?.double == 1.5)
        #expect(json[0]?.cString.map { String(cString: $0.pointer) } == "é")
    }
}
