import BenchSupport
import NTApi
import Synchronization

/// Handlers on the main thread, each of which begins the next request.
func runCallbacks(_ client: APIClient, _ args: [APIArg], _ options: Options) {
    func run(_ count: Int) { Callbacks(client, args, options, count).run() }
    run(options.warmup)
    let meters = Meters()
    run(options.count)
    meters.report(options.count)
}

/// Where the work stands.
private final class Callbacks: Sendable {
    private let client: APIClient
    private let args: [APIArg]
    private let options: Options
    private let count: Int
    private let begun = Atomic(0)
    private let done = Atomic(0)

    init(_ client: APIClient, _ args: [APIArg], _ options: Options, _ count: Int) {
        (self.client, self.args, self.options, self.count) = (client, args, options, count)
    }

    func run() {
        for _ in 0..<options.concurrency { begin() }
        Mailbox.main.run()
    }

    private func begin() {
        guard begun.wrappingAdd(1, ordering: .relaxed).oldValue < count else { return }
        client.begin(options.path, args: args) { [self] response in
            check(response, options)
            begin()
            if done.wrappingAdd(1, ordering: .relaxed).newValue == count { Mailbox.main.stop() }
        }
    }
}

/// One blocking call after the other.
func runBlocking(_ client: APIClient, _ args: [APIArg], _ options: Options) {
    func run(_ count: Int) {
        for _ in 0..<count { check(client.perform(options.path, args: args), options) }
    }
    run(options.warmup)
    let meters = Meters()
    run(options.count)
    meters.report(options.count)
}

/// Tasks that await one response after the other.
func runTasks(_ client: APIClient, _ args: [APIArg], _ options: Options) async throws {
    let start = options.base.utf8.count + 1
    try await options.runAwaiting { url in
        check(try await client.send(String(url.dropFirst(start)), args: args), options)
    }
}
