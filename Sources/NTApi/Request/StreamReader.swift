/// Hands a body to a reader element by element. The network waits until the reader asks; only what is on the way is
/// received ahead.
final class StreamReader: Sendable {
    enum Next: Sendable {
        case element(BodyElement)
        /// There are no more elements.
        case end(APIResponse)
        /// Another reader waits for the next element.
        case isTaken
    }

    private struct State {
        /// The piece that has arrived and is not fully read.
        var piece: BodyPiece?
        var response: APIResponse?
        var hasHead = false
        var waiter: UnsafeContinuation<Next, Never>?
        var headWaiter: UnsafeContinuation<Void, Never>?
    }

    private let state = Lock(State())

    // MARK: From the request

    /// A piece of the body has arrived. The first one is empty and announces the head. The next one comes when this one
    /// is released.
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

    /// The request has ended. Called once, after everything else.
    func finish(_ response: APIResponse) {
        let (waiter, headWaiter) = state.withLock { state in
            state.response = response
            return (state.waiter.take(), state.headWaiter.take())
        }
        headWaiter?.resume()
        waiter?.resume(returning: .end(response))
    }

    /// Nobody will read what has arrived.
    func dropPiece() {
        // Releasing the piece takes other locks.
        let piece = state.withLock { $0.piece.take() }
        withExtendedLifetime(piece) {}
    }

    // MARK: From the reader, one call at a time

    /// Waits for the head of the answer.
    ///
    /// - Returns: the response when the request has ended without a body to read.
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
        // Usually the element is there already.
        if let next = take(orWait: nil) { return next }
        let next = await withUnsafeContinuation { continuation in
            if let next = take(orWait: continuation) { continuation.resume(returning: next) }
        }
        state.showHandOver()
        return next
    }

    /// Returns the next element; nil when the reader must wait.
    ///
    /// Stores the waiting reader under the same lock. So the next element goes to that reader, and nobody else takes it
    /// first.
    private func take(orWait waiter: UnsafeContinuation<Next, Never>?) -> Next? {
        let (next, used) = state.withLock { state -> (Next?, BodyPiece?) in
            if state.waiter != nil { return (.isTaken, nil) }
            if let element = state.piece?.next() { return (.element(element), nil) }
            if state.response == nil { state.waiter = waiter }
            return (state.response.map { .end($0) }, state.piece.take())
        }
        // Release the piece here, without the lock: the next piece may come at once, on another thread.
        withExtendedLifetime(used) {}
        return next
    }
}
