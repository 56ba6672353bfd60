import Testing

@testable import NTApi

@Suite struct BackgroundStoreTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(_ identifier: String = "com.example.app") throws -> BackgroundStore {
        try BackgroundStore(identifier, root: folder.path)
    }

    private func add(_ store: BackgroundStore, priority: Double = 0.5) throws -> BackgroundRecord {
        try store.add { (number) throws(APIError) in
            var record = BackgroundRecord(
                identifier: number, method: "PUT", url: "http://h/\(number)", work: .upload(file: "/f"), created: 5)
            record.priority = priority
            return record
        }
    }

    @Test func whatWasKeptIsThereWhenItIsOpenedAgain() throws {
        let store = try open()
        #expect(store.records.isEmpty && store.setAside.isEmpty)
        let records = try [0.5, 0.9, 0.5].map { try add(store, priority: $0) }
        #expect(records.map(\.identifier) == [1, 2, 3])
        try store.update(3) { (record) throws(APIError) in
            try record.run()
            record.description = "mine"
        }
        store.close()
        let again = try open()
        #expect(again.records.map(\.identifier) == [2, 1, 3] && again.records.last?.description == "mine")
        #expect(again.records.last?.state == .running && again.records == store.records)
    }

    @Test func anOutcomeIsKeptUntilItsHandlerHasReturned() throws {
        for step in 0..<4 {
            var store = try open("\(step)")
            _ = try add(store)
            let outcome = BackgroundRecordTests.outcomes[0]
            try store.update(1) { (record) throws(APIError) in try record.finish(outcome) }
            // The process ends and another one begins: before the delivery, in the handler, in the handler again, and
            // after it.
            for round in 0..<step {
                #expect(try store.beginDelivery(1) == (round > 0))
                store.close()
                store = try open("\(step)")
                #expect(store.records.first?.outcome == outcome)
            }
            #expect(try store.beginDelivery(1) == (step > 0))
            try store.remove(1)
            store.close()
            store = try open("\(step)")
            #expect(store.records.isEmpty)
            store.close()
        }
    }

    @Test func identifiersAreNeverUsedTwice() throws {
        var store = try open()
        for number in Int64(1)...3 {
            #expect(try add(store).identifier == number)
            try store.remove(number)
        }
        store.close()
        store = try open()
        let next = try add(store).identifier
        #expect(next > 3)
        store.close()
        store = try open()
        #expect(try add(store).identifier > next)
    }

    @Test func moreThanABlockOfIdentifiers() throws {
        var store = try BackgroundStore("s", root: folder.path, block: 3)
        for number in Int64(1)...8 { #expect(try add(store).identifier == number) }
        for number in Int64(1)...8 { try store.remove(number) }
        store.close()
        store = try open("s")
        #expect(try add(store).identifier == 10)
    }

    @Test func twoAtOnceAreAClearError() throws {
        let store = try open()
        let error = try #require(thrown { _ = try open() })
        #expect(error.code == .invalidRequest && error.message.containsSubstring("it is already open in this process"))
        let other = try open("com.example.other")
        _ = try add(other)
        #expect(store.records.isEmpty)
        store.close()
        #expect(try open().records.isEmpty)
    }

    @Test func anyTextIsAnIdentifierOfItsOwn() throws {
        let names = ["a", "../a", "/", "a b", ".", "..", "é", "a/../../b", "%2F"]
        let stores = try names.map { try open($0) }
        for (index, store) in stores.enumerated() { for _ in 0...index { _ = try add(store) } }
        for store in stores { store.close() }
        for (index, name) in names.enumerated() { #expect(try open(name).records.count == index + 1) }
        // Each session has its folder inside of this one.
        #expect(
            folder.modes.count { !$0.contains("/") } == names.count
                && folder.modes.allSatisfy { $0.first != "6" || $0.hasPrefix("600") })
        #expect(thrown { _ = try open("") }?.code == .invalidRequest)
    }

    /// A damaged file does not affect the others.
    @Test func whatMakesNoSenseIsSetAside() throws {
        var store = try open("s")
        let good = try (1...3).map { _ in try add(store) }
        store.close()
        let text = good[1].json.utf8()
        folder.write("s/2.json", Array(text.dropLast(10)))
        folder.write("s/5.json", [])
        folder.write("s/6.json", text)
        folder.write("s/7.json", [0xFF, 0])
        folder.write("s/8.json.new", text)
        folder.write("s/notes.txt", [1])
        folder.write("s/09.json", text)
        folder.write("s/-1.json", text)
        store = try open("s")
        #expect(store.records.map(\.identifier) == [1, 3])
        let aside = store.setAside.sorted { $0.path < $1.path }
        #expect(
            aside.map { $0.path.dropFirst(folder.path.count + 3) } == [
                "-1.json.broken", "2.json.broken", "5.json.broken", "6.json.broken", "7.json.broken",
            ])
        #expect(aside.map(\.reason).allSatisfy { $0.containsSubstring("JSON") || $0.containsSubstring("identifier") })
        #expect(folder.read("s/2.json.broken") == Array(text.dropLast(10)))
        #expect(folder.read("s/8.json.new") == nil && folder.read("s/notes.txt") == [1])
        // It is not set aside twice, and its identifier is not used again. A second broken file gets its own name.
        #expect(try add(store).identifier > 8)
        store.close()
        folder.write("s/2.json", [])
        store = try open("s")
        #expect(store.setAside.map(\.path) == ["\(folder.path)/s/2.json.broken-2"] && store.records.count == 3)
    }

    @Test func whatCannotBeReadIsPassedOver() throws {
        var store = try open("s")
        _ = try add(store)
        store.close()
        _ = shell("cd '\(folder.path)/s' && mkdir 2.json && mkfifo 3.json && ln -s 1.json 4.json")
        store = try open("s")
        #expect(store.records.map(\.identifier) == [1] && store.setAside.count == 3)
    }

    /// A program with an older version of the library does not lose the transfers of a newer one.
    @Test(arguments: ["s/1.json", "s/session.json"]) func aFileOfANewerVersionRefusesTheSession(_ name: String) throws {
        var store = try open("s")
        _ = try add(store)
        store.close()
        let old = try #require(folder.read(name))
        let newer = Array(
            String(decoding: old, as: UTF8.self).replacing(#""version":1"#, with: #""version":2,"more":{}"#).utf8)
        #expect(newer != old)
        folder.write(name, newer)
        let problem = thrown { _ = try open("s") }
        #expect(problem?.message.containsSubstring("\(name) was written by a newer version") == true)
        #expect(folder.read(name) == newer && !folder.modes.contains { $0.containsSubstring("broken") })
        folder.write(name, old)
        store = try open("s")
        #expect(store.records.map(\.identifier) == [1] && store.setAside.isEmpty)
    }

    @Test func aBrokenCountIsSetAside() throws {
        for content in ["", "{}", "[1]", #"{"identifier":"s","reserved":-5}"#, #"{"identifier":"s","reserved":"x"}"#] {
            var store = try open("s")
            let last = try (0..<3).map { _ in try add(store).identifier }.last ?? 0
            store.close()
            folder.write("s/session.json", Array(content.utf8))
            store = try open("s")
            #expect(store.setAside.count == 1 && store.setAside.first?.path.contains("session.json.broken") == true)
            #expect(try add(store).identifier > last)
            store.close()
        }
        folder.write("s/session.json", Array(#"{"identifier":"s","reserved":9223372036854775807}"#.utf8))
        let store = try open("s")
        #expect(thrown { _ = try add(store) }?.message.containsSubstring("no identifiers left") == true)
    }

    /// What happens on a case-insensitive file system.
    @Test func theFolderOfAnotherSessionIsNotTaken() throws {
        folder.write("x", [])
        let store = try open("App")
        _ = try add(store)
        store.close()
        _ = shell("cd '\(folder.path)' && mv App app")
        let error = try #require(thrown { _ = try open("app") })
        #expect(error.code == .invalidRequest && error.message.containsSubstring("\"App\""))
        #expect(thrown { _ = try open("app") }?.message == error.message, "the lock is free again")
    }

    @Test func mistakesOfTheCallerChangeNothing() throws {
        let store = try open()
        _ = try add(store)
        #expect(thrown { _ = try store.beginDelivery(1) }?.message.containsSubstring("no outcome") == true)
        #expect(
            thrown { _ = try store.beginDelivery(2) }?.message.containsSubstring("no background transfer 2") == true)
        try store.remove(99)
        let refusal = APIError(code: .generic, message: "no")
        #expect(
            thrown {
                try store.update(1) { (record) throws(APIError) in
                    record.priority = 1
                    throw refusal
                }
            } == refusal)
        #expect(store.records.first?.priority == 0.5)
        store.close()
        #expect(thrown { _ = try add(store) }?.message.containsSubstring("was closed") == true)
        #expect(thrown { try store.remove(1) } != nil && thrown { try store.update(1) { $0.priority = 1 } } != nil)
        #expect(try open().records.first?.priority == 0.5)
    }

    @Test func manyThreadsKeepAllOfTheirs() async throws {
        let store = try open()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    await onThread {
                        for number in 0..<10 {
                            guard let record = try? self.add(store) else { continue }
                            _ = try? store.update(record.identifier) { (record) throws(APIError) in try record.run() }
                            if number.isMultiple(of: 2) { try? store.remove(record.identifier) }
                        }
                    }
                }
            }
        }
        let kept = store.records
        store.close()
        let again = try open()
        #expect(kept.count == 20 && kept.allSatisfy { $0.state == .running } && again.records == kept)
        #expect(Set(kept.map(\.identifier)).count == 20)
    }
}
