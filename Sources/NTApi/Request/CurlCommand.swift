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
        if http.digest != nil { words += ["--digest", "--user", word(Secrets.redacted)] }
        words += body(http, built.secrets)
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
        words.append(word(built.secrets.redact(url: http.url)))
        return words.joined(separator: " ")
    }

    private static func body(_ http: HTTPRequest, _ secrets: MarkedSecrets) -> [String] {
        switch http.body {
        case .none: []
        case .bytes(let bytes):
            if bytes.contains(0) || String(validating: bytes, as: UTF8.self) == nil {
                ["--data-binary", word("<\(bytes.count) bytes>")]
            } else {
                ["--data-raw", word(secrets.redact(body: String(decoding: bytes, as: UTF8.self)))]
            }
        case .multipart(let parts): parts.flatMap { part($0, secrets) }
        case .file(let path, _): ["--data-binary", word("@\(path)")]
        case .stream: ["--data-binary", "@-"]
        }
    }

    private static func part(_ part: HTTPRequest.Part, _ secrets: MarkedSecrets) -> [String] {
        let type = part.contentType.map { ";type=\($0)" } ?? ""
        let filename = part.filename.map { ";filename=\(quoted($0))" } ?? ""
        switch part.content {
        case .file(let path): return ["-F", word("\(part.name)=@\(path)\(filename)\(type)")]
        case .bytes where part.filename != nil: return ["-F", word("\(part.name)=@-\(filename)\(type)")]
        // --form-string cannot say a content type.
        case .bytes where part.contentType != nil: return ["-F", word("\(part.name)=<-\(type)")]
        case .bytes(let bytes):
            let text = secrets.isSecret(part: part.name) ? Secrets.redacted : String(decoding: bytes, as: UTF8.self)
            // Not -F, which takes a value that begins with @ for the name of a file.
            return ["--form-string", word("\(part.name)=\(text)")]
        }
    }

    /// A word for a POSIX shell: in single quotes, within which nothing has a meaning.
    private static func word(_ text: String) -> String {
        let plain = Array("-_./:=,@%+".utf8)
        let isPlain = text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || plain.contains($0) }
        if isPlain, !text.isEmpty { return text }
        let pieces = text.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + pieces.joined(separator: #"'\''"#) + "'"
    }
}

extension HTTPRequest.Body {
    var isNone: Bool {
        if case .none = self { true } else { false }
    }
}
