import Testing

@testable import NTApi

/// In any order of events, the driver of a request waits for one thing at a time, and ends once.
@Suite struct RequestFlowTests {
    /// A model of `APIRequest`: it replies to the stages at random, sometimes late, twice, or only after a cancel.
    private struct Simulation {
        enum Outstanding {
            case exchange(HTTPRequest)
            /// The exchange is held: its head has arrived, and a decision says where the body goes.
            case routing(HTTPRequest, Need, ticket: UInt32)
            case need(Need, ticket: UInt32)
        }

        var flow = RequestFlow()
        var generator: SeededGenerator
        var violations: [String] = []
        var history: [String] = []
        private var outstanding: Outstanding?
        private var old: [UInt32] = []
        private var ends = 0
        private var isCancelled = false
        /// Those that are granted, and neither used nor returned.
        private var permits = 0
        private let isLimited: Bool
        private var released: [ObjectIdentifier] = []
        private var begun: [ObjectIdentifier] = []
        private var steps = 0
        private let client: APIClient
        private let breaker = CircuitBreaker(CircuitBreakerPolicy(minimumCalls: 2, openSeconds: 5, probes: 1))

        init(seed: UInt64) throws {
            var generator = SeededGenerator(seed)
            client = APIClient(baseURL: "https://api.example", configuration: .ephemeral)
            let body = BodyStream(rewind: { true }, read: { _ in 0 })
            let args: [APIArg] = Bool.random(using: &generator) ? [] : [.stream(body)]
            let http = try #require(client.request("things", args: args).httpRequest)
            func coin() -> Bool { Bool.random(using: &generator) }
            var plan = StagePlan()
            if coin() {
                let policy = RetryPolicy(attempts: 3, budget: 0.2)
                plan.retry = policy
                if coin(), let origin = Origin(url: http.url), let budget = RetryBudget(policy) {
                    plan.retryBudget = RetryBudgets().begin(origin, budget)
                }
            }
            if coin() { plan.token = TokenUse(header: "Authorization", scheme: "Bearer", statuses: [401]) }
            if coin() { plan.cache = (nil, MarkedSecrets()) }
            if coin() { plan.circuit = breaker.policy }
            isLimited = coin()
            plan.isLimited = isLimited
            if coin() { plan.download = try DownloadTarget(.file("/tmp/never-written")) }
            if coin() { plan.stream = RequestStream(.serverEvents, http, APIOptions()) }
            let two = try #require(InterceptorMakers([{ Run() }, { Run() }]))
            if coin() { plan.callInterceptors = two }
            if coin() { plan.attemptInterceptors = two }
            let readers: BodyReaders = coin() ? .handler : []
            let facts = Self.facts(&generator)
            self.generator = generator
            _ = flow.resume(http, readers, asks: [], facts.now, calendar: 0)
            carryOut(flow.begin(plan, http, facts))
        }

        mutating func run() {
            while ends == 0, steps < 2000 {
                steps += 1
                step()
            }
            if ends != 1 { violate("it ends \(ends) times") }
            // Late replies must have no effect.
            for ticket in old where flow.replied(ticket, .waited, facts()) != nil {
                violate("hears of \(ticket) when it is over")
            }
            keep(flow.chain?.owed ?? [])
            if permits != 0 { violate("ends with \(permits) permits") }
            for run in begun where !released.contains(run) { violate("loses a passage") }
            var gate = flow.gate
            if gate.ended(successfully: true) != .deliverResponse { violate("holds the response for ever") }
        }

        private mutating func step() {
            if !isCancelled, isSmall(chance: 60) {
                isCancelled = true
                note("cancel")
                let (action, isLeft) = flow.cancel(.now(), calendar: 0)
                switch outstanding {
                case .exchange, .routing:
                    if isLeft { violate("leaves an exchange") }
                    if action != .cancelExchange { violate("a cancel says \(action) while an exchange runs") }
                default:
                    if action != .nothing { violate("a cancel says \(action) between two exchanges") }
                }
                if case .routing(let http, _, let ticket) = outstanding {
                    old.append(ticket)
                    outstanding = .exchange(http)
                }
                if isLeft {
                    outstanding = nil
                    ends += 1
                    return
                }
            }
            if isSmall(chance: 20) { suspendOrResume() }
            if isSmall(chance: 10), let ticket = old.randomElement(using: &generator) {
                note("late \(ticket)")
                if flow.replied(ticket, .waited, facts()) != nil { violate("hears of \(ticket) late") }
            }
            switch outstanding {
            case nil: violate("nobody goes on")
            case .exchange(let http):
                if !isCancelled, isSmall(chance: 3) {
                    note("head")
                    let head = ResponseHead(status: 200, headers: HTTPHeaders(), httpVersion: 1.1)
                    if let transition = flow.headArrived(head, coin() ? .response : []) {
                        return carryOut(transition, of: http)
                    }
                }
                end(http, isCancelled ? ExchangeResult(error: .cancelled) : self.result())
            case .routing(let http, let need, let ticket):
                // Meanwhile the exchange may end, by its own timeout.
                guard !isSmall(chance: 8) else {
                    old.append(ticket)
                    return end(http, ExchangeResult(error: Self.late))
                }
                old.append(ticket)
                note("routed \(ticket)")
                guard let transition = flow.replied(ticket, reply(to: need), facts()) else {
                    return violate("does not hear of \(ticket)")
                }
                carryOut(transition, of: http)
            case .need(let need, let ticket):
                outstanding = nil
                old.append(ticket)
                let reply = reply(to: need)
                if case .permit(nil) = reply { permits += 1 }
                note("told \(ticket)")
                guard let transition = flow.replied(ticket, reply, facts()) else {
                    return violate("does not hear of \(ticket)")
                }
                carryOut(transition)
            }
        }

        private mutating func end(_ http: HTTPRequest, _ result: ExchangeResult) {
            outstanding = nil
            note("ends \(result.head?.status ?? 0)")
            // Here, no reader holds a piece of the body, so nothing waits for a reader.
            if flow.exchangeEnded(result, isPlain: false, .now()) != .bodyIsRead { violate("waits for a reader") }
            carryOut(flow.answered(result, nil, facts()))
        }

        /// May be called at any moment. An exchange is held exactly while the request is suspended.
        private mutating func suspendOrResume() {
            let runs: Bool
            switch outstanding {
            case .exchange, .routing: runs = true
            default: runs = false
            }
            note(flow.gate.isSuspended ? "resume" : "suspend")
            if flow.gate.isSuspended {
                let action = flow.resume(nil, [], asks: [], .now(), calendar: 0)
                let wanted: DeliveryGate.ResumeAction =
                    isCancelled ? .tooLate : runs ? .releaseExchange : .nothing
                if action != wanted { violate("resume says \(action)") }
            } else {
                let action = flow.suspend(.now())
                let wanted: DeliveryGate.SuspendAction = isCancelled ? .tooLate : runs ? .holdExchange : .nothing
                if action != wanted { violate("suspend says \(action)") }
            }
        }

        /// Events before the body of an answer.
        private mutating func carryOut(_ transition: RequestFlow.Transition, of http: HTTPRequest) {
            perform(transition)
            switch transition.next {
            case .start(let need, let ticket): outstanding = .routing(http, need, ticket: ticket)
            case .route: outstanding = .exchange(http)
            case .refuse(let error): end(http, ExchangeResult(error: error))
            case .dropExchange: end(http, ExchangeResult(error: .cancelled))
            default: violate("\(transition.next) while an exchange runs")
            }
        }

        /// Another thread may end the request just before the effects are performed.
        private mutating func perform(_ transition: RequestFlow.Transition) {
            keep(transition.effects)
            guard transition.effects.contains(where: \.isOfInterceptors) else { return }
            var gate = flow.gate
            if gate.ended(successfully: false) == .deliverResponse { violate("the response overtakes an interceptor") }
            _ = flow.gate.callReturned()
        }

        private mutating func keep(_ effects: [Effect]) {
            for effect in effects {
                switch effect {
                case .release(let run), .end(let run):
                    if released.contains(ObjectIdentifier(run)) { violate("lets a passage go twice") }
                    released.append(ObjectIdentifier(run))
                case .returnPermit: permits -= 1
                default: break
                }
            }
        }

        private mutating func carryOut(_ transition: RequestFlow.Transition) {
            if outstanding != nil { violate("goes on while it waits") }
            if ends > 0 { violate("goes on after its end") }
            perform(transition)
            switch transition.next {
            case .nothing, .route, .refuse, .dropExchange: violate("\(transition.next) where no exchange runs")
            case .begin(let http):
                if isLimited { permits -= 1 }
                if permits != 0 { violate("an exchange with \(permits + 1) permits") }
                var previous: HTTPRequest?
                guard flow.exchangeBegins(http, mayBeChallenged: coin(), releasing: &previous) else {
                    if !isCancelled { violate("cannot begin") }
                    ends += 1
                    return
                }
                outstanding = .exchange(http)
            case .play(let response, let http):
                var previous: HTTPRequest?
                guard flow.exchangeBegins(http, mayBeChallenged: false, releasing: &previous) else {
                    if !isCancelled { violate("cannot begin") }
                    ends += 1
                    return
                }
                note("plays \(response.status)")
                outstanding = .exchange(http)
            case .start(let need, let ticket):
                if case .intercept(let run, let passing) = need, passing.response == nil {
                    begun.append(ObjectIdentifier(run))
                    kept.append(run)
                }
                outstanding = .need(need, ticket: ticket)
            case .conclude:
                if isCancelled { violate("concludes what was cancelled") }
                ends += 1
            case .cancelled:
                if !isCancelled { violate("is cancelled by nobody") }
                ends += 1
            }
        }

        /// Kept, so that no address, and thus no identifier, is used twice.
        private var kept: [any InterceptorRun] = []

        private mutating func reply(to need: Need) -> Reply {
            // Every schedule must end.
            let isLate = steps > 300
            switch need {
            case .pause: return .waited
            case .circuit(let http):
                guard let origin = Origin(url: http.url) else { return .circuit(.failure(Self.late)) }
                return .circuit(breaker.admit(origin, MonotonicTime(nanoseconds: UInt64(steps) * 1_000_000_000)))
            case .retry: return .retry(isInBudget: coin())
            case .permit: return .permit(isSmall(chance: 20) ? Self.late : nil)
            case .token:
                return coin() ? .token(.granted(grant, isNew: false)) : .token(isLate ? .none : .failed(Self.late))
            case .otherToken: return coin() ? .token(.granted(grant, isNew: coin())) : .token(.none)
            case .lookUp: return .stored(nil, nil)
            case .ask(let question):
                switch question.kind {
                case .redirect: return .decision(coin() ? .refuse : .proceed)
                case .retry: return .decision(isLate ? .refuse : coin() ? .proceed : .retry(afterSeconds: 0))
                case .challenge:
                    return .decision(
                        isLate
                            ? .proceed
                            : coin()
                                ? .credential(Credential(user: "a", password: "b"), .none) : .trust(forSession: coin()))
                case .cache: return .decision(.store(.memory))
                case .response: return .decision(.proceed)
                }
            case .rewind: return .rewound(coin())
            case .file(let work):
                switch work {
                case .begin(let download, let http), .again(let download, let http): return .file(download, http)
                case .next(let download, _): return .file(download, nil)
                }
            case .content:
                var content = ResponseContent(flow.history, .now())
                if coin() { content.error = Self.late }
                return .content(content)
            case .recall(.credential(_, _, _, _, _, let asksOwn, _)):
                return .recalled(
                    .credential(coin() ? Credential(user: "a", password: "\(steps)") : nil, isOwn: asksOwn))
            case .recall: return .recalled(.certificate(coin() ? "PEM" : nil))
            case .proxy(let http, _, _): return .proxied(http)
            case .stream(_, .request(let http)): return .stream(.request(http))
            case .stream: return .stream(isLate || coin() ? .accept : .connectAgain(afterSeconds: 0))
            case .intercept(_, let passing):
                switch Int.random(in: 0..<(isLate ? 2 : 5), using: &generator) {
                case 0: return .intercepted(.proceed(nil))
                case 1: return .intercepted(.respond(HTTPResponse(status: 200)))
                case 2: return .intercepted(.fail(Self.late))
                case 3: return .intercepted(.late(Self.late))
                default: return .intercepted(.send(passing.request))
                }
            }
        }

        private mutating func result() -> ExchangeResult {
            if isSmall(chance: 6) { return ExchangeResult(error: Self.late) }
            var result = ExchangeResult()
            if steps < 300, isSmall(chance: 8) {
                let questions: [ConnectionQuestion] = [
                    .untrusted, .certificates(["PEM"]), .otherCertificate, .proxyCredential,
                ]
                result.question = questions.randomElement(using: &generator)
                result.error = Self.late
                return result
            }
            let status =
                steps > 300 ? 200 : [200, 200, 302, 401, 404, 429, 503].randomElement(using: &generator) ?? 200
            var headers = HTTPHeaders()
            if status == 302 { headers.set("Location", coin() ? "/other" : "https://elsewhere.example/") }
            if status == 401 { headers.set("WWW-Authenticate", "Basic realm=\"r\"") }
            if status == 429 { headers.set("Retry-After", "1") }
            result.head = ResponseHead(status: status, headers: headers, httpVersion: 1.1)
            return result
        }

        private static let late = APIError(domain: .network, code: .timeout, message: "late", isRetryable: true)
        private var grant: TokenGrant { TokenGrant(token: "t", generation: UInt64(steps)) }

        private final class Run: InterceptorRun {
            func intercept(_ interception: Interception) {}

            func end() {}
        }

        private mutating func facts() -> Facts { Self.facts(&generator) }

        private static func facts(_ generator: inout SeededGenerator) -> Facts {
            Facts(
                now: MonotonicTime(nanoseconds: 1), calendar: 0, cacheCalendar: 0, deadline: .distantFuture,
                asks: RequestDecision.Kinds(rawValue: Int.random(in: 0..<32, using: &generator)),
                fraction: .random(in: 0...1, using: &generator), isElsewhere: false, keepsCredentials: true)
        }

        private mutating func coin() -> Bool { Bool.random(using: &generator) }

        private mutating func isSmall(chance: Int) -> Bool { Int.random(in: 0..<chance, using: &generator) == 0 }

        private mutating func note(_ text: String) { history.append(text) }

        private mutating func violate(_ text: String) {
            violations.append(text)
            // One violation is enough: end the run.
            ends = max(ends, 1)
        }
    }

    @Test func everyScheduleEndsOnce() throws {
        let first = UInt64.random(in: 0...UInt64.max)
        for offset in 0..<4000 as Range<UInt64> {
            let seed = first &+ offset
            var simulation = try Simulation(seed: seed)
            simulation.run()
            #expect(simulation.violations.isEmpty, "seed \(seed): \(simulation.history.suffix(40))")
            guard simulation.violations.isEmpty else { return }
        }
    }
}
