import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A process may be killed at any moment. Each of its transfers is complete, and is delivered once.
///
/// The test runs itself as a child. The child works on a store, and reports each step before and after it. The test
/// kills the child, and compares the report with the disk. NTAPI_SEED repeats a run, but not the exact times of the
/// kills. NTAPI_KILLS sets the number of kills.
#if os(Linux)
    @Suite struct BackgroundStoreKillTests {
        private static let identifier = "killed/again and again"

        @Test func everyTransferIsWholeAndDeliveredOnce() async throws {
            let seed = SeededGenerator.ofThisRun
            var random = SeededGenerator(seed)
            let kills = environment("NTAPI_KILLS").flatMap { Int($0) } ?? 12
            let folder = try TemporaryFolder()
            var longest = 0
            for number in 0..<kills {
                // Some children are killed before they begin. The others come this far on any machine, however slow.
                let isEarly = number.isMultiple(of: 4)
                let steps = isEarly ? 0 : Int.random(in: 1...40, using: &random)
                let delay = UInt32.random(in: 1..<(isEarly ? 2_000 : 20_000), using: &random)
                let lot = seed &+ UInt64(number)
                let lines = try await onThread {
                    Result { try Self.runChild(folder, lot: lot, kill: (steps, delay)) }
                }.get()
                longest = max(longest, lines)
                try check(folder, "seed \(seed), kill \(number)")
            }
            // The last child may finish the rest.
            _ = try await onThread { Result { try Self.runChild(folder, lot: seed) } }.get()
            let store = try BackgroundStore(Self.identifier, root: folder.path)
            #expect(store.records.isEmpty, "seed \(seed)")
            account(try Journal(folder), "seed \(seed)")
            #expect(longest > 5)
        }

        /// - Parameter kill: the number of steps before the kill, and a delay in microseconds after them.
        /// - Returns: the number of steps it took.
        private static func runChild(
            _ folder: TemporaryFolder, lot: UInt64, kill: (steps: Int, delay: UInt32)? = nil
        ) throws -> Int {
            let before = try Journal(folder).steps.count
            let child = try ChildProcess(
                ["/proc/self/exe", "--testing-library", "swift-testing", "--filter", "BackgroundStoreKillTests/child"],
                variables: [
                    "NTAPI_STORE_CHILD=\(folder.path)", "NTAPI_SEED=\(lot)",
                    "NTAPI_STORE_STEPS=\(kill?.steps ?? 0)", "NTAPI_STORE_KILL=\(kill?.delay ?? 0)",
                ])
            while child.readLine() != nil {}
            let status = child.wait()
            #expect(kill == nil ? status == 0 : status != 0)
            return try Journal(folder).steps.count - before
        }

        // MARK: What must hold

        /// The disk shows the steps that have ended. It may also show a step that was under way.
        private func check(_ folder: TemporaryFolder, _ place: Comment) throws {
            let store = try BackgroundStore(Self.identifier, root: folder.path)
            defer { store.close() }
            #expect(store.setAside.isEmpty, place)
            let journal = try Journal(folder)
            let there = Set(store.records.map(\.identifier))
            let (made, removed) = (journal.done["create"] ?? [], journal.begun["remove"] ?? [])
            #expect(there.isSuperset(of: made.subtracting(removed)), place)
            #expect(there.isDisjoint(with: journal.done["remove"] ?? []), place)
            for record in store.records {
                let expected = try expected(record)
                #expect(record == expected, place)
                let isFinished = journal.done["finish"]?.contains(record.identifier) == true
                let mayBeFinished = journal.begun["finish"]?.contains(record.identifier) == true
                #expect(record.outcome == nil ? !isFinished : mayBeFinished, place)
                if case .finished = record.state {
                    #expect(journal.done["deliver"]?.contains(record.identifier) != true, place)
                }
            }
        }

        /// Each transfer was delivered. A second delivery says that it may be one.
        private func account(_ journal: Journal, _ place: Comment) {
            // A record that was killed while it was created, and left no file, does not count.
            let made = Set(journal.steps.filter { $0.what != "create" || $0.isDone }.map(\.identifier))
            #expect(!made.isEmpty, place)
            for identifier in made {
                let steps = journal.steps.filter { $0.identifier == identifier }
                let deliveries = steps.filter { $0.what == "handle" }
                #expect(!deliveries.isEmpty, "\(place): \(identifier) was never delivered")
                #expect(
                    !deliveries.dropFirst().contains { !$0.isAgain },
                    "\(place): \(identifier) was delivered twice: \(steps)")
                #expect(steps.last?.what == "remove", "\(place): \(identifier) went on after its end: \(steps)")
                #expect(
                    steps.count { $0.what == "create" && !$0.isDone } <= 1, "\(place): \(identifier) was made twice")
            }
        }

        private func expected(_ record: BackgroundRecord) throws -> BackgroundRecord {
            var expected = Self.transfer(record.identifier)
            switch record.state {
            case .waiting: break
            case .running: try expected.run()
            case .finished: try expected.finish(Self.outcome(record.identifier))
            case .delivering:
                try expected.finish(Self.outcome(record.identifier))
                _ = try expected.deliver()
            }
            return expected
        }

        // MARK: The child

        private static func transfer(_ identifier: Int64) -> BackgroundRecord {
            var record = BackgroundRecord(
                identifier: identifier, method: "PUT", url: "http://h/\(identifier)", work: .upload(file: "/f"),
                created: 1)
            // From less than a page to many.
            record.description = String(repeating: "transfer \(identifier) ", count: Int(identifier % 7) * 500)
            record.priority = Double(identifier % 3) / 2
            return record
        }

        private static func outcome(_ identifier: Int64) -> BackgroundOutcome {
            BackgroundOutcome(status: 200, body: Array(String(repeating: "\(identifier)", count: 1000).utf8))
        }

        @Test(.enabled(if: environment("NTAPI_STORE_CHILD") != nil)) func child() throws {
            let path = try #require(environment("NTAPI_STORE_CHILD"))
            let delay = environment("NTAPI_STORE_KILL").flatMap { Int($0) } ?? 0
            let steps = environment("NTAPI_STORE_STEPS").flatMap { Int($0) } ?? 0
            let drains = delay == 0
            var random = SeededGenerator(SeededGenerator.ofThisRun)
            let journal = try Journal.Writer(path) { count in
                if !drains, count == steps { Self.dieAfter(microseconds: delay) }
            }
            let store = try BackgroundStore(Self.identifier, root: path)
            if !drains, steps == 0 { Self.dieAfter(microseconds: delay) }
            // Records that a killed child has left come first.
            for record in store.records { try step(store, record, journal, toTheEnd: drains, &random) }
            while !drains {
                try create(store, journal)
                let records = store.records
                for record in records.prefix(records.count > 8 ? 4 : 1) {
                    try step(store, record, journal, toTheEnd: false, &random)
                }
            }
        }

        /// Makes the kernel kill this process soon, wherever the process is then. It cannot catch the signal.
        private static func dieAfter(microseconds: Int) {
            var timer = itimerval()
            timer.it_value.tv_usec = microseconds
            signal(SIGALRM, SIG_DFL)
            setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer, nil)
        }

        private func create(_ store: BackgroundStore, _ journal: Journal.Writer) throws {
            let record = try store.add { identifier in
                journal.add("create", identifier)
                return Self.transfer(identifier)
            }
            journal.add("create", record.identifier, isDone: true)
        }

        /// Takes one or more steps in the life of a transfer.
        private func step(
            _ store: BackgroundStore, _ record: BackgroundRecord, _ journal: Journal.Writer, toTheEnd: Bool,
            _ random: inout SeededGenerator
        ) throws {
            let identifier = record.identifier
            if record.outcome == nil {
                if Bool.random(using: &random) {
                    try store.update(identifier) { (record) throws(APIError) in try record.run() }
                }
                guard toTheEnd || Bool.random(using: &random) else { return }
                journal.add("finish", identifier)
                try store.update(identifier) { (record) throws(APIError) in try record.finish(Self.outcome(identifier))
                }
                journal.add("finish", identifier, isDone: true)
            }
            guard toTheEnd || Bool.random(using: &random) else { return }
            journal.add("deliver", identifier)
            let isAgain = try store.beginDelivery(identifier)
            journal.add("deliver", identifier, isDone: true)
            // This is the handler, which takes some time.
            journal.add("handle", identifier, isAgain: isAgain)
            for _ in 0..<Int.random(in: 0..<1000, using: &random) { sched_yield() }
            journal.add("remove", identifier)
            try store.remove(identifier)
            journal.add("remove", identifier, isDone: true)
        }
    }

    /// The report of a child. It survives the child, because each line is written at once.
    private struct Journal {
        struct Step {
            var what: String
            var identifier: Int64
            var isDone: Bool
            var isAgain: Bool
        }

        private(set) var steps: [Step] = []
        private(set) var begun: [String: Set<Int64>] = [:]
        private(set) var done: [String: Set<Int64>] = [:]

        init(_ folder: TemporaryFolder) throws {
            for line in String(decoding: folder.read("journal") ?? [], as: UTF8.self).split(separator: "\n") {
                let words = line.split(separator: " ")
                let step = Step(
                    what: String(words[0]), identifier: try #require(Int64(words[1])), isDone: words[2] == "true",
                    isAgain: words[3] == "true")
                steps.append(step)
                if step.isDone {
                    done[step.what, default: []].insert(step.identifier)
                } else {
                    begun[step.what, default: []].insert(step.identifier)
                }
            }
        }

        final class Writer {
            private let file: Int32
            private var count = 0
            private let didAdd: (_ count: Int) -> Void

            init(_ path: String, didAdd: @escaping (_ count: Int) -> Void) throws {
                self.didAdd = didAdd
                file = open("\(path)/journal", O_WRONLY | O_CREAT | O_APPEND, 0o600)
                try #require(file >= 0)
            }

            func add(_ what: String, _ identifier: Int64, isDone: Bool = false, isAgain: Bool = false) {
                let line = "\(what) \(identifier) \(isDone) \(isAgain)\n"
                _ = write(file, line, line.utf8.count)
                count += 1
                didAdd(count)
            }
        }
    }
#endif
