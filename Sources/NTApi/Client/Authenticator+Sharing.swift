// A refresh of a token that is kept in a store: the store says who does it.
extension Authenticator {
    func ask(_ start: Permits.Start, _ number: Int64, _ sharing: TokenSharing) {
        sharing.take(number, insteadOf: start.token, isRejected: start.isRejected, time) {
            self.goOn(start, number, sharing, $0)
        }
    }

    private func goOn(_ start: Permits.Start, _ number: Int64, _ sharing: TokenSharing, _ step: TokenSharing.Step) {
        switch step {
        case .use(let token, let user): use(token, start.identifier, of: user, isNew: false)
        case .fail(let error): fail(start.identifier, error)
        case .wait(let seconds):
            let job = time.schedule(.pause, at: time.now.advanced(bySeconds: seconds)) { [weak self] in
                self?.askAgain(start, number, sharing)
            }
            let isOver = state.withLock { state in
                guard state.permits.isRefreshing(start.identifier) else { return true }
                (state.running.asking, state.running.turn) = (job, nil)
                return false
            }
            if isOver { job.cancel() }
        case .refresh(var turn):
            let isWanted = state.withLock { state in
                guard state.permits.isRefreshing(start.identifier) else { return false }
                // Nobody has refreshed it yet.
                if turn.fence == 0 { turn.refreshToken = turn.refreshToken ?? state.refreshToken }
                state.running.turn = turn
                return true
            }
            guard isWanted else { return sharing.leave(number, isGood: false, time) }
            keepTurn(start, turn)
            refresh(start, turn)
        }
    }

    private func askAgain(_ start: Permits.Start, _ number: Int64, _ sharing: TokenSharing) {
        if state.withLock({ $0.permits.isRefreshing(start.identifier) }) { ask(start, number, sharing) }
    }

    private func keepTurn(_ start: Permits.Start, _ turn: TokenSharing.Turn) {
        let moment = time.now.advanced(bySeconds: turn.sharing.keepPause)
        let job = time.schedule(.limit, at: moment) { [weak self] in
            guard let self, state.withLock({ $0.has(turn) }) else { return }
            keepTurn(start, turn)
            turn.sharing.keep(turn, time)
        }
        let isKept = state.withLock { state in
            guard state.has(turn) else { return false }
            state.running.keeping = job
            return true
        }
        if !isKept { job.cancel() }
    }

    func answered(_ start: Permits.Start, _ turn: TokenSharing.Turn, _ answer: TokenRefresh.Answer) {
        switch answer {
        case .token(let token):
            do throws(APIError) {
                try check(token)
                turn.sharing.put(token, turn, time) { current, user in
                    self.use(current, start.identifier, of: user, isNew: current.text == token.text)
                }
            } catch {
                failed(start, turn, error)
            }
        case .failed(let error): failed(start, turn, error)
        case .none: turn.sharing.leave(turn.number, isGood: true, time) { self.decline(start.identifier) }
        }
    }

    private func failed(_ start: Permits.Start, _ turn: TokenSharing.Turn, _ error: APIError) {
        let sharing = turn.sharing
        // What was cancelled, or is needed by nobody here, has not failed for the others.
        guard error.code != APIError.cancelled.code, state.withLock({ $0.has(turn) }) else {
            return sharing.leave(turn.number, isGood: false, time) {
                self.fail(start.identifier, Self.failure(error))
            }
        }
        sharing.fail(error, turn, time) { self.goOn(start, turn.number, sharing, $0) }
    }
}

extension Authenticator.State {
    /// - Parameter user: as the store says; nil if it has not said it.
    /// - Returns: whose the token is; nil for the same as before.
    mutating func owner(of token: Authenticator.Token, _ user: Int64?) -> String? {
        guard let sharing else { return nil }
        guard let user, user != formerUser else { return token.text }
        self.user = user
        return sharing.owner(user)
    }

    /// Whether that refresh still runs, and has its turn.
    fileprivate func has(_ turn: TokenSharing.Turn) -> Bool {
        permits.isRefreshing && running.turn?.number == turn.number
    }
}
