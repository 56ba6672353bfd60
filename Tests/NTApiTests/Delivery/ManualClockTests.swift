import Testing

@testable import NTApi

/// A clock that stands still until a test advances it.
@Suite struct ManualClockTests {
    private func moment(_ clock: ManualClock, in seconds: Double) -> MonotonicTime {
        clock.now.advanced(bySeconds: seconds)
    }

    @Test func jobsRunWhenTheirTimeHasCome() async {
        let clock = ManualClock()
        let ran = Log<Int>()
        clock.schedule(.pause, at: moment(clock, in: 2)) { ran.append(2) }
        clock.schedule(.limit, at: moment(clock, in: 1)) { ran.append(1) }
        clock.schedule(.pause, at: moment(clock, in: 5)) { ran.append(5) }
        #expect(clock.sleepers == 2 && clock.nextWake == 2)
        clock.advance(by: 0.5)
        #expect(clock.elapsed == 0.5 && clock.nextWake == 1.5)
        clock.advance(by: 0.5)
        #expect(await ran.first(1) == [1])
        clock.advance(by: 3.5)
        #expect(await ran.first(2) == [1, 2])
        #expect(clock.sleepers == 1)
        clock.advance(by: 100)
        #expect(await ran.first(3) == [1, 2, 5])
        #expect(clock.sleepers == 0 && clock.nextWake == nil && clock.elapsed == 104.5)
    }

    @Test func whatIsLateRunsAtOnce() async {
        let clock = ManualClock()
        let ran = Log<Int>()
        clock.schedule(.pause, at: clock.now) { ran.append(1) }
        #expect(await ran.first(1) == [1])
        #expect(clock.sleepers == 0)
    }

    @Test func whatIsCalledOffDoesNotRun() async {
        let clock = ManualClock()
        let ran = Log<Int>()
        let first = clock.schedule(.pause, at: moment(clock, in: 1)) { ran.append(1) }
        clock.schedule(.pause, at: moment(clock, in: 1)) { ran.append(2) }
        first.cancel()
        first.cancel()
        #expect(clock.sleepers == 1)
        clock.advance(by: 1)
        #expect(await ran.first(1) == [2])
        // The first job has run: this cancel is too late, and does not cancel the other job.
        clock.schedule(.pause, at: moment(clock, in: 1)) { ran.append(3) }
        first.cancel()
        #expect(clock.sleepers == 1)
    }

    @Test func timeGoesForwardOnly() {
        let clock = ManualClock(calendar: 1000)
        clock.advance(by: -5)
        clock.advance(by: .nan)
        #expect(clock.elapsed == 0 && clock.calendarSeconds == 1000)
        clock.advance(by: 0.25)
        #expect(clock.calendarSeconds == 1000.25)
        clock.advance(by: .infinity)
        #expect(clock.now == .distantFuture)
    }

    @Test func itIsToldWhenSomebodySleeps() async throws {
        let clock = ManualClock()
        try await clock.waitForSleepers(0)
        let error = await #expect(throws: APIError.self) { try await clock.waitForSleepers(1, timeout: 0.01) }
        #expect(error?.code == .timeout && error?.message.contains("0 of 1 sleepers") == true)
        async let two: Void = clock.waitForSleepers(2)
        async let one: Void = clock.waitForSleepers(1)
        // A timeout does not count as a sleeper.
        clock.schedule(.limit, at: moment(clock, in: 1)) {}
        clock.schedule(.pause, at: moment(clock, in: 1)) {}
        try await one
        clock.schedule(.pause, at: moment(clock, in: 1)) {}
        try await two
    }

    // MARK: Clients

    private func token() -> String { "t\(UInt64.random(in: 0...UInt64.max))" }

    @Test func aStreamConnectsAgainWithoutWaiting() async throws {
        let client = try TestClient.of("fault")
        let clock = ManualClock()
        client.clock = clock
        let args: [APIArg] = [.url("token", token()), .url("retry", 60_000)]
        let reading = Task {
            var identifiers: [String] = []
            for try await event in client.events("events", args: args) { identifiers.append(event.lastEventID) }
            return identifiers
        }
        for _ in 0..<3 {
            try await clock.waitForSleepers()
            #expect(clock.nextWake.map((60...90).contains) == true)
            clock.advance(by: 90)
        }
        #expect(try await reading.value == (1...9).map { "\($0)" })
        #expect(clock.elapsed == 270 && clock.sleepers == 0)
    }

    @Test func aCancelEndsTheSleep() async throws {
        let client = try TestClient.of("fault")
        let clock = ManualClock()
        client.clock = clock
        let args: [APIArg] = [.url("token", token()), .url("retry", 60_000)]
        let reading = Task {
            for try await _ in client.events("events", args: args) {}
        }
        try await clock.waitForSleepers()
        reading.cancel()
        _ = await reading.result
        await onThread { _ = client.drain(timeout: patience) }
        #expect(await clock.waitForNoSleepers())
    }

    @Test func timesAreTheClocks() async throws {
        let client = try TestClient.of("fault")
        let clock = ManualClock(calendar: 1_000_000)
        client.clock = clock
        let response = await client.response("ok")
        #expect(response.startTime == 1_000_000 && response.elapsed == 0)
        clock.advance(by: 10)
        let later = await client.response("ok")
        #expect(later.startTime == 1_000_010)
        client.clock = nil
        #expect(await client.response("ok").elapsed > 0)
    }

    @Test func theNetworkGoesByTheSystemsTime() async throws {
        let client = try TestClient.of("fault")
        let clock = ManualClock()
        client.clock = clock
        // The clock is now an hour ahead of the system's. The network must not wait for it.
        clock.advance(by: 3600)
        let response = await client.response("hold", args: [.timeout(0.1, .total)])
        #expect(response.error?.code == .timeout && response.elapsed == 0)
    }

    @Test func credentialsExpireByIt() async throws {
        let client = try TestClient.of("fault")
        let clock = ManualClock()
        client.clock = clock
        let asked = Log<String?>()
        client.authenticator = Authenticator(token: .init("first", lifetime: 100)) { refresh in
            asked.append(refresh.expiredToken)
            return .init("second", lifetime: 100)
        }
        _ = await client.response("echo")
        #expect(asked.count == 0)
        clock.advance(by: 200)
        _ = await client.response("echo")
        #expect(asked.all == ["first"] && client.authenticator?.token == "second")
    }

    @Test func aRefreshRunsOutOfItsTime() async throws {
        let client = try TestClient.of("fault")
        let clock = ManualClock()
        client.clock = clock
        let asked = Signal()
        let held = Log<TokenRefresh>()
        client.authenticator = Authenticator(
            timeout: 30,
            answering: { refresh in
                held.append(refresh)
                asked.set()
            })
        async let response = client.response("echo", args: [.timeout(60)])
        await asked.wait()
        clock.advance(by: 30)
        #expect(await response.error?.message.containsSubstring("30.0 s") == true)
    }
}
