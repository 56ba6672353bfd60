/// The result of applying a list of args in order.
struct AppliedArgs {
    /// The kinds of body. A request has at most one.
    enum Body {
        case form([(name: String, value: String)])
        case multipart([HTTPRequest.Part])
        case data([UInt8], contentType: String?)
        case json(JSON)
        case members([(name: String, value: JSON)])
        case file(path: String, contentType: String?)
        case stream(BodyStream, contentType: String?)

        var kind: String {
            switch self {
            case .form: "form"
            case .multipart: "multipart"
            case .data: "raw data"
            case .json, .members: "json"
            case .file: "file"
            case .stream: "stream"
            }
        }
    }

    /// The pairs of the query.
    let query: QueryArgs
    private(set) var path: [(name: String, value: String)] = []
    private(set) var body: Body?
    private(set) var baseURL: String?
    private(set) var headers = HTTPHeaders()
    /// Replaces an Authorization header.
    @Boxed private(set) var digest: Credential?
    private(set) var method: String?
    private(set) var timeouts: [TimeoutClock: Double] = [:]
    /// Nil uses the client's.
    private(set) var cachePolicy: CachePolicy?
    private(set) var options = APIOptions()
    /// The file to write the body of the response to.
    private(set) var download: DownloadPlace?
    @Boxed private(set) var resumeData: ResumeData?
    @Boxed private(set) var retry: RetryPolicy?
    /// Replaces the client's.
    private(set) var rateLimiter: RateLimiter?
    private(set) var interceptors: [Interceptor] = []
    /// Whether to make a key for the request, if its method needs one.
    private(set) var makesIdempotencyKey = false
    private(set) var secrets = MarkedSecrets()

    init(_ args: [APIArg]) throws(APIError) {
        query = QueryArgs(args: args)
        for arg in args { try apply(arg) }
    }

    private mutating func apply(_ arg: APIArg) throws(APIError) {
        if arg.isSecret { secrets.mark(arg.kind) }
        switch arg.kind {
        case .suppressed, .url, .urlDefault, .thread: break
        case .path(let name, let value): path.append((name, value))
        case .form(let name, let value): try add((name, value))
        case .multipart(let part): try add(part)
        case .data(let bytes, let type): try set(.data(bytes, contentType: type))
        case .json(let value): try set(.json(value))
        case .member(let name, let value): try add((name, value))
        case .file(let path, let type): try set(.file(path: path, contentType: type))
        case .stream(let stream, let type): try set(.stream(stream, contentType: type))
        case .baseURL(let url): baseURL = url
        case .header(let name, let value, let isAdded):
            try HeaderSyntax.check(name: name, value: value)
            if digest != nil, name.equalsIgnoringASCIICase("authorization") { digest = nil }
            if name.equalsIgnoringASCIICase(IdempotencyKey.header) { makesIdempotencyKey = false }
            if isAdded {
                headers.add(name, value, isSecret: arg.isMarkedSecret)
            } else {
                headers.set(name, value, isSecret: arg.isMarkedSecret)
            }
        case .basicAuth(let user, let password): try setBasicAuth(user, password)
        case .digestAuth(let user, let password):
            try Self.checkAuth("digest", user, password)
            digest = Credential(user: user, password: password)
            headers.remove("Authorization")
        case .bearer(let token):
            try HeaderSyntax.check(name: "Authorization", value: token)
            setAuthorization("Bearer \(token)")
        case .timeout(let clock, let seconds):
            guard seconds > 0 else {
                throw .invalidRequest("the \(clock.rawValue) timeout is \(seconds) s: it must be above 0")
            }
            timeouts[clock] = seconds
        case .method(let token):
            try HeaderSyntax.check(method: token)
            method = token
        case .download(let path): download = path.map { .file($0) } ?? .temporary
        case .resume(let data): resumeData = data
        case .retry(let policy):
            if let problem = policy.problem { throw .invalidRequest("the retry policy: \(problem)") }
            retry = policy
        case .rateLimiter(let limiter): rateLimiter = limiter
        case .interceptor(let interceptor): interceptors.append(interceptor)
        case .idempotencyKey(let key): try setIdempotencyKey(key)
        case .cachePolicy(let policy): cachePolicy = policy
        case .option(let name, let value):
            try APIOption.check(name)
            options.set(name, value)
        case .invalid(let message): throw .invalidRequest(message)
        }
    }

    /// Whether the body of the response goes to a file.
    var isDownload: Bool { download != nil || resumeData != nil }

    private mutating func setBasicAuth(_ user: String, _ password: String) throws(APIError) {
        guard !user.utf8.contains(UInt8(ascii: ":")) else {
            throw .invalidRequest("the user of basic auth has a colon, which RFC 7617 does not allow")
        }
        try Self.checkAuth("basic", user, password)
        setAuthorization("Basic \(Base64.encode("\(user):\(password)".utf8))")
    }

    private static func checkAuth(_ scheme: String, _ user: String, _ password: String) throws(APIError) {
        guard !(user + password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw .invalidRequest("user or password of \(scheme) auth has a control character")
        }
    }

    private mutating func setIdempotencyKey(_ key: String?) throws(APIError) {
        makesIdempotencyKey = key == nil
        guard let key else { return headers.remove(IdempotencyKey.header) }
        guard !key.isEmpty else {
            throw .invalidRequest("the idempotency key is empty: leave the text out, and the library makes a key")
        }
        try HeaderSyntax.check(name: IdempotencyKey.header, value: key)
        headers.set(IdempotencyKey.header, key)
    }

    private mutating func setAuthorization(_ value: String) {
        digest = nil
        headers.set("Authorization", value, isSecret: true)
    }

    private mutating func add(_ pair: (name: String, value: String)) throws(APIError) {
        if case .form(var pairs) = body {
            // Release the other reference first, so that appending does not copy the list.
            body = nil
            pairs.append(pair)
            body = .form(pairs)
        } else {
            try set(.form([pair]))
        }
    }

    private mutating func add(_ member: (name: String, value: JSON)) throws(APIError) {
        if case .members(var members) = body {
            body = nil
            members.append(member)
            body = .members(members)
        } else {
            try set(.members([member]))
        }
    }

    private mutating func add(_ part: HTTPRequest.Part) throws(APIError) {
        try HeaderSyntax.check(part)
        if case .multipart(var parts) = body {
            body = nil
            parts.append(part)
            body = .multipart(parts)
        } else {
            try set(.multipart([part]))
        }
    }

    private mutating func set(_ new: Body) throws(APIError) {
        if let old = body {
            let what = old.kind == new.kind ? "a second \(new.kind) body" : "a \(old.kind) and a \(new.kind) body"
            throw .invalidRequest("the request has \(what): a request has one body, so keep one")
        }
        body = new
    }
}

/// The url args of a list, in order, as the pairs of a query.
struct QueryArgs: Sequence, IteratorProtocol {
    private let args: [APIArg]
    private var index = 0

    init(args: [APIArg]) { self.args = args }

    mutating func next() -> (name: String, value: String)? {
        while index < args.count {
            defer { index += 1 }
            if case .url(let name, let value) = args[index].kind { return (name, value) }
        }
        return nil
    }
}

extension MarkedSecrets {
    /// Marks what a secret arg hides.
    mutating func mark(_ kind: APIArg.Kind) {
        switch kind {
        case .url(let name, _): mark(name: name)
        case .baseURL(let url): mark(queryOf: url)
        case .path(_, let value): mark(pathValue: value)
        case .form(let name, _), .member(let name, _): markBody(name: name)
        case .multipart(let part): markBody(name: part.name)
        case .data, .json, .file, .stream: markBody()
        default: break
        }
    }
}
