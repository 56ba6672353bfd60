/// The program's interceptors of one scope, in order: the first is the outermost.
struct Interceptors: Stage, ~Copyable {
    private let make: [@Sendable () -> any InterceptorRun]
    /// The passages that wait for an answer, by interceptor.
    private(set) var runs: [(any InterceptorRun)?]
    /// What they have sent.
    private var sent: [HTTPRequest?]
    private var index = 0
    private var number = 0
    private var reason = Interception.Reason.first
    /// Where the request goes in that an interceptor sends again; nil is at the first one.
    private var entrance: Int?
    /// Whether what goes out is an interceptor's own answer, which those before it see.
    private var isOwnAnswer = false
    /// Who is asked about the head of an answer whose body goes elsewhere; nil while nobody is.
    private var shown: Int?
    /// What came of that: another head in place of the server's, or something else than this exchange.
    private var head: ResponseHead?
    @Boxed private var instead: InterceptionReply?

    init(_ make: [@Sendable () -> any InterceptorRun]) {
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
        guard index < make.count else { return .on }
        let run = make[index]()
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

    /// The next one to see the head, from the innermost out; nil when nobody is left.
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

    /// Nobody is to see the head of this answer: its body comes with it.
    mutating func skipHead() { shown = 0 }

    /// Who was shown the head says how it goes on.
    ///
    /// - Returns: the head for those further out, or `.some(nil)` where this exchange is of no use; nil when nobody was asked.
    mutating func hear(_ reply: Reply, of head: ResponseHead, _ trip: inout Trip) -> ResponseHead?? {
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

    /// The exchange has ended while somebody was shown its head.
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
        // Nobody waits for the answer to an inspection, but for what stands after it.
        if !isOwnAnswer { index = make.count }
        isOwnAnswer = false
        // What was sent again may have failed before it came here.
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
            // It waits for an answer, and this is what it gets.
            known.take(HTTPResponse(status: 0, error: Self.isSpent))
            index += 1
            return askOnTheWayOut(known, &trip)
        case .failed(let error):
            // What was not in time before has said so itself.
            if known.result.error == nil, known.failure == nil { known.take(HTTPResponse(status: 0, error: error)) }
            end(index, &trip)
        default: break
        }
        release(index, &trip)
        return askOnTheWayOut(known, &trip)
    }

    /// The interceptor waits for the next answer; those behind it see another request.
    private mutating func sendAgain() -> Step {
        entrance = index + 1
        return .again(.interceptor)
    }

    private mutating func failed(_ reply: Reply, _ trip: inout Trip) -> Step {
        guard case .failed(let error) = reply else { return .on }
        end(index, &trip)
        return answer(HTTPResponse(status: 0, error: error), &trip)
    }

    /// What a passage holds is the program's: it goes when no lock is held.
    private mutating func release(_ index: Int, _ trip: inout Trip) {
        sent[index] = nil
        if let run = runs[index].take() { trip.effects.append(.release(run)) }
    }

    /// The request goes on without an interceptor that has not let it go.
    private mutating func end(_ index: Int, _ trip: inout Trip) {
        sent[index] = nil
        if let run = runs[index].take() { trip.effects.append(.end(run)) }
    }

    private static let isSpent = APIError(
        domain: .request, code: .invalidRequest,
        message: "an interceptor sends the request again, and the body is a stream that cannot be sent twice")
}

extension HTTPResponse {
    /// Whether it stands for the head alone, so that the body that arrives stays.
    fileprivate var isHead: Bool { (200..<300).contains(status) && body.count == 0 && error == nil }
}

extension Answer {
    /// An interceptor's answer takes the place of what there was.
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
