import Testing

@testable import NTApi

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

    /// A request with a low limit neither waits for requests with a high limit nor delays them.
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

    /// The queue leaves reserved connections to others, but it always lets one request through.
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

    /// If all servers share a limit, requests wait in one order, whatever their servers.
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
        // The second request to a has to wait for the first one, but the request to b does not.
        #expect(order == [4, 1, 3, 2, 5] && queue.hostCount == 0, "\(order)")
    }

    @Test func callersTakePartOfTheTotal() {
        var queue = HostQueue<Int>(total: 3)
        for number in 1...4 { _ = queue.enqueue(number, to: key("\(number)"), priority: 0, limit: 3) }
        #expect(queue.startNext(reserved: 1) == 1)
        #expect(queue.startNext(reserved: 1) == 2)
        #expect(queue.startNext(reserved: 1) == nil)
        #expect(queue.startNext() == 3)
    }

    /// No more requests than the limit run at once, and each request gets through.
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
