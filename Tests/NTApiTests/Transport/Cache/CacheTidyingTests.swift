import Testing

@testable import NTApi

@Suite struct CacheTidyingTests {
    private func file(_ name: String, _ size: Int64 = 10, used: Double = 1000) -> CacheFolder.File {
        .init(name: name, size: size, used: used)
    }

    @Test func whatFitsStays() {
        let tidying = CacheTidying([file("a.json"), file("a.1.body")], capacity: 20, now: 1000)
        #expect(tidying.gone.isEmpty && tidying.usage == 20)
    }

    @Test func theOldestGoTogetherAndTheirRecordsFirst() {
        let files = [
            file("a.1.body", used: 9999), file("a.json", used: 1001), file("b.json", used: 1002), file("b.2.body"),
            file("c.json", used: 1003), file("c.3.body"), file("c.4.body"),
        ]
        let tidying = CacheTidying(files, capacity: 60, now: 1010)
        #expect(tidying.gone == ["a.json", "a.1.body"] && tidying.usage == 50)
        // It removes more than it must, to make some room.
        #expect(CacheTidying(files, capacity: 50, now: 1010).gone == ["a.json", "a.1.body", "b.json", "b.2.body"])
    }

    @Test func whatWasLeftBehindGoesAfterAWhile() {
        let files = [file("x.new"), file("a.1.body"), file("b.json"), file("b.2.body")]
        #expect(CacheTidying(files, capacity: 100, now: 1500).gone.isEmpty)
        #expect(CacheTidying(files, capacity: 100, now: 1700).gone.sorted() == ["a.1.body", "x.new"])
        #expect(CacheTidying(files, capacity: 100, now: 100).gone.sorted() == ["a.1.body", "x.new"])
        #expect(CacheTidying(files, capacity: 100, now: 1700).usage == 20)
    }
}
