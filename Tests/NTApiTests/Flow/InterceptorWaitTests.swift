import Testing

@testable import NTApi

/// Cancels, deadlines and suspensions of a request that an interceptor holds.
@Suite struct InterceptorWaitTests {
    enum Moment: Sendable, CaseIterable {
        case before
        case during
        case after
    }

    private let intercepted = InterceptedStub()
    private var stub: Stub { intercepted.stub }
    private var clock: ManualClock { intercepted.clock }
    /// The errors that the interceptor has caught.
    private let caught = Log<String>()
    private let isInside = Signal()

    /// Waits before, during or after `next` until it is cancelled. Then tries to continue.
    private func staying(_ scope: Interceptor.Scope, _ moment: Moment) -> Interceptor {
        Interceptor(scope) { [caught, isInside] call in
            do {
                if moment == .before {
                    isInside.set()
                    await untilCancelled()
                }
                let response = try await call.next()
                if moment == .after {
                    isInside.set()
                    await untilCancelled()
                    _ = try await call.next()
                }
                return response
            } catch {
                caught.append("\((error as? APIError)?.code.name ?? "\(error)") \(Task.isCancelled)")
                throw error
            }
        }
    }

    private func begin(
        _ scope: Interceptor.Scope, _ moment: Moment, _ args: [APIArg] = []
    ) async -> (request: APIRequest, responses: Log<APIResponse>) {
        stub.on("GET", "way").answer(.json([:], delay: moment == .during ? 1000 : 0))
        let begun = intercepted.client([staying(scope, moment)]).beginLogged("way", args)
        if moment == .during {
            await #expect(throws: Never.self) { try await clock.waitForSleepers() }
        } else {
            await isInside.wait()
        }
        return begun
    }

    @Test(arguments: [Interceptor.Scope.call, .attempt], Moment.allCases) func aCancelReachesIt(
        _ scope: Interceptor.Scope, _ moment: Moment
    ) async throws {
        let (request, responses) = await begin(scope, moment)
        #expect(request.cancel())
        #expect(try await responses.element(0).error?.code == .cancelled)
        #expect(try await caught.element(0) == "request cancelled true")
    }

    @Test(arguments: [Interceptor.Scope.call, .attempt], [Moment.before, .after]) func theDeadlineReachesIt(
        _ scope: Interceptor.Scope, _ moment: Moment
    ) async throws {
        let (request, responses) = await begin(scope, moment, [.timeout(5, .total)])
        clock.advance(by: 4)
        #expect(request.state == .running && caught.all.isEmpty)
        clock.advance(by: 1)
        let error = try await responses.element(0).error
        #expect(error?.code == .timeout && error?.clock == .total)
        #expect(try await caught.element(0) == "request cancelled true")
    }

    /// A request that times out reports its own timeout, even if an interceptor sees the response.
    @Test func theDeadlineOfAnExchangeStaysItsError() async throws {
        stub.on("GET", "way").answer { _ in .json([:], delay: 1000) }
        let plain = intercepted.client([]).beginLogged("way", [.timeout(5, .total)])
        let seen = Log<String>()
        let client = intercepted.client([
            .noting(.call, "outer", in: seen),
            Interceptor(handling: .call) { interception in
                if interception.response == nil { interception.send() } else { interception.proceed() }
            },
        ])
        let watched = client.beginLogged("way", [.timeout(5, .total)])
        try await clock.waitForSleepers(2)
        clock.advance(by: 5)
        let expected = try await plain.responses.element(0).error
        let error = try await watched.responses.element(0).error
        #expect(error?.code == .timeout && error?.clock == .total && error?.failure == expected?.failure)
        #expect(error?.message.containsSubstring("interceptor") == false)
    }

    @Test(arguments: [Interceptor.Scope.call, .attempt]) func noTimePassesWhileItIsSuspended(
        _ scope: Interceptor.Scope
    ) async throws {
        stub.on("GET", "way").answer(.json(["n": 1]))
        let mayGoOn = Signal()
        let client = intercepted.client([
            Interceptor(scope) { [isInside] call in
                isInside.set()
                await mayGoOn.wait()
                return try await call.next()
            }
        ])
        let (request, responses) = client.beginLogged("way", [.timeout(5, .total)])
        await isInside.wait()
        clock.advance(by: 4)
        #expect(request.suspend())
        clock.advance(by: 100)
        mayGoOn.set()
        clock.advance(by: 100)
        #expect(request.state == .suspended && responses.all.isEmpty)
        #expect(request.resume())
        let response = try await responses.element(0)
        #expect(response.error == nil && response.json?["n"]?.int == 1)
    }

    /// One timer serves both waits of a request, and ends with it.
    @Test(arguments: [Interceptor.Scope.call, .attempt]) func theWatchEndsWithTheRequest(
        _ scope: Interceptor.Scope
    ) async throws {
        let (clock, watches) = (clock, Log<Int>())
        stub.on("GET", "way").answer(.json([:]))
        let client = intercepted.client([
            Interceptor(scope) { call in
                watches.append(clock.limits)
                let response = try await call.next()
                watches.append(clock.limits)
                return response
            }
        ])
        let (request, responses) = client.beginLogged("way", [.timeout(5, .total)])
        #expect(try await responses.element(0).error == nil)
        await onThread { request.wait() }
        #expect(watches.all == [1, 1] && clock.limits == 0)
    }

    @Test func afterASuspensionTheRestOfTheTimeIsLeft() async throws {
        let (request, responses) = await begin(.call, .before, [.timeout(5, .total)])
        #expect(request.suspend())
        clock.advance(by: 100)
        #expect(request.resume())
        clock.advance(by: 4)
        #expect(request.state == .running)
        clock.advance(by: 1)
        #expect(try await responses.element(0).error?.clock == .total)
    }

    /// The race: the program cancels on one thread while the response arrives on another.
    @Test func cancelsAtAnyMoment() async throws {
        stub.on("GET", "way").answer { _ in .json([:]) }
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        let (begun, left) = (Log<Bool>(), Log<Bool>())
        let client = intercepted.client([
            Interceptor(.call) { call in
                begun.append(true)
                defer { left.append(true) }
                _ = try await call.next()
                return try await call.next()
            },
            Interceptor(handling: .attempt) { interception in
                if interception.response == nil { interception.send() } else { interception.proceed() }
            },
        ])
        let rounds = 300
        for _ in 0..<rounds {
            let (request, responses) = client.beginLogged("way")
            for _ in 0..<Int.random(in: 0..<60, using: &random) { await Task.yield() }
            let isCancelled = request.cancel()
            let error = try await responses.element(0).error
            #expect(isCancelled ? error?.code == .cancelled : error == nil, "NTAPI_SEED=\(seed)")
        }
        // A function that has started always ends. A request that is cancelled may start another one meanwhile.
        let started = begun.count
        #expect(await left.first(started).count == started)
    }

    @Test func anEndedRequestHoldsNoInterceptor() async throws {
        final class Token: Sendable {}
        stub.on("GET", "way").answer { _ in .json([:]) }
        weak var seen: Token?
        let caught = Log<String>()
        do {
            let token = Token()
            seen = token
            let client = intercepted.client([
                Interceptor(.call) { [isInside] call in
                    _ = token
                    isInside.set()
                    await untilCancelled()
                    caught.append("\(call.number)")
                    throw APIError.cancelled
                }
            ])
            let (request, responses) = client.beginLogged("way")
            await isInside.wait()
            #expect(request.cancel())
            _ = try await responses.element(0)
            client.interceptors = []
            stub.reset()
        }
        _ = await caught.first(1)
        let deadline = MonotonicTime.now().advanced(bySeconds: patience)
        while seen != nil, MonotonicTime.now() < deadline { await Task.yield() }
        #expect(seen == nil)
    }
}
