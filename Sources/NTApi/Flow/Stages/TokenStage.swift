/// Adds the token of the client's authenticator on each origin that may see it, and another token when the server says
/// that it has expired.
struct TokenStage: Stage, ~Copyable {
    private let use: TokenUse
    private var given: HTTPRequest?
    private var history = TokenHistory()
    /// The token that the request carries; nil while it carries none.
    private var generation: UInt64?
    /// The new token to send the request again with.
    private var granted: TokenGrant?

    init(_ use: TokenUse) { self.use = use }

    var quietStatuses: Set<Int> { history.wasRefreshed || generation == nil ? [] : use.statuses }

    mutating func send(_ trip: inout Trip) -> Step {
        given = trip.request
        generation = nil
        if trip.reason == .reconnect { history = .init() }
        if let granted {
            self.granted = nil
            return carry(granted, &trip)
        }
        guard trip.request.headers[use.header] == nil,
            trip.request.digest == nil || !use.header.equalsIgnoringASCIICase("authorization")
        else { return .on }
        return .wait(.token(trip.request))
    }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        guard !answer.isRedirect, answer.result.error == nil, let head = answer.result.head, let generation,
            !history.wasRefreshed, use.hasExpired(head),
            // An interceptor may have sent the request to another origin, which did not see the token.
            !Origin.isAnother(answer.sent.url, than: given?.url ?? "")
        else { return .on }
        if case .stream(let stream) = given?.body, !stream.isRewindable {
            trip.effects.append(.rejectedForGood(generation))
            answer.failure = Self.expired("the body is a stream that cannot be sent twice")
            return .accept
        }
        // The program's refresh may read this answer.
        return .wait(.content(answer))
    }

    mutating func resume(token reply: TokenReply, _ answer: inout Answer?, _ trip: inout Trip) -> Step {
        answer == nil ? resumeSending(reply, &trip) : resumeReceiving(reply, &answer, &trip)
    }

    private mutating func resumeSending(_ reply: TokenReply, _ trip: inout Trip) -> Step {
        switch reply {
        case .granted(let grant, _): return carry(grant, &trip)
        case .none: return .on
        case .failed(let error):
            var answer = Answer(failing: error, trip.request)
            answer.lacksToken = true
            return .answer(answer)
        }
    }

    private mutating func carry(_ grant: TokenGrant, _ trip: inout Trip) -> Step {
        let value = use.value(grant.token)
        do throws(APIError) {
            try HeaderSyntax.check(name: use.header, value: value)
        } catch {
            return .answer(Answer(failing: error, trip.request))
        }
        trip.request.headers.set(use.header, value, isSecret: true)
        if trip.request.settings.context?.cache != nil {
            trip.request.token = CarriedToken(use.header, value, owner: grant.owner)
        }
        generation = grant.generation
        return .on
    }

    mutating func resume(content: ResponseContent, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        answer.content = content
        guard let generation, let given else { return .on }
        return .wait(.otherToken(than: generation, history, content, given))
    }

    private mutating func resumeReceiving(_ reply: TokenReply, _ answer: inout Answer?, _ trip: inout Trip) -> Step {
        switch reply {
        case .granted(let grant, let isNew):
            guard let given else { return .accept }
            if isNew || history.wasReplayed { history.wasRefreshed = true } else { history.wasReplayed = true }
            granted = grant
            trip.request = given
            return .again(Again(.credentials, .sentAgain))
        case .none: return .accept
        case .failed(let error):
            answer?.failure = error
            answer?.lacksToken = true
            return .on
        }
    }

    mutating func cannotSendAgain(_ reason: String, _ answer: inout Answer, _ trip: inout Trip) -> Step {
        granted = nil
        answer.failure = Self.expired(reason)
        return .accept
    }

    private static func expired(_ reason: String) -> APIError {
        APIError(
            domain: .http, code: .authentication, message: "the credentials have expired, and \(reason)")
    }
}

/// What an authenticator answers a request.
enum TokenReply: Sendable {
    /// - isNew: whether it comes from a refresh that the request waited for.
    case granted(TokenGrant, isNew: Bool)
    /// Send the request without a token, or pass on the server's answer.
    case none
    /// There is no token in time, or the refresh has failed.
    case failed(APIError)
}
