/// An authenticator's side of a token that is kept in a store: asks for it, and tells the store of new ones.
///
/// A token that the store has not taken, because it has failed, is kept here and told again: until the store has it,
/// another process might use its refresh token a second time.
final class TokenSharing: Sendable {
    /// What an authenticator does next.
    enum Step: Sendable {
        case use(Authenticator.Token)
        case refresh(Turn)
        /// Ask again after so many seconds.
        case wait(Double)
        case fail(APIError)
    }

    /// The turn to refresh the token with this fence.
    struct Turn: Sendable {
        let sharing: TokenSharing
        let fence: Int64
        let refreshToken: String?
    }

    private struct State {
        var process = Int64.random(in: 1...SharedPermits.greatest)
        /// The newest token that is known here, and its fence.
        var known = (fence: Int64(0), token: SharedToken.Token(text: "", refreshToken: ""))
        /// A token that the store does not have yet.
        var untold: Untold?
        var isFailing = false
        var unanswered = 0
    }

    private struct Untold {
        /// Differs in each process.
        let number = Int64.random(in: 1...SharedPermits.greatest)
        /// Of the token that it replaces; nil for any.
        let fence: Int64?
        let token: Authenticator.Token
        /// When it expires.
        let end: MonotonicTime?

        func ask(_ now: MonotonicTime) -> SharedToken.Ask {
            let lifetime = end.map { Int64($0.seconds(since: now) * 1e6) }
            let told = SharedToken.Token(
                text: token.text, lifetime: lifetime, refreshToken: token.refreshToken ?? "")
            return fence.map { .put(fence: $0, told) } ?? .set(number: number, told)
        }
    }

    /// Seconds between two questions, at most half of it more or less, while another process refreshes the token.
    private static let pause = 0.1
    /// Seconds until a store that has failed is told again.
    private static let retryPause = 1.0
    /// A store that blocks keeps a thread for each question.
    private static let mostUnanswered = 8
    /// Longer lifetimes are unknown: the script could not count with them.
    private static let longest = 1e9

    private let access: StoreAccess
    private let state = InheritedLock(State(), sharing: .clients) { state in
        // A child is another process, and what its parent has not told is its parent's.
        state = State(known: state.known)
    }

    init(_ access: StoreAccess) { self.access = access }

    /// How often the store hears that a refresh goes on, in seconds.
    var keepPause: Double { access.options.lease / 3 }

    private var lease: Int64 { Int64(access.options.lease * 1e6) }

    // MARK: Questions

    /// Asks for another token, or for the turn to refresh this one.
    ///
    /// - Parameter expired: the token that has expired; nil if there is none.
    func take(
        insteadOf expired: String?, isRejected: Bool, _ clock: any WaitingClock,
        _ next: @escaping @Sendable (Step) -> Void
    ) {
        tell(clock) { [self] in
            let known = state.withLock { $0.known }
            // A token that was set before it was shared is unknown to the store.
            let isKnown = expired == nil || expired == known.token.text
            take(
                insteadOf: expired, isKnown ? known.fence : 0, isRejected: isRejected || expired == nil,
                isKnown ? known.token.refreshToken : "", clock, next)
        }
    }

    private func take(
        insteadOf expired: String?, _ fence: Int64, isRejected: Bool, _ refreshToken: String,
        _ clock: any WaitingClock, _ next: @escaping @Sendable (Step) -> Void
    ) {
        ask(.take(fence: fence, isRejected: isRejected, turn: lease, refreshToken: refreshToken), clock) {
            [self] result in
            guard fence == 0, case .success(.token(let fence, let token)) = result, token.text == expired else {
                return next(step(after: result))
            }
            // The store has the same one.
            take(insteadOf: expired, fence, isRejected: isRejected, token.refreshToken, clock, next)
        }
    }

    /// Tells the store of a new token.
    ///
    /// - Parameters:
    ///   - turn: nil if it is the program's own, which replaces any.
    ///   - next: gets the token to use: the store may have a newer one.
    func put(
        _ token: Authenticator.Token, _ turn: Turn?, _ clock: any WaitingClock,
        _ next: @escaping @Sendable (Authenticator.Token) -> Void
    ) {
        let end = token.lifetime.flatMap { $0 < Self.longest ? clock.now.advanced(bySeconds: $0) : nil }
        let untold = Untold(fence: turn?.fence, token: token, end: end)
        state.withLock { $0.untold = untold }
        tell(clock) { [self] in
            guard !has(untold.number) else {
                tellLater(untold.number, clock)
                return next(token)
            }
            next(turn == nil ? token : state.withLock { Authenticator.Token($0.known.token) })
        }
    }

    /// The refresh has failed.
    func fail(
        _ error: APIError, _ turn: Turn, _ clock: any WaitingClock, _ next: @escaping @Sendable (Step) -> Void
    ) {
        let failure = SharedToken.Failure(error)
        ask(.fail(fence: turn.fence, failure), clock) { [self] result in
            switch result {
            case .success(.failed), .failure: next(.fail(Authenticator.failure(error)))
            case .success: next(step(after: result))
            }
        }
    }

    /// The refresh goes on.
    func keepTurn(_ clock: any WaitingClock) { ask(.keep(turn: lease), clock) { _ in } }

    /// There is no refresh.
    ///
    /// - Parameter isGood: whether the token has not expired.
    func leave(isGood: Bool, _ clock: any WaitingClock, _ done: @escaping @Sendable () -> Void) {
        ask(.leave(isGood: isGood), clock) { _ in done() }
    }

    // MARK: Private

    /// Whether the store does not have that token yet.
    private func has(_ number: Int64) -> Bool { state.withLock { $0.untold?.number == number } }

    private func tellLater(_ number: Int64, _ clock: any WaitingClock) {
        clock.schedule(.limit, at: clock.now.advanced(bySeconds: Self.retryPause)) { [weak self] in
            guard let self, has(number) else { return }
            tell(clock) { [self] in if has(number) { tellLater(number, clock) } }
        }
    }

    /// Tells the store what it does not know yet, and goes on, whether the store has heard it or not.
    private func tell(_ clock: any WaitingClock, _ done: @escaping @Sendable () -> Void) {
        guard let untold = state.withLock({ $0.untold }) else { return done() }
        ask(untold.ask(clock.now), clock) { [self] result in
            if case .success(.token) = result {
                state.withLock { state in
                    if state.untold?.number == untold.number { state.untold = nil }
                }
            }
            done()
        }
    }

    private func step(after result: Result<SharedToken.Reply, StoreProblem>) -> Step {
        switch result {
        case .success(.token(_, let token)): return .use(Authenticator.Token(token))
        case .success(.turn(let fence, let refreshToken)):
            return .refresh(turn(fence, refreshToken))
        case .success(.wait(let time)):
            return .wait(max(0.01, min(Double(time) / 1e6, Self.pause * .random(in: 0.5...1.5))))
        case .success(.failed(let failure)): return .fail(APIError(failure))
        case .success(.done): return step(after: .failure(.unknownReply(to: .token)))
        case .failure(let problem):
            guard access.options.onFailure == .local else {
                return .fail(.storeFailed("the token is kept in a store, which has failed: \(problem.text)"))
            }
            let known = state.withLock { $0.known }
            return .refresh(turn(known.fence, known.token.refreshToken))
        }
    }

    private func turn(_ fence: Int64, _ refreshToken: String) -> Turn {
        Turn(sharing: self, fence: fence, refreshToken: refreshToken.isEmpty ? nil : refreshToken)
    }

    private func ask(
        _ ask: SharedToken.Ask, _ clock: any WaitingClock,
        _ heard: @escaping @Sendable (Result<SharedToken.Reply, StoreProblem>) -> Void
    ) {
        let process = state.withLock { state -> Int64? in
            guard state.unanswered < Self.mostUnanswered else { return nil }
            state.unanswered += 1
            return state.process
        }
        guard let process else { return heard(.failure(StoreProblem(text: "it has not answered many calls"))) }
        let question = StoreQuestion(heard)
        let timeout = access.options.timeout
        let timer = clock.schedule(.limit, at: clock.now.advanced(bySeconds: timeout)) { [self] in
            let problem = StoreProblem(text: "it has not replied in \(decimal(timeout)) s")
            if question.answer(.failure(problem)) { note(.failure(problem)) }
        }
        access.run(.token, ask.arguments(process)) { [self] values in
            timer.cancel()
            let result = values.flatMap(SharedToken.Reply.read)
            state.withLock { $0.unanswered -= 1 }
            note(result)
            guard !question.answer(result), case .success(.turn) = result else { return }
            // Too late: nobody has waited for it.
            leave(isGood: false, clock) {}
        }
    }

    /// Remembers the newest token, and logs when the store fails and when it answers again.
    private func note(_ result: Result<SharedToken.Reply, StoreProblem>) {
        let line = state.withLock { state -> String? in
            switch result {
            case .success(let reply):
                if case .token(let fence, let token) = reply, fence >= state.known.fence {
                    state.known = (fence, token)
                }
                return exchange(&state.isFailing, with: false) ? "the store answers again" : nil
            case .failure(let problem):
                guard !exchange(&state.isFailing, with: true) else { return nil }
                let isLocal = access.options.onFailure == .local
                let words = isLocal ? "this process refreshes it alone" : "it is not refreshed"
                return "the store has failed, so \(words): \(problem.text)"
            }
        }
        guard let line else { return }
        let key = access.key
        Runtime.current.workers.run { () throws(Forked) in APILog.warn("the token \(quoted(key)): \(line)") }
    }
}

/// A question to a store, until it is answered or its time is over.
private final class StoreQuestion: Sendable {
    typealias Answer = Result<SharedToken.Reply, StoreProblem>

    private let heard: ProcessLock<(@Sendable (Answer) -> Void)?>

    init(_ heard: @escaping @Sendable (Answer) -> Void) { self.heard = ProcessLock(Lock(heard)) }

    /// - Returns: whether somebody has waited for it.
    func answer(_ answer: Answer) -> Bool {
        guard let heard = heard.withLock(inChild: nil, { $0.take() }) else { return false }
        heard(answer)
        return true
    }
}

extension Authenticator.Token {
    fileprivate init(_ token: SharedToken.Token) {
        self.init(
            token.text, lifetime: token.lifetime.map { Double($0) / 1e6 },
            refreshToken: token.refreshToken.isEmpty ? nil : token.refreshToken)
    }
}

extension SharedToken.Failure {
    fileprivate init(_ error: APIError) {
        let message = String(error.message.prefix(500)).filter { $0 != "\0" }
        self.init(message: message, status: Int64(error.httpStatus ?? 0), isRetryable: error.isRetryable)
    }
}

extension APIError {
    fileprivate init(_ failure: SharedToken.Failure) {
        self.init(
            domain: failure.status == 0 ? .request : .http, code: .authentication,
            message: "another process could not refresh the token: \(failure.message)",
            httpStatus: failure.status == 0 ? nil : Int(failure.status), isRetryable: failure.isRetryable)
    }
}
