/// Reads a HAR as a recording, also one of a browser, which has members of its own and leaves out others.
///
/// The secrets in requests are redacted, so that a replay matches anything there. Answers are not changed.
struct HARReader {
    private let path: String
    private var place = ""

    /// - Parameters:
    ///   - log: the member "log" of the HAR.
    ///   - path: the path for messages.
    static func read(_ log: JSON, of path: String) throws(APIError) -> Recording {
        var reader = HARReader(path: path)
        guard let entries = log["entries"]?.array else { throw reader.bad("log.entries is missing or not an array") }
        var recording = Recording()
        for (index, entry) in entries.enumerated() {
            reader.place = "entry \(index + 1), "
            if let exchange = try reader.exchange(entry) { recording.exchanges.append(exchange) }
        }
        return recording
    }

    private init(path: String) { self.path = path }

    /// - Returns: nil for what is no exchange over HTTP, such as a WebSocket or an extension's file.
    private func exchange(_ entry: JSON) throws(APIError) -> Recording.Exchange? {
        guard let request = entry["request"], request.kind == .object else {
            throw bad("\"request\" is missing or not an object")
        }
        guard let response = entry["response"], response.kind == .object else {
            throw bad("\"response\" is missing or not an object")
        }
        guard let method = request["method"]?.string, !method.isEmpty else { throw bad("request.method is missing") }
        guard let url = request["url"]?.string else { throw bad("request.url is missing") }
        guard url.hasASCIIPrefix("http://") || url.hasASCIIPrefix("https://") else { return nil }
        guard let status = response["status"]?.int, status == 0 || (100..<1000).contains(status) else {
            throw bad("response.status is missing or not a status")
        }
        guard status == 0 || status >= 200 else { return nil }
        let bare = String(url.prefix { $0 != "#" })
        var exchange = Recording.Exchange(method: method, url: Secrets.redactURL(bare))
        for field in try headers(request["headers"], "request.headers").ofMessage() {
            exchange.requestHeaders.add(field.name, field.value)
        }
        if let data = request["postData"], data.kind == .object { exchange.requestBody = try body(data) }
        if let error = Self.text(response["_error"]) { exchange.fault = Self.fault(error) }
        guard status > 0 else {
            exchange.fault = exchange.fault ?? Self.fault("")
            return exchange
        }
        exchange.status = status
        exchange.httpVersion = Self.version(response["httpVersion"]?.string ?? "")
        let isDecompressed = response["content"]?["_compressed"] == nil
        let received = try headers(response["headers"], "response.headers")
        for field in received.ofAnswer(status, to: method, isDecompressed: isDecompressed) {
            exchange.headers.add(field.name, field.value)
        }
        if let target = Self.text(response["redirectURL"]), (300..<400).contains(status) {
            exchange.headers.setIfAbsent("Location", target)
        }
        if let content = response["content"] { try read(content, into: &exchange) }
        exchange.trailers = try headers(response["_trailers"], "response._trailers")
        return exchange
    }

    /// The version of "HTTP/1.1", or of "h2" as browsers write it.
    private static func version(_ text: String) -> Double {
        let number = text.lowercasedASCII().drop { "htp/".contains($0) }
        return Double(String(number)).flatMap { [1, 1.1, 2, 3].contains($0) ? $0 : nil } ?? 1.1
    }

    /// Browsers write "" for a missing text.
    private static func text(_ json: JSON?) -> String? { json?.string.flatMap { $0.isEmpty ? nil : $0 } }

    private func headers(_ json: JSON?, _ name: String) throws(APIError) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for field in json?.array ?? [] {
            guard let fieldName = field["name"]?.string, let value = field["value"]?.string else {
                throw bad("\(name): a header has no name or no value")
            }
            // A pseudo-header of HTTP/2 is no header.
            guard !fieldName.hasPrefix(":") else { continue }
            // Browsers join the lines of a repeated header.
            for line in value.split(separator: "\n", omittingEmptySubsequences: false) {
                guard HeaderSyntax.allowsReceived(name: fieldName, value: String(line)) else {
                    throw bad("\(name): \(quoted(fieldName)) cannot be a header")
                }
                headers.add(fieldName, String(line))
            }
        }
        return headers
    }

    /// The kind of failure, from our own name or from Chromium's.
    private static func fault(_ error: String) -> String {
        if StubFault(recorded: error) != nil { return error }
        let known = [
            ("NAME_NOT_RESOLVED", "unknown_host"), ("CONNECTION_REFUSED", "no_connection"),
            ("ADDRESS_UNREACHABLE", "no_connection"), ("INTERNET_DISCONNECTED", "no_internet"),
            ("ERR_CERT_", "untrusted_certificate"), ("TIMED_OUT", "timeout"),
        ]
        return known.first { error.containsSubstring($0.0) }?.1 ?? "connection_lost"
    }

    // MARK: Bodies

    private func read(_ content: JSON, into exchange: inout Recording.Exchange) throws(APIError) {
        guard let bytes = try bytes(of: content, "response.content") else { return }
        if let text = content["text"]?.string, content["encoding"] == nil {
            exchange.body = .text(text)
        } else {
            exchange.body = .bytes(bytes)
        }
        if let type = Self.text(content["mimeType"]), type != "x-unknown" {
            exchange.headers.setIfAbsent("Content-Type", type)
        }
    }

    /// - Returns: nil when there is no text.
    private func bytes(of json: JSON, _ name: String) throws(APIError) -> [UInt8]? {
        guard let text = json["text"]?.string else { return nil }
        switch (json["encoding"] ?? json["_encoding"])?.string {
        case nil, "": return Array(text.utf8)
        case "base64":
            guard let bytes = Base64.decode(text) else { throw bad("\(name).text is not base64") }
            return bytes
        case let encoding?: throw bad("\(name): the encoding \(quoted(encoding)) is not known")
        }
    }

    private func body(_ data: JSON) throws(APIError) -> RecordedBody {
        let type = Self.text(data["mimeType"])
        let params = data["params"]?.array ?? []
        let bytes = try bytes(of: data, "request.postData")
        if let type, HeaderSyntax.isMediaType(type, "multipart/form-data") {
            if let bytes, let parts = MultipartText.parts(bytes, type: type) {
                return .parts(parts.compactMap { try? RecordedBody.Part($0).withoutSecrets })
            }
            var parts: [RecordedBody.Part] = []
            for param in params { parts.append(try part(param)) }
            return .parts(parts)
        }
        if let bytes, !bytes.isEmpty || params.isEmpty {
            if bytes == Array(Secrets.redacted.utf8) { return .redacted }
            return RecordedBody(bytes, type: type, secretsNamed: [])
        }
        guard !params.isEmpty else { return .omitted }
        // Their text is the same as that of a form.
        let pairs = params.map { (name: $0["name"]?.string ?? "", value: $0["value"]?.string ?? "") }
        return RecordedBody(RecordedBody.form(pairs).bytes, type: type, secretsNamed: [])
    }

    private func part(_ param: JSON) throws(APIError) -> RecordedBody.Part {
        guard let name = param["name"]?.string else { throw bad("request.postData.params: one has no name") }
        let value = param["value"]?.string ?? ""
        var content = RecordedBody.Content.text(value)
        if param["_encoding"]?.string == "base64" {
            guard let bytes = Base64.decode(value) else { throw bad("request.postData.params: a value is not base64") }
            content = .bytes(bytes)
        }
        return RecordedBody.Part(
            name: name, filename: Self.text(param["fileName"]), contentType: Self.text(param["contentType"]),
            content: content
        ).withoutSecrets
    }

    private func bad(_ reason: String) -> APIError { .invalidRequest("the HAR \(quoted(path)): \(place)\(reason)") }
}

extension RecordedBody.Part {
    /// What a recorder would write. Browsers leave out the content of files, so that it may be anything.
    fileprivate var withoutSecrets: RecordedBody.Part {
        var part = self
        let isEmpty = content.bytes.isEmpty
        let isSecret = filename == nil ? Secrets.isSecretName(name) : isEmpty
        part.content = isSecret ? .text(Secrets.redacted) : content.redacted([])
        return part
    }
}
