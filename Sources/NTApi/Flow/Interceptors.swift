/// The program's interceptors of one scope, in order: the first is the outermost.
struct Interceptors: Stage, ~Copyable {
    private let make: InterceptorMakers
    /// The passages that wait for an answer, one for each interceptor; nil where none waits.
    private(set) var runs: [(any InterceptorRun)?]
    /// The requests that they have sent.
    private var sent: [HTTPRequest?]
    private var index = 0
    private var number = 0
    private var reason = Interception.Reason.first
    /// Where a request that an interceptor sends again enters; nil is the first interceptor.
    private var entrance: Int?
    /// Whether the answer on its way out was made by an interceptor, so that only those outside it see it.
    private var isOwnAnswer = false
    /// The interceptor that sees the head of an answer whose body goes elsewhere; nil while none does.
    private var shown: Int?
    /// What it answered: another head instead of the server's, or something that ends this exchange.
    private var head: ResponseHead?
    @Boxed private var instead: InterceptionReply?

    init(_ make: InterceptorMakers) {
        self.make = make
        runs = Array(repeating: nil, count: make.count)
        sent = Array(repeating: nil, count: make.count)
    }

    var isWaiting: Bool { runs.contains { $0 != nil } }

    // MARK: In

    mutating func send(_ trip: inout Trip) -> Step {
        guard trip.reason != .inspection else { return .on }
        number += 1
        reason = Interception.Reason(trip.reason)
        index = entrance ?? 0
        entrance = nil
        return askOnTheWayIn(&trip)
    }

    private mutating func askOnTheWayIn(_ trip: inout Trip) -> Step {
        guard index < make.count, let run = make.make(index) else { return .on }
        end(index, &trip)
        runs[index] = run
        return .wait(.intercept(run, Passing(request: trip.request, response: nil, number: number, reason: reason)))
    }

    private mutating func resumeOnTheWayIn(_ reply: InterceptionReply, _ trip: inout Trip) -> Step {
        switch reply {
        case .proceed(let request):
            if let request { trip.request = request }
            release(index, &trip)
        case .send(let request):
            trip.request = request
            sent[index] = request
        case .respond(let response): return answer(response, &trip)
        case .fail(let error): return answer(HTTPResponse(status: 0, error: error), &trip)
        }
        index += 1
        return askOnTheWayIn(&trip)
    }

    private mutating func answer(_ response: HTTPResponse, _ trip: inout Trip) -> Step {
        release(index, &trip)
        isOwnAnswer = true
        var answer = Answer(ExchangeResult(), to: trip.request)
        answer.take(response)
        return .answer(answer)
    }

    // MARK: The head of an answer whose body goes elsewhere

    /// The next interceptor to see the head, from the innermost outwards; nil when none is left.
    mutating func show(_ head: ResponseHead, _ current: HTTPRequest?) -> Need? {
        var next = shown ?? make.count
        while next > 0 {
            next -= 1
            guard let run = runs[next], let request = sent[next] ?? current else { continue }
            shown = next
            let response = HTTPResponse(status: head.status, headers: head.headers)
            return .intercept(run, Passing(request: request, response: response, number: number, reason: reason))
        }
        shown = nil
        return nil
    }

    /// No interceptor sees this head alone: its body follows in the response.
    mutating func skipHead() { shown = 0 }

    /// Takes the answer of the interceptor that saw the head.
    ///
    /// - Returns: the head for the outer interceptors; `.some(nil)` when the exchange is to be dropped; nil when none
    ///   was asked.
    mutating func take(_ reply: Reply, of head: ResponseHead, _ trip: inout Trip) -> ResponseHead?? {
        guard let index = shown else { return nil }
        switch reply {
        case .intercepted(.proceed): break
        case .intercepted(.respond(let response)) where response.isHead:
            self.head = ResponseHead(
                status: response.status, headers: response.headers, httpVersion: head.httpVersion)
            release(index, &trip)
            return self.head
        case .intercepted(let other):
            instead = other
            return .some(nil)
        case .failed(let error):
            instead = .fail(error)
            return .some(nil)
        default: return nil
        }
        release(index, &trip)
        return head
    }

    /// The exchange has ended while an interceptor saw its head.
    mutating func leaveHead(_ trip: inout Trip) {
        if let index = shown.take() { end(index, &trip) }
    }

    // MARK: Out

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        if let reply = instead.take(), let shown = shown.take() {
            index = shown
            var known: Answer? = answer
            defer { answer = known ?? answer }
            return resume(.intercepted(reply), &known, &trip)
        }
        if let head = head.take(), answer.result.head != nil {
            answer.result.head = head
            answer.isMade = true
        }
        // After an inspection no inner interceptor waits, but an outer one may wait for what follows.
        if !isOwnAnswer { index = make.count }
        isOwnAnswer = false
        // A request that was sent again may have failed before it came here.
        entrance = nil
        return askOnTheWayOut(answer, &trip)
    }

    private mutating func askOnTheWayOut(_ answer: Answer, _ trip: inout Trip) -> Step {
        while index > 0 {
            index -= 1
            guard let run = runs[index] else { continue }
            let passing = Passing(
                request: sent[index] ?? answer.sent, response: HTTPResponse(answer), number: number, reason: reason)
            return .wait(.intercept(run, passing))
        }
        return .on
    }

    mutating func resume(_ reply: Reply, _ answer: inout Answer?, _ trip: inout Trip) -> Step {
        guard var known = answer else {
            guard case .intercepted(let reply) = reply else { return failed(reply, &trip) }
            return resumeOnTheWayIn(reply, &trip)
        }
        defer { answer = known }
        switch reply {
        case .intercepted(.proceed): break
        case .intercepted(.respond(let response)): known.take(response)
        case .intercepted(.fail(let error)): known.take(HTTPResponse(status: 0, error: error))
        case .intercepted(.send(let request)):
            let wasSent = sent[index]?.body
            trip.request = request
            sent[index] = request
            guard case .stream(let stream) = request.body, case .stream(let old) = wasSent, stream === old else {
                return sendAgain()
            }
            return .wait(.rewind(stream))
        case .rewound(true): return sendAgain()
        case .rewound(false):
            // The interceptor waits for an answer: it gets this error.
            known.take(HTTPResponse(status: 0, error: Self.isSpent))
            index += 1
            return askOnTheWayOut(known, &trip)
        case .failed(let error):
            // If an error is there already, it says what was late.
            if known.result.error == nil, known.failure == nil { known.take(HTTPResponse(status: 0, error: error)) }
            end(index, &trip)
        default: break
        }
        release(index, &trip)
        return askOnTheWayOut(known, &trip)
    }

    /// The interceptor waits for the next answer. Those inside it see a new request.
    private mutating func sendAgain() -> Step {
        entrance = index + 1
        return .again(.interceptor)
    }

    private mutating func failed(_ reply: Reply, _ trip: inout Trip) -> Step {
        guard case .failed(let error) = reply else { return .on }
        end(index, &trip)
        return answer(HTTPResponse(status: 0, error: error), &trip)
    }

    /// A passage may hold objects of the program, so it is released later, without a lock.
    private mutating func release(_ index: Int, _ trip: inout Trip) {
        sent[index] = nil
        if let run = runs[index].take() { trip.effects.append(.release(run)) }
    }

    /// Continues without an interceptor that has not answered.
    private mutating func end(_ index: Int, _ trip: inout Trip) {
        sent[index] = nil
        if let run = runs[index].take() { trip.effects.append(.end(run)) }
    }

    private static let isSpent = APIError(
        domain: .request, code: .invalidRequest,
        message: "an interceptor sends the request again, and the body is a stream that cannot be sent twice")
}

extension HTTPResponse {
    /// Whether it replaces only the head, so that the arriving body stays.
    fileprivate var isHead: Bool { (200..<300).contains(status) && body.count == 0 && error == nil }
}

extension Answer {
    /// Replaces the answer by an interceptor's.
    fileprivate mutating func take(_ response: HTTPResponse) {
        let version = result.head?.httpVersion ?? 1.1
        result.head =
            response.status > 0
            ? ResponseHead(status: response.status, headers: response.headers, httpVersion: version) : nil
        result.body = response.body.bytes
        result.error = response.error
        result.question = nil
        result.isCut = false
        (failure, refusal, note, content) = (nil, nil, nil, nil)
        isMade = true
    }
}

extension Interception.Reason {
    fileprivate init(_ reason: Reason) {
        switch reason {
        case .first, .inspection: self = .first
        case .reconnect: self = .reconnect
        case .redirect: self = .redirect
        case .retry: self = .retry
        case .credentials, .trust: self = .credentials
        case .range: self = .range
        case .reload: self = .reload
        case .interceptor: self = .interceptor
        }
    }
}
