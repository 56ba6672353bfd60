/// A server may quote the secrets of a request in what it says about an error.
extension MarkedSecrets {
    /// Hides the secrets of a request, by their names and by their values.
    ///
    /// - Parameter http: the request as it was sent.
    func redact(echo text: String, of http: HTTPRequest?) -> String {
        var values = pathValues.union(pathValues.map { PercentEncoding.decode($0) })
        if let http { collect(http, &values) }
        // A value of one or two characters is found in most texts, and is no secret. The longest first, because one may be
        // a part of another.
        let known = values.filter { $0.utf8.count > 2 }.sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
        let pieces = known.reduce([text]) { pieces, value in pieces.flatMap { $0.components(between: value) } }
        return Secrets.redact(pieces.joined(separator: Secrets.redacted), alsoNamed: names)
    }

    private func collect(_ http: HTTPRequest, _ values: inout Set<String>) {
        for field in http.headers where field.isSecret || Secrets.isSecretHeader(field.name) {
            values.insert(field.value)
            collect(credentials: field.value, &values)
        }
        if let mark = http.url.firstIndex(of: "?") {
            collect(pairs: http.url[http.url.index(after: mark)...].prefix { $0 != "#" }, &values)
        }
        switch http.body {
        case .bytes(let bytes):
            let text = String(decoding: bytes, as: UTF8.self)
            if isWholeBody { values.insert(text) }
            if let json = try? JSON(parsing: bytes) {
                collect(json, isSecret: isWholeBody, &values)
            } else {
                collect(pairs: text, &values)
            }
        case .multipart(let parts):
            for part in parts where isSecret(part: part.name) {
                if case .bytes(let bytes) = part.content { values.insert(String(decoding: bytes, as: UTF8.self)) }
            }
        case .none, .file, .stream: break
        }
    }

    /// Credentials behind the name of their scheme; the password of Basic; the values of cookies.
    private func collect(credentials line: String, _ values: inout Set<String>) {
        if let space = line.firstIndex(of: " ") {
            let rest = String(line[line.index(after: space)...])
            values.insert(rest)
            if let decoded = Base64.decode(rest), let colon = decoded.firstIndex(of: UInt8(ascii: ":")) {
                values.insert(String(decoding: decoded[(colon + 1)...], as: UTF8.self))
            }
        }
        for pair in line.split(separator: ";") {
            if let equals = pair.firstIndex(of: "=") { values.insert(String(pair[pair.index(after: equals)...])) }
        }
    }

    private func collect(pairs: some StringProtocol, _ values: inout Set<String>) {
        for pair in pairs.split(separator: "&") {
            guard let equals = pair.firstIndex(of: "=") else { continue }
            let name = PercentEncoding.decode(pair[..<equals], plusIsSpace: true)
            guard isWholeBody || isSecret(part: name) else { continue }
            let value = pair[pair.index(after: equals)...]
            values.formUnion([String(value), PercentEncoding.decode(value, plusIsSpace: true)])
        }
    }

    private func collect(_ json: JSON, isSecret: Bool, _ values: inout Set<String>) {
        switch json.kind {
        case .string, .int, .double: if isSecret { values.insert(json.string ?? json.text) }
        case .array: for element in json.array ?? [] { collect(element, isSecret: isSecret, &values) }
        case .object:
            for (name, value) in json.object ?? [] {
                collect(value, isSecret: isSecret || self.isSecret(part: name), &values)
            }
        case .null, .bool: break
        }
    }
}
