import Testing

@testable import NTApi

/// Which process refreshes a shared token, and which token is used.
@Suite struct SharedTokenTests {
    private typealias Ask = SharedToken.Ask
    private typealias Reply = SharedToken.Reply
    private typealias Token = SharedToken.Token
    private let start: Int64 = 1_700_000_000_000_000
    private let second: Int64 = 1_000_000
    private let refused = SharedToken.Failure(message: "invalid_grant", status: 400, isRetryable: false)

    private func take(_ fence: Int64 = 0, isRejected: Bool = false, _ refreshToken: String = "") -> Ask {
        .take(fence: fence, isRejected: isRejected, turn: 10 * second, refreshToken: refreshToken)
    }

    private func token(_ text: String, _ lifetime: Int64? = nil, _ refreshToken: String = "") -> Token {
        Token(text: text, lifetime: lifetime, refreshToken: refreshToken)
    }

    private func held(_ fence: Int64, _ token: Token, user: Int64? = nil) -> Reply {
        .token(fence: fence, user: user ?? start, token)
    }

    /// A shared token that has a token with the fence `start`.
    private func shared(_ token: Token) -> SharedToken {
        var shared = SharedToken()
        _ = shared.answer(.put(fence: 0, token), of: 100, start)
        return shared
    }

    @Test func oneRefreshesAndTheOthersGetItsToken() {
        var shared = SharedToken()
        #expect(shared.answer(take(), of: 1, start) == .turn(fence: 0, refreshToken: ""))
        #expect(shared.answer(take(), of: 2, start + second) == .wait(9 * second))
        let new = token("a", 60 * second, "r1")
        #expect(
            shared.answer(.put(fence: 0, new), of: 1, start + 2 * second)
                == held(start + 2 * second, new, user: start + 2 * second))
        let later = start + 12 * second
        #expect(
            shared.answer(take(), of: 2, later)
                == held(start + 2 * second, token("a", 50 * second, "r1"), user: start + 2 * second))
    }

    @Test func whoKnowsTheTokenGetsTheTurnWithItsRefreshToken() {
        var shared = shared(token("a", 60 * second, "r1"))
        #expect(shared.answer(take(start), of: 2, start + second) == .turn(fence: start, refreshToken: "r1"))
        // Nobody has rejected the token, so a process that knows none uses it.
        #expect(shared.answer(take(), of: 3, start + second) == held(start, token("a", 59 * second, "r1")))
    }

    @Test func aRejectedTokenIsGivenToNobody() {
        var shared = shared(token("a", nil, "r1"))
        #expect(shared.answer(take(start, isRejected: true), of: 2, start) == .turn(fence: start, refreshToken: "r1"))
        #expect(shared.answer(take(), of: 3, start) == .wait(10 * second))
        // The refresh finds that the token was good.
        #expect(shared.answer(.leave(isGood: true), of: 2, start) == .done)
        #expect(shared.answer(take(), of: 3, start) == held(start, token("a", nil, "r1")))
    }

    @Test func anExpiredTokenIsGivenToNobody() {
        var shared = shared(token("a", second, "r1"))
        #expect(shared.answer(take(), of: 3, start + second) == .turn(fence: start, refreshToken: "r1"))
    }

    @Test func aTurnEndsUnlessItIsKept() {
        var shared = SharedToken()
        _ = shared.answer(take(), of: 1, start)
        #expect(shared.answer(.keep(turn: 10 * second), of: 1, start + 9 * second) == .done)
        #expect(shared.answer(.keep(turn: 10 * second), of: 2, start + 9 * second) == .done)
        #expect(shared.answer(take(), of: 2, start + 18 * second) == .wait(second))
        #expect(shared.answer(take(), of: 2, start + 19 * second) == .turn(fence: 0, refreshToken: ""))
        // The first process no longer has the turn.
        #expect(shared.answer(.keep(turn: 10 * second), of: 1, start + 19 * second) == .done)
        #expect(shared.answer(.leave(isGood: false), of: 1, start + 19 * second) == .done)
        #expect(shared.answer(take(), of: 3, start + 19 * second) == .wait(10 * second))
    }

    /// The refresh token that came with it may be the only valid one.
    @Test func aTokenThatComesAfterItsTurnIsTakenUnlessThereIsANewerOne() {
        var shared = shared(token("a", nil, "r1"))
        _ = shared.answer(take(start, isRejected: true), of: 1, start)
        let later = start + 11 * second
        #expect(shared.answer(take(start), of: 2, later) == .turn(fence: start, refreshToken: "r1"))
        #expect(
            shared.answer(.put(fence: start, token("b", nil, "r2")), of: 1, later)
                == held(later, token("b", nil, "r2")))
        #expect(
            shared.answer(.put(fence: start, token("c", nil, "r3")), of: 2, later)
                == held(later, token("b", nil, "r2")))
        // The newer token stays even when it is rejected, because its refresh token is the newest.
        _ = shared.answer(take(later, isRejected: true), of: 3, later)
        #expect(
            shared.answer(.put(fence: start, token("c", nil, "r3")), of: 2, later)
                == held(later, token("b", nil, "r2")))
        #expect(shared.answer(take(later), of: 4, later) == .wait(10 * second))
    }

    /// A refresh keeps the user. A first token, or one that the program sets, may be another user's.
    @Test func anotherLogInIsAnotherUser() {
        var shared = shared(token("a", nil, "r1"))
        #expect(
            shared.answer(.put(fence: start, token("b", nil, "r2")), of: 1, start)
                == held(start + 1, token("b", nil, "r2")))
        let third = held(start + 2, token("c"), user: start + 2)
        #expect(shared.answer(.set(token("c")), of: 2, start) == third)
        _ = shared.answer(take(start + 9, "r3"), of: 3, start)
        let fourth = held(start + 10, token("d", nil, "r3"), user: start + 10)
        #expect(shared.answer(.put(fence: start + 9, token("d")), of: 3, start) == fourth)
    }

    @Test func aRefreshTokenIsKeptUntilThereIsANewOne() {
        var shared = shared(token("a", nil, "r1"))
        #expect(
            shared.answer(.put(fence: start, token("b")), of: 1, start)
                == held(start + 1, token("b", nil, "r1")))
        // A program that sets another token also sets another user.
        #expect(shared.answer(.set(token("c")), of: 2, start) == held(start + 2, token("c"), user: start + 2))
    }

    /// The process that has set the token has got no reply, and sends it again.
    @Test func aTokenThatIsSetTwiceReplacesNothingNewer() {
        var shared = shared(token("a", nil, "r1"))
        let later = start + second
        #expect(
            shared.answer(.set(token("b", nil, "r2")), of: 1, later)
                == held(later, token("b", nil, "r2"), user: later))
        _ = shared.answer(take(later), of: 2, later)
        let newest = held(later + 1, token("c", nil, "r3"), user: later)
        #expect(shared.answer(.put(fence: later, token("c", nil, "r3")), of: 2, later) == newest)
        #expect(shared.answer(.set(token("b", nil, "r2")), of: 1, later) == newest)
    }

    @Test func aFailureIsRememberedForASecond() {
        var shared = shared(token("a", nil, "r1"))
        _ = shared.answer(take(start, isRejected: true), of: 1, start)
        #expect(shared.answer(.fail(fence: start, refused), of: 1, start) == .failed(refused))
        #expect(shared.answer(take(start), of: 2, start + second - 1) == .failed(refused))
        #expect(shared.answer(take(start), of: 2, start + second) == .turn(fence: start, refreshToken: "r1"))
        // A new token ends it.
        _ = shared.answer(.fail(fence: start, refused), of: 2, start + second)
        _ = shared.answer(.set(token("b")), of: 3, start + second)
        #expect(
            shared.answer(take(start), of: 2, start + second) == held(start + second, token("b"), user: start + second))
    }

    @Test func aFailureOfAClockThatWasSetBackIsForgotten() {
        var shared = shared(token("a", nil, "r1"))
        let later = start + 3600 * second
        #expect(shared.answer(.fail(fence: start, refused), of: 1, later) == .failed(refused))
        #expect(shared.answer(take(start), of: 2, start) == .turn(fence: start, refreshToken: "r1"))
    }

    /// The server refuses a refresh token that another process has just used. That process has the new one, or will.
    @Test func whoFailsReadsAgain() {
        var shared = shared(token("a", nil, "r1"))
        _ = shared.answer(take(start, isRejected: true), of: 1, start)
        let later = start + 10 * second
        _ = shared.answer(take(start, isRejected: true), of: 2, later)
        #expect(shared.answer(.fail(fence: start, refused), of: 1, later) == .wait(10 * second))
        _ = shared.answer(.put(fence: start, token("b")), of: 2, later)
        #expect(
            shared.answer(.fail(fence: start, refused), of: 1, later) == held(later, token("b", nil, "r1")))
    }

    /// The store has restarted without its data, or a failover has led to a server that is behind.
    @Test func whatTheStoreHasLostComesFromTheProcesses() {
        for old in [SharedToken(), shared(token("a", nil, "r1"))] {
            var shared = old
            let known = start + second
            #expect(shared.answer(take(known, "r2"), of: 1, start) == .turn(fence: known, refreshToken: "r2"))
            #expect(shared.answer(take(known, "r2"), of: 2, start) == .wait(10 * second))
            #expect(shared.answer(take(0), of: 3, start) == .wait(10 * second))
            let new = token("c", nil, "r3")
            #expect(shared.answer(.put(fence: known, new), of: 1, start) == held(known + 1, new, user: known + 1))
        }
    }

    @Test func argumentsAndRepliesAreWhatTheyWere() {
        let asks: [Ask] = [
            take(7, isRejected: true, "r"), take(), .keep(turn: 5), .put(fence: 3, token("a", 5, "r")),
            .set(token("a")), .fail(fence: 0, refused), .leave(isGood: true), .leave(isGood: false),
        ]
        for ask in asks {
            let read = Ask.read(ask.arguments(9))
            #expect(read?.ask == ask && read?.refresh == 9)
        }
        for wrong in [
            [], ["take"], ["take", "1", "0", "", "5"], ["take", "1", "x", "", "5", ""], ["take", "1", "0", "", "", ""],
            ["keep", "1", "", "x"], ["put", "1", "", "a", "", ""], ["set", "1", "", "a"],
            ["fail", "1", "", "a", "0", ""],
            ["fail", "1", "0", "a", "x", ""],
            ["leave", "x", "", ""], ["other", "1", "0", "1"],
        ] {
            #expect(Ask.read(wrong) == nil, "\(wrong)")
        }
        let replies: [Reply] = [
            held(4, token("a", 6, "r")), held(4, token("a")), .turn(fence: 0, refreshToken: ""),
            .wait(5), .failed(refused), .done,
        ]
        for reply in replies { #expect((try? Reply.read(reply.values).get()) == reply) }
        for wrong in [
            [], ["token", "1", "s3cret", "", ""], ["token", "x", "s3cret", "", "", ""],
            ["token", "1", "", "", "s3cret", ""],
            ["turn", "1"], ["wait", "s3cret"], ["failed", "a"], ["done", "1"], ["other"],
        ] {
            guard case .failure(let problem) = Reply.read(wrong) else {
                Issue.record("\(wrong)")
                continue
            }
            #expect(problem.text == "its reply is none of the script ntapi.token.1")
        }
    }

    // MARK: A thousand processes

    private enum Event {
        case needs(isRejected: Bool)
        case hears(Reply)
        case refreshed(fence: Int64, refreshToken: String)
        case keeps(fence: Int64)
        case dies
    }

    private struct Process {
        var fence: Int64 = 0
        var end: Int64 = 0
        /// The fence of the token that it refreshes.
        var refreshes: Int64?
        /// The number of its next refresh.
        var number: Int64
        /// How long a call to the store and back takes.
        let way: Int64
    }

    /// The processes all notice at once that the token has expired. Some end while they refresh it.
    @Test func aThousandProcessesRefreshOnce() {
        let seed = SeededGenerator.ofThisRun
        var random = SeededGenerator(seed)
        var processes = (0..<1000).map { Process(number: $0, way: .random(in: 50...30_000, using: &random)) }
        var store = SharedToken()
        var events = IndexedHeap<Moment, (Int, Event)>()
        var (number, asked) = (0, 0)
        func later(_ moment: Int64, _ process: Int, _ event: Event) {
            number += 1
            _ = events.insert((process, event), key: Moment(time: moment, number: number))
        }
        for process in processes.indices {
            later(start + .random(in: 0...50_000, using: &random), process, .needs(isRejected: false))
        }
        var dead: Set<Int> = []
        var deaths = 0
        // How many tokens the server has given, and how many refresh tokens it got twice.
        var (given, twice) = (0, 0)
        var used: Set<String> = []
        while let key = events.firstKey, key.time < start + 350 * second, let (index, event) = events.popFirst() {
            guard !dead.contains(index) else { continue }
            let now = key.time
            func asks(_ ask: Ask) {
                asked += 1
                let there = now + processes[index].way
                later(
                    there + processes[index].way, index, .hears(store.answer(ask, of: processes[index].number, there)))
            }
            switch event {
            case .needs(let isRejected):
                guard processes[index].refreshes == nil else { continue }
                asks(.take(fence: processes[index].fence, isRejected: isRejected, turn: second, refreshToken: ""))
            case .hears(.turn(let fence, let refreshToken)):
                processes[index].refreshes = fence
                if deaths < 5, Bool.random(using: &random) {
                    deaths += 1
                    later(now + .random(in: 0...200_000, using: &random), index, .dies)
                }
                later(
                    now + .random(in: 250_000...3_000_000, using: &random), index,
                    .refreshed(fence: fence, refreshToken: refreshToken))
                later(now + 300_000, index, .keeps(fence: fence))
            case .keeps(let fence):
                guard processes[index].refreshes == fence else { continue }
                _ = store.answer(.keep(turn: second), of: processes[index].number, now)
                later(now + 300_000, index, .keeps(fence: fence))
            case .refreshed(let fence, let refreshToken):
                if !refreshToken.isEmpty, !used.insert(refreshToken).inserted { twice += 1 }
                given += 1
                processes[index].refreshes = nil
                asks(.put(fence: fence, token("t\(given)", 100 * second, "r\(given)")))
                processes[index].number += 1000
            case .hears(.token(let fence, _, let token)):
                processes[index].fence = fence
                processes[index].end = now + (token.lifetime ?? 0)
                // The process asks a little before the token's end, or the server rejects the token at once.
                let isRejected = Bool.random(using: &random)
                later(
                    processes[index].end - (isRejected ? 0 : .random(in: 0...1_000_000, using: &random)), index,
                    .needs(isRejected: isRejected))
            case .hears(.wait(let time)):
                later(now + min(time, .random(in: 50_000...150_000, using: &random)), index, .needs(isRejected: false))
            case .hears: Issue.record("NTAPI_SEED=\(seed): \(event)")
            case .dies: dead.insert(index)
            }
        }
        // One token every 100 s, even if some processes have ended.
        #expect(
            (4...5).contains(given) && twice == 0, "NTAPI_SEED=\(seed): \(given), \(twice)")
        let alive = processes.indices.filter { !dead.contains($0) }
        #expect(Set(alive.map { processes[$0].fence }).count <= 2, "NTAPI_SEED=\(seed)")
        #expect(alive.count == 1000 - deaths && alive.allSatisfy { processes[$0].fence > 0 }, "NTAPI_SEED=\(seed)")
    }
}
