import Testing

@testable import NTApi

/// The decision whether a response is stored.
@Suite struct CacheHookTests {
    private let folder: String

    init() throws {
        folder = "\(try TestServers.url("tmp"))/hook-\(UInt64.random(in: 0 ... .max))"
    }

    private func request(
        _ client: APIClient, _ page: CachedPage, for kinds: RequestDecision.Kinds = .cache,
        _ decide: @escaping APIRequest.DecisionHandler
    ) async -> APIResponse? {
        let request = client.request(
            page.command, args: [.url("token", page.token)] + page.args + [.responseThread(.background)])
        request.setDecisionHandler(for: kinds, decide)
        request.resume()
        await onThread { request.wait() }
        return request.response
    }

    private let page = CachedPage([("h-Cache-Control", "max-age=100")])

    @Test(arguments: [(CacheStorage.disk, 2, ResponseSource.cache), (.none, 0, .network), (.memory, 0, .cache)])
    func saysWhereAResponseIsKept(_ storage: CacheStorage, _ files: Int, _ second: ResponseSource) async throws {
        let cache = try HTTPCache(folder: folder)
        let client = try session(cache)
        let asked = Log<String>()
        let first = await request(client, page) { decision in
            asked.append("\(decision.kind) \(decision.status) \(decision.proposedStorage)")
            #expect(decision.headers["Cache-Control"] == "max-age=100")
            #expect(!decision.becomeDownload(to: "/x") && !decision.trust())
            switch storage {
            case .disk: #expect(decision.proceed())
            case .none: #expect(decision.refuse())
            case .memory: #expect(decision.storeInMemory())
            }
            #expect(!decision.proceed() && !decision.storeInMemory())
        }
        #expect(first?.source == .network && asked.all == ["cache 200 disk"])
        try cache.save()
        #expect(shell("ls \(folder) 2>/dev/null").count { $0 == UInt8(ascii: "\n") } == files)
        #expect(await page.get(client).source == second)
    }

    @Test func isAnsweredLaterOrNotAtAll() async throws {
        let client = try session(HTTPCache())
        let kept = Log<RequestDecision>()
        async let later = request(client, page) { kept.append($0) }
        let decision = await kept.first(1)[0]
        #expect(decision.proposedStorage == .memory && client.cache?.currentMemoryUsage == 0)
        #expect(decision.request.state == .running)
        await onThread { _ = decision.proceed() }
        #expect(await later?.error == nil)
        #expect(client.cache?.currentMemoryUsage ?? 0 > 0)
        client.cache?.removeAll()
        #expect(await request(client, page) { _ in }?.source == .network)
        #expect(client.cache?.currentMemoryUsage ?? 0 > 0)
    }

    @Test func isNotAskedWhereNothingIsStored() async throws {
        let client = try session(HTTPCache())
        let asked = Log<RequestDecision.Kind>()
        for headers in [[("h-Cache-Control", "no-store")], [("h-Cache-Control", "max-age=9"), ("statuses", "304")]] {
            _ = await request(client, CachedPage(headers)) { asked.append($0.kind) }
        }
        #expect(asked.all.isEmpty)
        let without = TestClient(at: try TestServers.url("fault"))
        _ = await request(without, page) { asked.append($0.kind) }
        #expect(asked.all.isEmpty)
    }

    @Test func cancelling() async throws {
        let client = try session(HTTPCache())
        let response = await request(client, page) { decision in _ = decision.cancel() }
        #expect(response?.error?.code == .cancelled && client.cache?.currentMemoryUsage == 0)
    }

    /// The response decision is also asked for responses from the cache.
    @Test func responsesOfTheCacheAreAskedAbout() async throws {
        let client = try session(HTTPCache())
        _ = await page.get(client)
        let asked = Log<Int>()
        let second = await request(client, page, for: .response) { decision in
            asked.append(decision.status)
            decision.proceed()
        }
        #expect(second?.source == .cache && asked.all == [200])
        let file = "\(folder).json"
        let third = await request(client, page, for: .response) { decision in
            asked.append(decision.status)
            #expect(decision.becomeDownload(to: file))
        }
        #expect(third?.file == file && third?.source == .network && third?.error == nil && asked.all == [200, 200])
        let fourth = await request(client, page, for: .response) { _ = $0.cancel() }
        #expect(fourth?.error?.code == .cancelled)
    }
}
