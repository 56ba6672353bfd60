/// A request as a command line of curl, to be pasted into a shell. Secrets are redacted.
enum CurlCommand {
    static func text(_ built: BuiltRequest) -> String {
        let http = built.http
        var words = ["curl"]
        if http.method == "HEAD" {
            words.append("--head")
        } else if http.method != (http.body.isNone ? "GET" : "POST") {
            words += ["-X", word(http.method)]
        }
        for field in http.headers {
            let value = field.isSecret ? Secrets.redacted : field.value
            words += ["-H", word(value.isEmpty ? "\(field.name);" : "\(field.name): \(value)")]
        }
        words += body(http, built.secretNames)
        let settings = http.settings
        if settings.allowsInvalidCertificate { words.append("--insecure") }
        if settings.decompresses { words.append("--compressed") }
        if let file = settings.caFile { words += ["--cacert", word(file)] }
        switch settings.httpVersion {
        case .negotiated: break
        case .http10: words.append("--http1.0")
        case .http11: words.append("--http1.1")
        case .http2: words.append("--http2")
        }
        words.append(word(Secrets.redactURL(http.url, alsoNamed: built.secretNames)))
        return words.joined(separator: " ")
    }

    private static func body(_ http: HTTPRequest, _ secretNames: Set<String>) -> [String] {
        switch http.body {
        case .none: []
        case .bytes(let bytes):
            if bytes.contains(0) || String(validating: bytes, as: UTF8.self) == nil {
                ["--data-binary", word("<\(bytes.count) bytes>")]
            } else {
                ["--data-raw", word(redacted(String(decoding: bytes, as: UTF8.self), http.headers, secretNames))]
            }
        case .multipart(let parts): parts.flatMap { ["-F", word(part($0))] }
        case .file(let path, _): ["--data-binary", word("@\(path)")]
        case .stream: ["--data-binary", "@-"]
        }
    }

    private static func redacted(_ text: String, _ headers: HTTPHeaders, _ secretNames: Set<String>) -> String {
        headers["Content-Type"] == "application/x-www-form-urlencoded"
            ? Secrets.redactPairs(text, alsoNamed: secretNames) : Secrets.redactJSON(text)
    }

    private static func part(_ part: HTTPRequest.Part) -> String {
        let type = part.contentType.map { ";type=\($0)" } ?? ""
        let filename = part.filename.map { ";filename=\(quoted($0))" } ?? ""
        switch part.content {
        case .file(let path): return "\(part.name)=@\(path)\(filename)\(type)"
        case .bytes(let bytes):
            let isShown = part.filename == nil && !Secrets.isSecretName(part.name)
            let value = isShown ? String(decoding: bytes, as: UTF8.self) : Secrets.redacted
            return part.filename == nil ? "\(part.name)=\(value)\(type)" : "\(part.name)=@-\(filename)\(type)"
        }
    }

    /// A word for a POSIX shell: in single quotes, within which nothing has a meaning.
    private static func word(_ text: String) -> String {
        let plain = Array("-_./:=,@%+".utf8)
        if !text.isEmpty, text.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || plain.contains($0) }) {
            return text
        }
        let pieces = text.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + pieces.joined(separator: #"'\''"#) + "'"
    }
}

extension HTTPRequest.Body {
    var isNone: Bool {
        if case .none = self { true } else { false }
    }
}
