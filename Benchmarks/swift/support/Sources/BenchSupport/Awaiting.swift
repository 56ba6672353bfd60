import Synchronization

/// Performs one GET of a URL, checks its response, and returns when the client is a good one.
public typealias Get = @Sendable (_ url: String) async throws -> Void

extension Options {
    /// Runs an `async` client: tasks that perform one request after the other, or thousands in flight.
    public func runAwaiting(_ get: @escaping Get) async throws {
        switch workload {
        case "hold": try await hold(get)
        case "cancel": try await cancel(get)
        default:
            try await run(warmup, get)
            let meters = Meters()
            try await run(count, get)
            meters.report(count)
        }
    }

    private func run(_ count: Int, _ get: @escaping Get) async throws {
        let begun = Counter()
        let url = url
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<concurrency {
                group.addTask { while begun.next() < count { try await get(url) } }
            }
            try await group.waitForAll()
        }
    }

    /// The slow server has all requests; the memory is read; it answers; none may be lost.
    private func hold(_ get: @escaping Get) async throws {
        try await get(base + "/anything")
        var meters = Meters()
        let url = base + "/hold"
        let held = (0..<count).map { _ in Task { try await get(url) } }
        try await get(base + "/arrived/\(count)")
        meters.add("held_rss_kb", memoryKB("VmRSS"))
        try await get(base + "/release")
        for task in held { try await task.value }
        meters.report(count)
    }

    /// The slow server has all requests; each is cancelled, which is what is measured.
    private func cancel(_ get: @escaping Get) async throws {
        try await get(base + "/anything")
        let url = base + "/hang"
        let hanging = (0..<count).map { _ in Task { try await get(url) } }
        try await get(base + "/arrived/\(count)")
        let meters = Meters()
        for task in hanging { task.cancel() }
        for task in hanging {
            if case .success = await task.result { fail("not cancelled") }
        }
        meters.report(count)
    }
}

/// Numbers from 0.
private final class Counter: Sendable {
    private let value = Atomic(0)
    func next() -> Int { value.wrappingAdd(1, ordering: .relaxed).oldValue }
}
