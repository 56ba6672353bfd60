/// The head of an answer whose body goes elsewhere, on its way past the interceptors that wait for the answer: from the
/// innermost outwards, before the body arrives.
struct HeadPassage: Sendable {
    /// What an interceptor's reply to the head means.
    enum Outcome {
        /// The next interceptor sees this head.
        case passes(ResponseHead)
        /// The exchange is not needed.
        case dropsExchange
    }

    /// The interceptor that sees the head; nil while none does.
    private(set) var index: Int?
    /// An interceptor's head instead of the server's.
    private var head: ResponseHead?
    /// A reply that ends this exchange.
    @Boxed private var instead: InterceptionReply?

    /// - Parameters:
    ///   - count: the number of interceptors.
    ///   - waits: whether the interceptor at this index waits for the answer.
    /// - Returns: the next interceptor to see the head; nil when none is left.
    mutating func advance(_ count: Int, _ waits: (Int) -> Bool) -> Int? {
        index = (0..<(index ?? count)).last(where: waits)
        return index
    }

    /// No interceptor sees this head alone: its body follows in the response.
    mutating func skip() { index = 0 }

    /// Takes the reply of the interceptor that saw the head.
    mutating func take(_ reply: InterceptionReply, of head: ResponseHead) -> Outcome {
        switch reply {
        case .proceed: return .passes(head)
        case .respond(let response) where response.isHead:
            let changed = ResponseHead(
                status: response.status, headers: response.headers, httpVersion: head.httpVersion)
            self.head = changed
            return .passes(changed)
        case .late(let error): instead = .fail(error)
        case .send, .respond, .fail: instead = reply
        }
        return .dropsExchange
    }

    /// The exchange has ended while an interceptor saw its head.
    ///
    /// - Returns: that interceptor.
    mutating func leave() -> Int? { index.take() }

    /// The whole answer has arrived: the reply that ended its exchange, and whose it is.
    mutating func takeInstead() -> (index: Int, reply: InterceptionReply)? {
        guard let reply = instead.take(), let index = index.take() else { return nil }
        return (index, reply)
    }

    mutating func takeHead() -> ResponseHead? { head.take() }
}

extension HTTPResponse {
    /// Whether it replaces only the head, so that the arriving body stays.
    fileprivate var isHead: Bool { (200..<300).contains(status) && body.count == 0 && error == nil }
}
