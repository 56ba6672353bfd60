/// Reads a recording or a HAR. Its errors name the position of the mistake.
struct RecordingReader {
    private let path: String
    private var place = ""

    static func read(_ path: String) throws(APIError) -> Recording {
        guard let bytes = try bytes(of: path) else { throw RecordingReader(path: path).bad("there is no such file") }
        return try read(bytes, of: path)
    }

    /// - Returns: nil when there is no such file.
    static func bytes(of path: String) throws(APIError) -> [UInt8]? {
        do {
            return try SystemFile.read(path)
        } catch {
            throw .invalidRequest("the recording \(quoted(path)): \(error)")
        }
    }

    /// - Parameter path: the path for messages.
    static func read(_ bytes: [UInt8], of path: String) throws(APIError) -> Recording {
        var reader = RecordingReader(path: path)
        let json: JSON
        do { json = try JSON(parsing: bytes) } catch { throw reader.bad("it is not JSON: \(error)") }
        return try reader.recording(json)
    }

    private init(path: String) { self.path = path }

    private mutating func recording(_ json: JSON) throws(APIError) -> Recording {
        if let log = json["log"] { return try HARReader.read(log, of: path) }
        guard json["format"]?.string == Recording.format else {
            throw bad("it is neither a recording (its \"format\" is not \(quoted(Recording.format))) nor a HAR")
        }
        guard let version = json["version"]?.int, version >= 1 else {
            throw bad("\"version\" is missing or not a number")
        }
        guard version <= Recording.version else {
            throw bad("its version is \(version), and this library reads up to \(Recording.version)")
        }
        guard let exchanges = json["exchanges"]?.array else { throw bad("\"exchanges\" is missing or not an array") }
        var recording = Recording()
        for (index, exchange) in exchanges.enumerated() {
            place = "exchange \(index + 1), "
            recording.exchanges.append(try self.exchange(exchange))
        }
        return recording
    }

    private func exchange(_ json: JSON) throws(APIError) -> Recording.Exchange {
        guard let request = json["request"], request.kind == .object else {
            throw bad("\"request\" is missing or not an object")
        }
        guard let method = request["method"]?.string, !method.isEmpty else { throw bad("request.method is missing") }
        guard let url = request["url"]?.string, url.containsSubstring("://") else {
            throw bad("request.url is missing or not a URL")
        }
        var exchange = Recording.Exchange(method: method, url: url)
        exchange.requestHeaders = try headers(request["headers"], "request.headers")
        exchange.requestBody = try body(request["body"], "request.body")
        if let fault = json["fault"] {
            guard let name = fault.string, StubFault(recorded: name) != nil else {
                throw bad("fault is not one of \(StubFault.recordedNames.joined(separator: ", "))")
            }
            exchange.fault = name
        }
        guard let response = json["response"] else {
            guard exchange.fault != nil else { throw bad("there is neither a response nor a fault") }
            return exchange
        }
        guard let status = response["status"]?.int, (200..<1000).contains(status) else {
            throw bad("response.status is missing or not a status from 200 to 999")
        }
        exchange.status = status
        if let version = response["httpVersion"] {
            guard let number = version.double, (1...3).contains(number) else {
                throw bad("response.httpVersion is not 1.0, 1.1, 2 or 3")
            }
            exchange.httpVersion = number
        }
        exchange.headers = try headers(response["headers"], "response.headers")
        exchange.body = try body(response["body"], "response.body")
        exchange.trailers = try headers(response["trailers"], "response.trailers")
        return exchange
    }

    private func headers(_ json: JSON?, _ name: String) throws(APIError) -> HTTPHeaders {
        var headers = HTTPHeaders()
        guard let json else { return headers }
        guard let lines = json.array else { throw bad("\(name) is not an array") }
        for line in lines {
            guard let field = HTTPHeaders.Field(line) else {
                throw bad("\(name) is not an array of pairs of strings")
            }
            guard HeaderSyntax.allowsReceived(name: field.name, value: field.value) else {
                throw bad("\(name): \(quoted(field.name)) cannot be a header")
            }
            headers.add(field)
        }
        return headers
    }

    private func pairs(_ json: JSON, _ name: String) throws(APIError) -> [(String, String)] {
        guard let pairs = json.array else { throw bad("\(name) is not an array") }
        var all: [(String, String)] = []
        for pair in pairs {
            guard pair.count == 2, let first = pair[0]?.string, let second = pair[1]?.string else {
                throw bad("\(name) is not an array of pairs of strings")
            }
            all.append((first, second))
        }
        return all
    }

    private func body(_ json: JSON?, _ name: String) throws(APIError) -> RecordedBody {
        guard let json else { return .none }
        guard let (kind, value) = json.object?.first, json.count == 1 else {
            throw bad("\(name) is not an object with one member: json, form, parts, text, base64 or redacted")
        }
        switch kind {
        case "json": return .json(value)
        case "form": return .form(try pairs(value, "\(name).form"))
        case "redacted": return .redacted
        case "parts":
            guard let parts = value.array else { throw bad("\(name).parts is not an array") }
            var all: [RecordedBody.Part] = []
            for part in parts { all.append(try self.part(part, "\(name).parts")) }
            return .parts(all)
        case "text", "base64":
            switch try content(json, name) {
            case .text(let text): return .text(text)
            case .bytes(let bytes): return .bytes(bytes)
            }
        default: throw bad("\(name).\(kind) is not one of json, form, parts, text, base64 or redacted")
        }
    }

    private func part(_ json: JSON, _ name: String) throws(APIError) -> RecordedBody.Part {
        guard let partName = json["name"]?.string else { throw bad("\(name): a part has no name") }
        return RecordedBody.Part(
            name: partName, filename: json["filename"]?.string, contentType: json["contentType"]?.string,
            content: try content(json, name))
    }

    private func content(_ json: JSON, _ name: String) throws(APIError) -> RecordedBody.Content {
        if let text = json["text"]?.string { return .text(text) }
        guard let text = json["base64"]?.string else { throw bad("\(name) has neither text nor base64") }
        guard let bytes = Base64.decode(text) else { throw bad("\(name).base64 is not base64") }
        return .bytes(bytes)
    }

    private func bad(_ reason: String) -> APIError {
        .invalidRequest("the recording \(quoted(path)): \(place)\(reason)")
    }
}

extension Stub {
    /// Replays what a ``Recorder`` has recorded, in any language, or a HAR, also one of a browser.
    ///
    /// A request must have the same method, URL and body. Redacted parts match anything, and headers are not compared.
    /// Equal requests get their answers in the order of the recording.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - anyOrigin: whether to ignore scheme, host and port of the URLs.
    ///   - repeatsLast: whether the last answer to a request is repeated. Otherwise an additional request is an error.
    /// - Throws: an error that says which exchange of the file is wrong, and why.
    public convenience init(
        recording path: String, anyOrigin: Bool = false, repeatsLast: Bool = false
    ) throws(APIError) {
        self.init(try RecordingReader.read(path), anyOrigin: anyOrigin, repeatsLast: repeatsLast)
    }

    /// - Parameter advice: what to do about a request that is not in the recording.
    convenience init(
        _ recording: Recording, anyOrigin: Bool = false, repeatsLast: Bool = false, advice: String? = nil
    ) {
        self.init(advice: advice)
        let exchanges = recording.exchanges.map { (exchange: $0, key: $0.key, looseness: $0.looseness) }
        var rules: [String: StubRule] = [:]
        // The rule that was added last is tried first. So a redacted request leaves the answers of exact ones to these.
        for (exchange, key, _) in exchanges.sorted(by: { $0.looseness > $1.looseness }) {
            let rule = rules[key] ?? add(exchange.rule(anyOrigin: anyOrigin, repeatsLast: repeatsLast))
            rules[key] = rule
            rule.answer(exchange.answer)
        }
    }
}

extension Recording.Exchange {
    /// Equal for exchanges with the same expectation.
    fileprivate var key: String {
        var bare = Recording()
        bare.exchanges = [Recording.Exchange(method: method, url: url, requestBody: requestBody)]
        return String(decoding: bare.json.utf8(), as: UTF8.self)
    }

    /// How much of the request may be anything: the whole body first, then each part of the URL and the body.
    fileprivate var looseness: (body: Int, parts: Int) {
        switch requestBody {
        case .redacted, .omitted: (1, url.components(between: Secrets.redacted).count)
        default: (0, key.components(between: Secrets.redacted).count)
        }
    }

    fileprivate func rule(anyOrigin: Bool, repeatsLast: Bool) -> StubRule {
        let url = StubURL(recorded: url, anyOrigin: anyOrigin)
        let rule = StubRule(method, url, StubBody(kind: .recorded(requestBody)), nil)
        return repeatsLast ? rule : rule.usedUp()
    }

    fileprivate var answer: StubAnswer {
        let fault = fault.flatMap { StubFault(recorded: $0) }
        guard let status else { return .fault(fault ?? .connectionLost) }
        var answer = StubAnswer(status: status, headers: headers, body: body.bytes)
        answer.trailers = trailers
        answer.httpVersion = httpVersion
        // The head has arrived, so the failure came after it.
        if fault != nil { answer.fault = .connectionLost(after: answer.body.count) }
        return answer
    }
}

extension StubFault {
    private static let recorded: [(name: String, fault: StubFault)] = [
        ("connection_lost", .connectionLost), ("no_connection", .noConnection), ("no_internet", .noInternet),
        ("timeout", .timeout), ("unknown_host", .unknownHost), ("untrusted_certificate", .untrustedCertificate),
    ]

    static var recordedNames: [String] { recorded.map(\.name) }

    /// The fault by its name in a recording.
    init?(recorded name: String) {
        guard let known = Self.recorded.first(where: { $0.name == name }) else { return nil }
        self = known.fault
    }

    /// The name of an error in a recording.
    static func recordedName(of error: APIError) -> String {
        switch (error.code, error.transportCode) {
        case (.noInternet, _): "no_internet"
        case (.timeout, _): "timeout"
        case (.tls, _): "untrusted_certificate"
        case (.network, 6): "unknown_host"
        case (.network, 7): "no_connection"
        default: "connection_lost"
        }
    }
}
