/// An authenticator's side of a token that is kept in a store: asks for it, and tells the store of new ones.
///
/// A token that the store has not taken, because it has failed, is told again: until the store has it, another process
/// might use its refresh token a second time.
final class TokenSharing: Sendable {
    /// What an authenticator does next.
    enum Step: Sendable {
        /// - user: see ``SharedToken/Reply``.
        case use(Authenticator.Token, user: Int64)
        case refresh(Turn)
        /// Ask again after so many seconds.
        case wait(Double)
        case fail(APIError)
    }

    /// A refresh, in its turn if the store has given one.
    struct Turn: Sendable {
        let sharing: TokenSharing
        let number: Int64
        /// Of the token to refresh.
        let fence: Int64
        var refreshToken: String?
        /// Which token of the program's own it follows.
        fileprivate let lastSet: UInt64
    }

    private struct State {
        /// The newest token that the store has shown, and its fence.
        var known = (fence: Int64(0), user: Int64(0), token: SharedToken.Token(text: "", refreshToken: ""))
        /// A token that the store does not have yet.
        var untold: Untold?
        /// Who waits until it is told; nil if nobody tells it now.
        var listeners: [@Sendable (StoreProblem?) -> Void]?
        /// How many tokens the program has set.
        var lastSet: UInt64 = 0
        /// Of a refresh that the store may have given its turn, and that did not hear of it.
        var unheard: Int64?
        var isFailing = false
        var unanswered = 0
    }

    private struct Untold {
        /// Of the refresh that it comes from.
        var number: Int64
        /// Of the token that it replaces; nil for any.
        var fence: Int64?
        var token: Authenticator.Token
        /// When it expires.
        var end: MonotonicTime?

        func ask(_ now: MonotonicTime) -> SharedToken.Ask {
            let lifetime = end.map { Int64($0.seconds(since: now) * 1e6) }
            let told = SharedToken.Token(text: token.text, lifetime: lifetime, refreshToken: token.refreshToken ?? "")
            return fence.map { .put(fence: $0, told) } ?? .set(told)
        }
    }

    /// Seconds between two questions, at most half of it more or less, while another process refreshes the token.
    private static let pause = 0.1
    /// How many seconds after a failure the store is told again, and how often.
    private static let (retryPause, mostRetries) = (1.0, 60)
    /// A store that blocks keeps a thread for each question.
    private static let mostUnanswered = 8
    /// Longer lifetimes are unknown: the script could not count with them.
    private static let longest = 1e9

    private let access: StoreAccess
    private let state = InheritedLock(State(), sharing: .clients) { state in
        Fork.leak(state.listeners.take())
        // What its parent has not told a child tells as well, as the parent may have ended. It counts once.
        state = State(known: state.known, untold: state.untold, lastSet: state.lastSet)
    }

    init(_ access: StoreAccess) { self.access = access }

    private static func newNumber() -> Int64 { .random(in: 1...SharedPermits.greatest) }

    /// The number of the next refresh. If the last one may have its turn without knowing, this one has that turn.
    func nextNumber() -> Int64 { state.withLock { $0.unheard.take() } ?? Self.newNumber() }

    /// How often the store hears that a refresh goes on, in seconds.
    var keepPause: Double { access.options.lease / 3 }

    func owner(_ user: Int64) -> String { TokenOwner.shared(user, of: access.key) }

    private var lease: Int64 { Int64(access.options.lease * 1e6) }

    // MARK: Questions

    /// Asks for another token, or for the turn to refresh this one.
    ///
    /// - Parameters:
    ///   - number: of this refresh.
    ///   - expired: the token that has expired; nil if there is none.
    func take(
        _ number: Int64, insteadOf expired: String?, isRejected: Bool, _ clock: any WaitingClock,
        _ next: @escaping @Sendable (Step) -> Void
    ) {
        tell(clock) { [self] problem in
            // Its refresh token is newer than any that the store has.
            if let problem { return next(step(number, after: .failure(problem))) }
            let known = state.withLock { $0.known }
            // A token that was set before it was shared is unknown to the store.
            let isKnown = expired == nil || expired == known.token.text
            take(
                number, insteadOf: expired, isKnown ? known.fence : 0, isRejected: isRejected || expired == nil,
                isKnown ? known.token.refreshToken : "", clock, next)
        }
    }

    private func take(
        _ number: Int64, insteadOf expired: String?, _ fence: Int64, isRejected: Bool, _ refreshToken: String,
        _ clock: any WaitingClock, _ next: @escaping @Sendable (Step) -> Void
    ) {
        ask(.take(fence: fence, isRejected: isRejected, turn: lease, refreshToken: refreshToken), number, clock) {
            [self] result in
            if case .failure = result, access.options.onFailure != .local { state.withLock { $0.unheard = number } }
            guard fence == 0, case .success(.token(let found, _, let token)) = result, token.text == expired, found > 0
            else {
                return next(step(number, after: result))
            }
            // The store has the same one.
            take(number, insteadOf: expired, found, isRejected: isRejected, token.refreshToken, clock, next)
        }
    }

    /// Tells the store of a new token.
    ///
    /// - Parameters:
    ///   - turn: nil if it is the program's own, which replaces any.
    ///   - next: gets the token to use: the store may have a newer one. Its user is nil if the store has not said it.
    func put(
        _ token: Authenticator.Token, _ turn: Turn?, _ clock: any WaitingClock,
        _ next: @escaping @Sendable (Authenticator.Token, _ user: Int64?) -> Void
    ) {
        let end = token.lifetime.flatMap { $0 < Self.longest ? clock.now.advanced(bySeconds: $0) : nil }
        var untold = Untold(number: turn?.number ?? Self.newNumber(), fence: turn?.fence, token: token, end: end)
        if token.refreshToken == nil { untold.token.refreshToken = turn?.refreshToken }
        let isWanted = state.withLock { state in
            if let turn {
                // The program has set another one meanwhile.
                guard turn.lastSet == state.lastSet else { return false }
                if let before = state.untold, before.fence == nil { untold.fence = nil }
            } else {
                state.lastSet += 1
            }
            state.untold = untold
            return true
        }
        guard isWanted else { return next(token, nil) }
        let number = untold.number
        tell(clock) { [self] problem in
            guard problem == nil else {
                tellLater(number, Self.mostRetries, clock)
                return next(token, nil)
            }
            let known = state.withLock { $0.known }
            next(Authenticator.Token(known.token), known.user)
        }
    }

    /// The refresh has failed.
    func fail(_ error: APIError, _ turn: Turn, _ clock: any WaitingClock, _ next: @escaping @Sendable (Step) -> Void) {
        ask(.fail(fence: turn.fence, SharedToken.Failure(error)), turn.number, clock) { [self] result in
            switch result {
            case .success(.failed), .failure: next(.fail(Authenticator.failure(error)))
            case .success: next(step(turn.number, after: result))
            }
        }
    }

    /// The refresh goes on.
    func keep(_ turn: Turn, _ clock: any WaitingClock) { ask(.keep(turn: lease), turn.number, clock) { _ in } }

    /// There is no refresh.
    ///
    /// - Parameter isGood: whether the token has not expired.
    func leave(
        _ number: Int64, isGood: Bool, _ clock: any WaitingClock, _ done: (@Sendable () -> Void)? = nil
    ) {
        ask(.leave(isGood: isGood), number, clock) { _ in done?() }
    }

    // MARK: Private

    /// Tells the store what it does not know yet.
    ///
    /// - Parameter done: gets why it still does not know it.
    private func tell(_ clock: any WaitingClock, _ done: @escaping @Sendable (StoreProblem?) -> Void) {
        let isFirst = state.withLock { state -> Bool? in
            guard state.untold != nil else { return nil }
            defer { state.listeners = (state.listeners ?? []) + [done] }
            return state.listeners == nil
        }
        guard let isFirst else { return done(nil) }
        if isFirst { tellNow(clock) }
    }

    private func tellNow(_ clock: any WaitingClock) {
        guard let untold = state.withLock({ $0.untold }) else { return toldAll(nil) }
        ask(untold.ask(clock.now), untold.number, clock) { [self] result in
            switch result {
            case .success(.token): tellNow(clock)
            case .success: toldAll(.unknownReply(to: .token))
            case .failure(let problem): toldAll(problem)
            }
        }
    }

    private func toldAll(_ problem: StoreProblem?) {
        for listener in state.withLock({ $0.listeners.take() }) ?? [] { listener(problem) }
    }

    private func tellLater(_ number: Int64, _ retries: Int, _ clock: any WaitingClock) {
        guard retries > 0 else { return }
        clock.schedule(.limit, at: clock.now.advanced(bySeconds: Self.retryPause)) { [self] in
            guard state.withLock({ $0.untold?.number == number }) else { return }
            tell(clock) { [self] problem in if problem != nil { tellLater(number, retries - 1, clock) } }
        }
    }

    private func step(_ number: Int64, after result: Result<SharedToken.Reply, StoreProblem>) -> Step {
        switch result {
        case .success(.token(_, let user, let token)): return .use(Authenticator.Token(token), user: user)
        case .success(.turn(let fence, let refreshToken)): return .refresh(turn(number, fence, refreshToken))
        case .success(.wait(let time)):
            return .wait(max(0.01, min(Double(time) / 1e6, Self.pause * .random(in: 0.5...1.5))))
        case .success(.failed(let failure)): return .fail(APIError(failure))
        case .success(.done): return step(number, after: .failure(.unknownReply(to: .token)))
        case .failure(let problem):
            guard access.options.onFailure == .local else {
                return .fail(.storeFailed("the token is kept in a store, which has failed: \(problem.text)"))
            }
            let (fence, refreshToken) = state.withLock { state in
                (state.known.fence, state.untold.map { $0.token.refreshToken ?? "" } ?? state.known.token.refreshToken)
            }
            return .refresh(turn(number, fence, refreshToken))
        }
    }

    private func turn(_ number: Int64, _ fence: Int64, _ refreshToken: String) -> Turn {
        Turn(
            sharing: self, number: number, fence: fence, refreshToken: refreshToken.isEmpty ? nil : refreshToken,
            lastSet: state.withLock { $0.lastSet })
    }

    private func ask(
        _ ask: SharedToken.Ask, _ number: Int64, _ clock: any WaitingClock,
        _ heard: @escaping @Sendable (Result<SharedToken.Reply, StoreProblem>) -> Void
    ) {
        let isAsked = state.withLock { state in
            guard state.unanswered < Self.mostUnanswered else { return false }
            state.unanswered += 1
            return true
        }
        guard isAsked else { return heard(.failure(StoreProblem(text: "it has not answered many calls"))) }
        access.ask(clock) { [self] store, keys, call in
            let key = keys.first ?? ""
            do throws(StoreProblem) {
                let ask = try ask.changingTexts { (text, kind) throws(StoreProblem) in
                    try access.encrypted(text, context: "\(key):\(kind.rawValue)")
                }
                let call = access.decrypting(call) { [self] (reply) throws(StoreProblem) in
                    StoreReply(texts: try decrypted(reply.texts, key, of: number, clock))
                }
                store.run(.token, keys: keys, arguments: ask.arguments(number), call)
            } catch {
                call.fail(error.text)
            }
        } _: { [self] reply, moment in
            let result = reply.flatMap { SharedToken.Reply.read($0.texts) }
            if moment != .timeout { state.withLock { $0.unanswered -= 1 } }
            note(result, of: number)
            guard moment == .late else { return heard(result) }
            // Too late: nobody has waited for it. The next refresh may already have the turn, with the same number.
            guard case .success(.turn) = result else { return }
            let isNobodys = state.withLock { state in
                guard state.unheard == number else { return access.options.onFailure == .local }
                state.unheard = nil
                return true
            }
            if isNobodys { leave(number, isGood: false, clock) }
        }
    }

    private func decrypted(
        _ texts: [String], _ key: String, of number: Int64, _ clock: any WaitingClock
    ) throws(StoreProblem) -> [String] {
        let reply = try SharedToken.Reply.read(texts).get()
        do throws(StoreProblem) {
            return try reply.changingTexts { (text, kind) throws(StoreProblem) in
                try access.decrypted(text, context: "\(key):\(kind.rawValue)")
            }.values
        } catch {
            // Without its refresh token, another process may do it.
            if case .turn = reply { leave(number, isGood: false, clock) }
            throw error
        }
    }

    /// Remembers what the store has, and logs when it fails and when it answers again.
    private func note(_ result: Result<SharedToken.Reply, StoreProblem>, of number: Int64) {
        let line = state.withLock { state -> String? in
            switch result {
            case .success(let reply):
                if case .token(let fence, let user, let token) = reply {
                    if fence >= state.known.fence { state.known = (fence, user, token) }
                    if state.untold?.number == number { state.untold = nil }
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
