@testable import NTApi

/// A URL of the fault server's `/cached`, used by one test. The server counts its requests.
struct CachedPage {
    let token = "cache-\(UInt64.random(in: 0 ... .max))"
    var args: [APIArg]
    var command = "cached"

    /// - Parameter parameters: the parameters of the scenario.
    init(_ parameters: [(String, String)]) {
        args = parameters.map { .url($0.0, $0.1) }
    }

    func get(_ client: APIClient, _ more: [APIArg] = []) async -> APIResponse {
        await client.response(command, args: [.url("token", token)] + args + more)
    }

    /// How many requests the server has received.
    func count(_ client: APIClient) async -> Int {
        let response = await client.response("count", args: [.url("token", token)])
        return response.json?["count"]?.int ?? -1
    }

    /// The requests as the server saw them.
    func seen(_ client: APIClient) async -> [JSON] {
        await client.response("seen", args: [.url("token", token)]).json?["requests"]?.array ?? []
    }
}

/// A clock that tests set.
final class TestTime: Sendable {
    private let seconds: Lock<Double>

    init(_ seconds: Double = wallClockSeconds()) { self.seconds = Lock(seconds) }

    var now: Double { seconds.withLock { $0 } }

    func advance(_ more: Double) { seconds.withLock { $0 += more } }

    /// A memory cache that uses this clock.
    func cache(_ capacity: Int = 1 << 20) -> HTTPCache { HTTPCache(capacity, disk: nil, { self.now }) }
}

/// An ephemeral session of the fault server with this cache.
func session(_ cache: HTTPCache, _ change: (inout SessionConfiguration) -> Void = { _ in }) throws -> APIClient {
    try session("fault", .ephemeral) {
        $0.cache = cache
        change(&$0)
    }
}
