/// The program's interceptors of one scope, in order: the first is the outermost.
struct InterceptorStage: Stage, ~Copyable {
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
    private var head = HeadPassage()

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
        case .late(let error):
            end(index, &trip)
            return answer(HTTPResponse(status: 0, error: error), &trip)
        }
        index += 1
        return askOnTheWayIn(&trip)
    }

    private mutating func answer(_ response: HTTPResponse, _ trip: inout Trip) -> Step {
        release(index, &trip)
        if trip.facts.routesBody, response.isAnswer { return .play(response) }
        isOwnAnswer = true
        var answer = Answer(ExchangeResult(), to: trip.request)
        answer.take(response)
        return .answer(answer)
    }

    // MARK: The head of an answer whose body goes elsewhere

    /// The next interceptor to see the head; nil when none is left.
    mutating func show(_ head: ResponseHead, _ current: HTTPRequest?) -> Need? {
        let (runs, sent) = (runs, sent)
        guard let next = self.head.advance(make.count, { runs[$0] != nil && (sent[$0] ?? current) != nil }),
            let run = runs[next], let request = sent[next] ?? current
        else { return nil }
        let response = HTTPResponse(status: head.status, headers: head.headers)
        return .intercept(run, Passing(request: request, response: response, number: number, reason: reason))
    }

    /// No interceptor sees this head alone: its body follows in the response.
    mutating func skipHead() { head.skip() }

    /// Takes the reply of the interceptor that saw the head; nil when none was asked.
    mutating func take(
        _ reply: InterceptionReply, of head: ResponseHead, _ trip: inout Trip
    ) -> HeadPassage.Outcome? {
        guard let index = self.head.index else { return nil }
        let outcome = self.head.take(reply, of: head)
        if case .passes = outcome { release(index, &trip) }
        return outcome
    }

    /// The exchange has ended while an interceptor saw its head.
    mutating func leaveHead(_ trip: inout Trip) {
        if let index = head.leave() { end(index, &trip) }
    }

    // MARK: Out

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        if let instead = head.takeInstead() {
            index = instead.index
            return resumeOnTheWayOut(instead.reply, &answer, &trip)
        }
        if let head = head.takeHead(), answer.result.head != nil {
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

    mutating func resume(interceptor reply: InterceptionReply, _ answer: inout Answer?, _ trip: inout Trip) -> Step {
        guard var known = answer.take() else { return resumeOnTheWayIn(reply, &trip) }
        defer { answer = known }
        // Its reader would take the next body for the rest of this one.
        if case .send = reply, known.isDelivered {
            return cannotSendAgain("a part of the body has been delivered", &known, &trip)
        }
        return resumeOnTheWayOut(reply, &known, &trip)
    }

    private mutating func resumeOnTheWayOut(
        _ reply: InterceptionReply, _ answer: inout Answer, _ trip: inout Trip
    ) -> Step {
        switch reply {
        case .proceed: break
        case .respond(let response):
            // A body that was shown to a handler, or that went into a file, is not replaced.
            if trip.facts.routesBody, response.isAnswer, !answer.isRouted, answer.result.metrics.source == .network {
                release(index, &trip)
                return .play(response)
            }
            answer.take(response)
        case .fail(let error): answer.take(HTTPResponse(status: 0, error: error))
        case .send(let request):
            trip.request = request
            sent[index] = request
            // The interceptor waits for the next answer. Those inside it see a new request.
            entrance = index + 1
            return .again(Again(.interceptor))
        case .late(let error):
            // If an error is there already, it says what was late.
            if answer.result.error == nil, answer.failure == nil { answer.take(HTTPResponse(status: 0, error: error)) }
            end(index, &trip)
        }
        release(index, &trip)
        return askOnTheWayOut(answer, &trip)
    }

    /// The interceptor waits for an answer: it gets this error.
    mutating func cannotSendAgain(_ reason: String, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        let error = APIError(
            domain: .request, code: .invalidRequest, message: "an interceptor sends the request again, and \(reason)")
        answer.take(HTTPResponse(status: 0, error: error))
        entrance = nil
        index += 1
        return askOnTheWayOut(answer, &trip)
    }

    /// A passage may hold objects of the program, so it is released later, without a lock.
    private mutating func release(_ index: Int, _ trip: inout Trip) {
        sent[index] = nil
        if let run = runs[index].take(), !run.isReleased { trip.effects.append(.release(run)) }
    }

    /// Continues without an interceptor that has not answered.
    private mutating func end(_ index: Int, _ trip: inout Trip) {
        sent[index] = nil
        if let run = runs[index].take() { trip.effects.append(.end(run)) }
    }
}

extension Answer {
    /// Replaces the answer by an interceptor's.
    fileprivate mutating func take(_ response: HTTPResponse) {
        let version = response.httpVersion ?? result.head?.httpVersion ?? 1.1
        result.head =
            response.status > 0
            ? ResponseHead(status: response.status, headers: response.headers, httpVersion: version) : nil
        result.body = response.body.bytes
        if let trailers = response.trailers { result.trailers = trailers }
        result.error = response.problem
        result.question = nil
        result.isCut = false
        (failure, refusal, note, content, plain) = (nil, nil, nil, nil, nil)
        isMade = true
    }
}

extension HTTPResponse {
    /// Whether it is an answer, and not an error in its place.
    fileprivate var isAnswer: Bool { problem == nil }

    /// Why there is no complete answer. An interceptor may have given a status that no answer has.
    fileprivate var problem: APIError? {
        guard error == nil, !(200..<1000).contains(status) else { return error }
        return .invalidRequest("an interceptor's answer has the status \(status), which is not one from 200 to 999")
    }
}

extension Interception.Reason {
    init(_ reason: Reason) {
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
