/// Exchanges that were recorded: what a file of them says.
struct Recording: Sendable {
    struct Exchange: Sendable {
        var method: String
        var url: String
        /// For people: they are not compared.
        var requestHeaders = HTTPHeaders()
        var requestBody = RecordedBody.none
        /// Nil when there was no answer.
        var status: Int?
        var headers = HTTPHeaders()
        var body = RecordedBody.none
        /// What went wrong: in the place of an answer, or after its body.
        var fault: String?
    }

    static let format = "ntapi-recording"
    /// Of the format: a file with a greater one is not read.
    static let version = 1

    var exchanges: [Exchange] = []

    // MARK: Writing

    var json: JSON {
        [
            "format": JSON(Self.format), "version": JSON(Self.version),
            "exchanges": JSON(exchanges.map(Self.json(of:))),
        ]
    }

    private static func json(of exchange: Exchange) -> JSON {
        var request: [(String, JSON)] = [("method", JSON(exchange.method)), ("url", JSON(exchange.url))]
        add("headers", json(of: exchange.requestHeaders), to: &request)
        add("body", json(of: exchange.requestBody), to: &request)
        var members = [("request", JSON(request))]
        if let status = exchange.status {
            var response = [("status", JSON(status))]
            add("headers", json(of: exchange.headers), to: &response)
            add("body", json(of: exchange.body), to: &response)
            members.append(("response", JSON(response)))
        }
        if let fault = exchange.fault { members.append(("fault", JSON(fault))) }
        return JSON(members)
    }

    private static func add(_ name: String, _ json: JSON?, to members: inout [(String, JSON)]) {
        if let json { members.append((name, json)) }
    }

    private static func json(of headers: HTTPHeaders) -> JSON? {
        headers.isEmpty ? nil : JSON(headers.map { [JSON($0.name), JSON($0.value)] })
    }

    private static func json(of body: RecordedBody) -> JSON? {
        switch body {
        case .none: nil
        case .json(let json): ["json": json]
        case .form(let pairs): ["form": JSON(pairs.map { [JSON($0.name), JSON($0.value)] })]
        case .parts(let parts): ["parts": JSON(parts.map(json(of:)))]
        case .text(let text): ["text": JSON(text)]
        case .bytes(let bytes): ["base64": JSON(Base64.encode(bytes))]
        case .redacted: ["redacted": true]
        }
    }

    private static func json(of part: RecordedBody.Part) -> JSON {
        var members = [("name", JSON(part.name))]
        if let filename = part.filename { members.append(("filename", JSON(filename))) }
        if let type = part.contentType { members.append(("contentType", JSON(type))) }
        switch part.content {
        case .text(let text): members.append(("text", JSON(text)))
        case .bytes(let bytes): members.append(("base64", JSON(Base64.encode(bytes))))
        }
        return JSON(members)
    }
}
