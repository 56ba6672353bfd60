import Testing

@testable import NTApi

@Suite struct IndexedHeapTests {
    /// Against a plain sorted array, in any order of operations.
    @Test(arguments: [UInt64.random(in: 0 ... .max), 1, 2]) func agreesWithASortedArray(seed: UInt64) {
        var random = SeededGenerator(seed)
        var heap = IndexedHeap<Int, Int>()
        var model: [(key: Int, serial: Int, token: IndexedHeap<Int, Int>.Token)] = []
        var old: [IndexedHeap<Int, Int>.Token] = []
        for serial in 0..<5000 {
            let key = Int.random(in: 0..<50, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1: model.append((key, serial, heap.insert(serial, key: key)))
            case 2:
                guard let index = model.indices.randomElement(using: &random) else { continue }
                heap.update(model[index].token, key: key)
                model[index].key = key
            case 3:
                guard let index = model.indices.randomElement(using: &random) else { continue }
                let gone = model.remove(at: index)
                old.append(gone.token)
                #expect(heap.remove(gone.token) == gone.serial, "seed \(seed)")
            default:
                let least = model.min { ($0.key, $0.serial) < ($1.key, $1.serial) }
                #expect(heap.first?.key == least?.key, "seed \(seed)")
                #expect(heap.popFirst() == least?.serial, "seed \(seed)")
                model.removeAll { $0.serial == least?.serial }
            }
            // Tokens of the past find nothing, even when their slot is used again.
            if let token = old.randomElement(using: &random) {
                heap.update(token, key: -1)
                #expect(heap.remove(token) == nil, "seed \(seed)")
            }
            #expect(heap.count == model.count, "seed \(seed)")
        }
    }

    /// The memory of many goes with the last of them; what named them then finds nothing, and not what came later.
    @Test func tokensOutliveACrowd() {
        var heap = IndexedHeap<Int, Int>()
        let old = (0..<1000).map { heap.insert($0, key: $0) }
        for number in 0..<1000 { #expect(heap.popFirst() == number) }
        let new = (0..<1000).map { heap.insert($0, key: -$0) }
        for token in old { #expect(heap.remove(token) == nil) }
        for (number, token) in new.enumerated() { #expect(heap.remove(token) == number) }
        #expect(heap.isEmpty)
    }
}

@Suite struct HostQueueTests {
    private func key(_ host: String) -> Origin { Origin(scheme: "http", host: host, port: 80) }

    @Test func startsByPriorityThenInOrder() {
        var queue = HostQueue<Int>()
        var tickets: [Int: HostQueue<Int>.Ticket] = [:]
        for (number, priority) in [(1, 0.5), (2, 0.9), (3, 0.5), (4, Double.nan)] {
            tickets[number] = queue.enqueue(number, to: key("a"), priority: priority, limit: 1)
        }
        var order: [Int] = []
        while let next = queue.startNext() {
            order.append(next)
            if let ticket = tickets[next] { queue.remove(ticket) }
        }
        #expect(order == [2, 1, 3, 4])
        #expect(queue.count == 0 && queue.hostCount == 0)
    }

    @Test func keepsHostsApart() {
        var queue = HostQueue<Int>()
        let first = queue.enqueue(1, to: key("a"), priority: 0, limit: 1)
        _ = queue.enqueue(2, to: key("a"), priority: 0, limit: 1)
        _ = queue.enqueue(3, to: key("b"), priority: 0, limit: 0)
        #expect(Set([queue.startNext(), queue.startNext()]) == [1, 3])
        #expect(queue.startNext() == nil)
        queue.remove(first)
        #expect(queue.startNext() == 2)
    }

    /// One that may not have many connections does not wait for those that may, and does not hold them up.
    @Test func keepsLimitsApart() {
        var queue = HostQueue<Int>()
        let many = (1...3).map { queue.enqueue($0, to: key("a"), priority: 0, limit: 2) }
        let one = queue.enqueue(4, to: key("a"), priority: 1, limit: 1)
        _ = queue.enqueue(5, to: key("a"), priority: 1, limit: 1)
        #expect(Set([queue.startNext(), queue.startNext(), queue.startNext()]) == [1, 2, 4])
        #expect(queue.startNext() == nil)
        queue.remove(many[0])
        #expect(queue.startNext() == 3 && queue.startNext() == nil)
        queue.remove(one)
        #expect(queue.startNext() == 5 && queue.startNext() == nil)
    }

    /// What others use is left to them, and one is always let through.
    @Test func leavesConnectionsToOthers() {
        var queue = HostQueue<Int>()
        for number in 1...4 { _ = queue.enqueue(number, to: key("a"), priority: 0, limit: 3) }
        #expect(queue.startNext(reserved: 1) == 1)
        #expect(queue.startNext(reserved: 1) == 2)
        #expect(queue.startNext(reserved: 1) == nil)
        var full = HostQueue<Int>()
        _ = full.enqueue(1, to: key("a"), priority: 0, limit: 3)
        #expect(full.startNext(reserved: 8) == 1)
    }

    /// Where all servers share a limit, one that waits is as good as another, whatever its server.
    @Test func serversShareATotal() throws {
        var queue = HostQueue<Int>(total: 2)
        var tickets: [Int: HostQueue<Int>.Ticket] = [:]
        for (number, host, priority) in [(1, "a", 0.5), (2, "a", 0.5), (3, "b", 0.5), (4, "c", 0.9), (5, "a", 0.5)] {
            tickets[number] = queue.enqueue(number, to: key(host), priority: priority, limit: 1)
        }
        var order: [Int] = []
        var running: [Int] = []
        while queue.count > 0 {
            while let next = queue.startNext() { running.append(next) }
            try #require((1...2).contains(running.count))
            order.append(running.removeFirst())
            if let last = order.last, let ticket = tickets[last] { queue.remove(ticket) }
        }
        // The second to a has to wait for the first; b does not.
        #expect(order == [4, 1, 3, 2, 5] && queue.hostCount == 0, "\(order)")
    }

    /// Never more than the limit at once, and nobody is forgotten.
    @Test(arguments: [UInt64.random(in: 0 ... .max), 7], [nil, 4, 1]) func startsEachOnce(seed: UInt64, total: Int?) {
        var random = SeededGenerator(seed)
        var queue = HostQueue<Int>(total: total)
        var tickets: [Int: HostQueue<Int>.Ticket] = [:]
        var running: [Int: String] = [:]
        var waiting: [Int: String] = [:]
        func remove(_ number: Int) {
            if let ticket = tickets.removeValue(forKey: number) { queue.remove(ticket) }
            running[number] = nil
            waiting[number] = nil
        }
        for number in 0..<3000 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let host = ["a", "b", "c"].randomElement(using: &random) ?? "a"
                let priority = Double.random(in: 0...1, using: &random)
                tickets[number] = queue.enqueue(number, to: key(host), priority: priority, limit: 3)
                waiting[number] = host
            case 2: if let number = running.keys.randomElement(using: &random) { remove(number) }
            default: if let number = waiting.keys.randomElement(using: &random) { remove(number) }
            }
            while let next = queue.startNext() {
                running[next] = waiting.removeValue(forKey: next)
                #expect(running[next] != nil, "seed \(seed)")
            }
            #expect(running.count <= total ?? .max, "seed \(seed)")
            for host in ["a", "b", "c"] {
                let count = running.values.count { $0 == host }
                #expect(count <= 3, "seed \(seed)")
                let isFull = count == 3 || running.count == total
                #expect(isFull || !waiting.values.contains(host), "seed \(seed)")
            }
            #expect(queue.count == running.count + waiting.count, "seed \(seed)")
        }
        for number in Array(running.keys) + Array(waiting.keys) { remove(number) }
        #expect(queue.startNext() == nil)
        #expect(queue.hostCount == 0, "seed \(seed)")
    }
}

@Suite struct ExchangeClocksTests {
    private func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000).advanced(bySeconds: seconds)
    }
    private func clocks(_ timeouts: Timeouts, deadline: Double = 1000) -> ExchangeClocks {
        ExchangeClocks(begun: at(0), timeouts: timeouts, deadline: at(deadline))
    }

    @Test func onlyQueueAndTotalRunInTheQueue() {
        var clocks = clocks(Timeouts(queue: 50, connect: 1, idle: 1, attempt: 1))
        #expect(clocks.expired(at(49)) == nil)
        #expect(clocks.nextDeadline == at(50))
        #expect(clocks.expired(at(50)) == .queue)
        clocks.started(at(49))
        #expect(clocks.queued(until: at(60)) == 49)
        #expect(clocks.nextDeadline == at(50))
        #expect(clocks.expired(at(50)) == .connect)
    }

    @Test func connectEndsWithTheConnection() {
        var clocks = clocks(Timeouts(connect: 2, idle: 5, attempt: 9))
        clocks.started(at(0))
        clocks.connected(at(1))
        #expect(clocks.expired(at(4.9)) == nil)
        clocks.bytesMoved(at(4.9))
        #expect(clocks.nextDeadline == at(9))
        #expect(clocks.expired(at(9)) == .attempt)
        // Earlier news than the latest changes nothing.
        clocks.bytesMoved(at(1))
        #expect(clocks.nextDeadline == at(9))
    }

    @Test func idleBoundsConnectingToo() {
        var clocks = clocks(Timeouts(connect: 30, idle: 5))
        clocks.started(at(0))
        #expect(clocks.expired(at(5)) == .idle)
    }

    @Test func totalAlwaysRuns() {
        var clocks = clocks(Timeouts(connect: nil, idle: nil, total: 5), deadline: 3)
        #expect(clocks.expired(at(3)) == .total)
        clocks.started(at(1))
        clocks.connected(at(1))
        clocks.bytesMoved(at(2.9))
        #expect(clocks.nextDeadline == at(3))
        // The deadline was set when the request began; the limit is what was asked for, however much of it is left.
        #expect(clocks.limit(of: .total) == 5)
    }

    @Test(arguments: [0, -1, Double.nan, -Double.infinity]) func takesNonsenseForNow(_ seconds: Double) {
        var clocks = clocks(Timeouts(idle: seconds))
        clocks.started(at(1))
        #expect(clocks.expired(at(1)) == .idle)
    }

    @Test(arguments: [Double.infinity, 1e300]) func takesTheEndlessForNever(_ seconds: Double) {
        var clocks = clocks(Timeouts(connect: seconds, idle: seconds))
        clocks.started(at(1))
        #expect(clocks.nextDeadline == at(1000))
    }
}

@Suite struct HeaderAssemblerTests {
    private func assemble(_ lines: [String]) -> (HeaderAssembler, [HeaderAssembler.Outcome]) {
        var assembler = HeaderAssembler()
        let outcomes = lines.map { line in Array(line.utf8).withUnsafeBytes { assembler.append($0) } }
        return (assembler, outcomes)
    }

    @Test func assembles() {
        let (assembler, outcomes) = assemble([
            "HTTP/1.1 100 Continue\r\n", "X: interim\r\n", "\r\n", "HTTP/1.0 200 OK\r\n", "A: 1 \r\n", "a:2\r\n",
            "B:\r\n",
            " folded\t\r\n", "no colon\r\n", ": no name\r\n", "\r\n", "Trailer: x\r\n", "HTTP/1.1 500 x\r\n", "\r\n",
        ])
        #expect(outcomes.filter { $0 == .complete }.count == 1)
        #expect(assembler.head?.status == 200 && assembler.head?.httpVersion == 1.0)
        #expect(assembler.head?.headers.all("a") == ["1", "2"])
        #expect(assembler.head?.headers["b"] == "folded")
        #expect(assembler.head?.headers.count == 3)
    }

    /// More than there is room for at first, in lines and in text, and continued lines among them.
    @Test func growsWithItsLines() throws {
        let values = (0..<200).map { String(repeating: "v", count: $0) }
        let lines = values.enumerated().flatMap { ["N\($0.offset): \($0.element)\r\n", "\t\($0.element) \r\n"] }
        let headers = try #require(assemble(["HTTP/1.1 200 OK\r\n"] + lines + ["\r\n"]).0.head).headers
        #expect(headers.map(\.name) == values.indices.map { "N\($0)" })
        #expect(headers.map(\.value) == values.map { $0.isEmpty ? "" : "\($0) \($0)" })
        #expect(headers["n199"] == values[199] + " " + values[199] && headers["n200"] == nil)
    }

    @Test func whatCameIsLikeWhatWasMade() throws {
        let lines = ["HTTP/1.1 200 OK", "A: 1", "Set-Cookie: x", "a: 2", "B:", "set-cookie: y", ""]
        let came = try #require(assemble(lines).0.head).headers
        let made = HTTPHeaders([("A", "1"), ("Set-Cookie", "x"), ("a", "2"), ("B", ""), ("set-cookie", "y")])
        #expect(came == made && Array(came) == Array(made) && came.description == made.description)
        for name in ["a", "A", "b", "SET-COOKIE", "c", ""] {
            #expect(came[name] == made[name] && came.all(name) == made.all(name))
        }
        #expect(came["a"] == "1, 2" && came["set-cookie"] == "x" && came.all("Set-Cookie") == ["x", "y"])
        let changes: [(inout HTTPHeaders) -> Void] = [
            { $0.set("A", "3") }, { $0.set("C", "3") }, { $0.add("a", "3") }, { $0.remove("SET-cookie") },
            { $0.removeSecrets() }, { $0.setIfAbsent("B", "3") },
            { $0.addMissing(from: HTTPHeaders([("b", "3"), ("C", "4")])) },
        ]
        for change in changes {
            var (left, right) = (came, made)
            change(&left)
            change(&right)
            #expect(left == right)
        }
        #expect(came == made)
    }

    @Test(arguments: [
        ("HTTP/2 204", 204, 2.0), ("HTTP/2 204 ", 204, 2), ("HTTP/1.1  302 Found", 302, 1.1), ("HTTP/3 599", 599, 3),
    ])
    func readsStatusLines(_ line: String, _ status: Int, _ version: Double) {
        let (assembler, _) = assemble([line, ""])
        #expect(assembler.head?.status == status && assembler.head?.httpVersion == version)
    }

    @Test(arguments: ["HTTP/", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 099", "HTTP/x 200", "HTTP/1.1 2 00"])
    func refusesStatusLines(_ line: String) { #expect(assemble([line]).1 == [.malformed]) }

    @Test func readsWhatIsNotUTF8AsISO88591() {
        var assembler = HeaderAssembler()
        for line in [Array("HTTP/2 200".utf8), [0x41, 0x3a, 0xff, 0xe4], []] {
            _ = line.withUnsafeBytes { assembler.append($0) }
        }
        #expect(assembler.head?.headers["a"] == "\u{ff}\u{e4}")
        #expect(
            assembler.head?.headers.bytes("a") == [0xff, 0xe4] && assembler.head?.headers.first?.bytes == [0xff, 0xe4])
        var changed = assembler.head?.headers ?? HTTPHeaders()
        changed.add("b", "c")
        #expect(
            changed.bytes("a") == [0xff, 0xe4] && changed.bytes("b") == Array("c".utf8) && changed.bytes("c") == nil)
        changed.set("a", "ÿ")
        #expect(changed.bytes("a") == Array("ÿ".utf8))
    }

    @Test func tellsInterimAnswersThatSaySomething() {
        var assembler = HeaderAssembler()
        var seen: [HeaderAssembler.Outcome] = []
        for line in ["HTTP/1.1 100 Continue", "", "HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 OK", ""] {
            seen.append(Array(line.utf8).withUnsafeBytes { assembler.append($0) })
        }
        #expect(seen == [.more, .more, .more, .more, .information, .more, .complete])
        #expect(assembler.information?.status == 103 && assembler.information?.headers["link"] == "</a>")
        #expect(assembler.head?.status == 200 && assembler.head?.headers.isEmpty == true)
        // Not without a bound.
        var count = 0
        for _ in 0..<100 {
            for line in ["HTTP/1.1 103", ""] {
                if Array(line.utf8).withUnsafeBytes({ assembler.append($0) }) == .information { count += 1 }
            }
        }
        #expect(count == 0)
    }

    @Test func isBounded() {
        var assembler = HeaderAssembler()
        let line = [UInt8](repeating: 0x61, count: 1024)
        for _ in 0..<300 { #expect(line.withUnsafeBytes { assembler.append($0) } == .more) }
        #expect(line.withUnsafeBytes { assembler.append($0) } == .tooLarge)
    }

    /// Whatever a server sends: no trap.
    @Test(arguments: [UInt64.random(in: 0 ... .max)]) func survivesAnything(seed: UInt64) {
        var random = SeededGenerator(seed)
        let alphabet = Array("HTTP/1.2 0\r\n\t:aä\0".utf8)
        for _ in 0..<2000 {
            var assembler = HeaderAssembler()
            for _ in 0..<8 {
                let line = (0..<Int.random(in: 0..<14, using: &random)).map { _ in
                    alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                }
                _ = line.withUnsafeBytes { assembler.append($0) }
            }
            _ = assembler.head?.announcedLength
        }
    }

    @Test(arguments: [
        (["5"], ResponseHead.AnnouncedLength.bytes(5)), ([], .unknown), (["5", "5"], .bytes(5)), (["5, 5"], .bytes(5)),
        (["5", "6"], .invalid), (["-5"], .invalid), (["+5"], .invalid), (["5,"], .invalid), ([""], .invalid),
        (["9223372036854775808"], .invalid), (["0x5"], .invalid),
    ])
    func readsLengths(_ values: [String], _ length: ResponseHead.AnnouncedLength) {
        let headers = HTTPHeaders(values.map { ("Content-Length", $0) })
        #expect(ResponseHead(status: 200, headers: headers, httpVersion: 1.1).announcedLength == length)
    }
}

@Suite struct SuspectConnectionsTests {
    @Test func asksForOneNewConnectionAndNoOldOnes() {
        var suspects = SuspectConnections()
        let key = Origin(scheme: "https", host: "a", port: 443)
        let now = MonotonicTime(nanoseconds: 5_000_000_000)
        #expect(suspects.freshness(for: key, now) == nil)
        suspects.add(key, now)
        let first = suspects.freshness(for: key, now)
        #expect(first?.opensConnection == true && first?.maximumAge == 1)
        let second = suspects.freshness(for: key, now.advanced(bySeconds: 10))
        #expect(second?.opensConnection == false && second?.maximumAge == 10)
        #expect(suspects.freshness(for: key, now.advanced(bySeconds: 601)) == nil)
    }
}

@Suite struct StreamRefusalTests {
    private func verdict(_ lines: String...) -> Bool {
        var refusal = StreamRefusal()
        var lastStream: Int?
        for line in lines { lastStream = Array(line.utf8).withUnsafeBytes { refusal.hear($0) } ?? lastStream }
        return refusal.isCertain(after: lastStream)
    }

    @Test func believesOnlyWhatIsSafe() {
        let goAway = "recveived GOAWAY, error=0, last_stream=99\n"
        #expect(verdict("Using Stream ID: 101 (easy handle 0x1)\n", goAway))
        #expect(!verdict("Using Stream ID: 99 (easy handle 0x1)\n", goAway))
        #expect(!verdict(goAway))
        #expect(!verdict("Using Stream ID: 101 (easy handle 0x1)\n", goAway, "Using Stream ID: 1 (easy handle 0x1)\n"))
        #expect(verdict("REFUSED_STREAM, retrying a fresh connect\n"))
        #expect(!verdict("Using Stream ID: 101", "Connection died, retrying a fresh connect (retry count: 1)\n"))
        #expect(!verdict("Using Stream ID: ", "Using Stream ID: x", " GOAWAY, error=", " GOAWAY, error=1", ""))
        #expect(!verdict("Using Stream ID: 99999999999999999999", " GOAWAY, error=1, last_stream="))
    }
}
