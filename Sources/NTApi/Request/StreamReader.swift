/// Hands a body to somebody who asks for it, element by element; nothing is received beyond what was asked for, but for what
/// is on the way.
final class StreamReader: Sendable {
    enum Next: Sendable {
        case element(BodyElement)
        /// There are no more.
        case end(APIResponse)
    }

    private struct State {
        /// What has come and was not asked for.
        var piece: BodyPiece?
        var response: APIResponse?
        var hasHead = false
        var waiter: UnsafeContinuation<Next, Never>?
        var headWaiter: UnsafeContinuation<Void, Never>?
    }

    private let state = Lock(State())

    // MARK: From the request

    /// A piece of the body has come, the first one, without bytes, with the head; the next one comes when this one is gone.
    func receive(_ piece: BodyPiece) {
        let (waiter, element, headWaiter) = state.withLock { state in
            state.hasHead = true
            let headWaiter = state.headWaiter.take()
            guard state.waiter != nil else {
                state.piece = piece
                return (UnsafeContinuation<Next, Never>?.none, BodyElement?.none, headWaiter)
            }
            guard let element = piece.next() else { return (nil, nil, headWaiter) }
            state.piece = piece
            return (state.waiter.take(), element, headWaiter)
        }
        headWaiter?.resume()
        if let waiter, let element { waiter.resume(returning: .element(element)) }
    }

    /// The request has ended. Called once, and nothing after it.
    func finish(_ response: APIResponse) {
        let (waiter, headWaiter) = state.withLock { state in
            state.response = response
            return (state.waiter.take(), state.headWaiter.take())
        }
        headWaiter?.resume()
        waiter?.resume(returning: .end(response))
    }

    /// Nobody will ask for what has come.
    func dropPiece() {
        // What goes with it takes locks of its own.
        let piece = state.withLock { $0.piece.take() }
        withExtendedLifetime(piece) {}
    }

    // MARK: From whoever reads, one call at a time

    /// Waits for the head of the answer.
    ///
    /// - Returns: the response where the request has ended without a body to read.
    func head() async -> APIResponse? {
        await withUnsafeContinuation { continuation in
            let isThere = state.withLock { state in
                if state.hasHead || state.response != nil { return true }
                state.headWaiter = continuation
                return false
            }
            if isThere { continuation.resume() }
        }
        return state.withLock { $0.hasHead ? nil : $0.response }
    }

    func next() async -> Next {
        // Most often it is there.
        if let next = take(orWait: nil) { return next }
        let next = await withUnsafeContinuation { continuation in
            if let next = take(orWait: continuation) { continuation.resume(returning: next) }
        }
        state.showHandOver()
        return next
    }

    /// The next element of what has come; nil when it has to be waited for.
    ///
    /// Whoever waits is noted in the same moment: what comes then is theirs, and nobody else takes of it before they ask again.
    private func take(orWait waiter: UnsafeContinuation<Next, Never>?) -> Next? {
        let (next, used) = state.withLock { state -> (Next?, BodyPiece?) in
            if let element = state.piece?.next() { return (.element(element), nil) }
            if state.response == nil { state.waiter = waiter }
            return (state.response.map { .end($0) }, state.piece.take())
        }
        // It goes here, and the next one may come at once, on another thread.
        withExtendedLifetime(used) {}
        return next
    }
}
