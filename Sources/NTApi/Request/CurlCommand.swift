/// A request as a command line of curl, which sends what the request sends when it is pasted into a shell. Secrets are
/// redacted.
struct CurlCommand {
    private let http: HTTPRequest
    private let secrets: MarkedSecrets
    private var words = ["curl"]
    /// What curl reads from its standard input: bytes that no word can hold.
    private var input: [UInt8]?

    static func text(_ built: BuiltRequest) -> String {
        var command = CurlCommand(http: built.http, secrets: built.secrets)
        return command.write()
    }

    private init(http: HTTPRequest, secrets: MarkedSecrets) {
        self.http = http
        self.secrets = secrets
    }

    private mutating func write() -> String {
        let url = secrets.redact(url: http.url)
        // curl takes these for patterns of many URLs, and resolves dots by itself.
        if url.utf8.contains(where: { "[]{}".utf8.contains($0) }) { words.append("--globoff") }
        if url.containsSubstring("/.") { words.append("--path-as-is") }
        addMethod()
        addHeaders()
        addBody()
        addSettings()
        words.append(ShellWord.quote(url))
        let command = words.joined(separator: " ")
        return input.map { "printf \(ShellWord.format($0)) | \(command)" } ?? command
    }

    private mutating func addMethod() {
        let usual =
            switch http.body {
            case .none: http.announcesBody ? "POST" : "GET"
            // Uploaded, as curl sends nothing else without a length.
            case .stream(let stream) where stream.length == nil: "PUT"
            default: "POST"
            }
        if http.method == "HEAD", http.body.isNone {
            words.append("--head")
        } else if http.method != usual {
            words += ["-X", ShellWord.quote(http.method)]
        }
    }

    private mutating func addHeaders() {
        for field in http.headers {
            // The framing is the transport's.
            if ["content-length", "transfer-encoding"].contains(where: field.name.equalsIgnoringASCIICase) { continue }
            let value = field.isSecret ? Secrets.redacted : field.value
            let isBlank = value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
            add("-H", isBlank ? "\(field.name);" : "\(field.name): \(value)")
        }
        // What curl would add by itself, and we do not.
        if http.headers["User-Agent"] == nil { add("-H", "User-Agent:") }
        if http.settings.decompresses, http.headers["Accept-Encoding"] == nil, let encodings = HeaderLines.encodings {
            add("-H", "Accept-Encoding: \(encodings)")
        }
        if http.announcesBody {
            if http.headers["Content-Type"] == nil, !http.body.isMultipart { add("-H", "Content-Type:") }
            if http.headers["Expect"] == nil, http.body.mayBeLarge { add("-H", "Expect:") }
        }
        if http.digest != nil { words += ["--digest", "--user", ShellWord.quote(Secrets.redacted)] }
    }

    private mutating func addBody() {
        switch http.body {
        case .none: if http.announcesBody { add("--data-raw", "") }
        case .bytes(let bytes): addBytes(bytes)
        case .multipart(let parts): for part in parts { addPart(part) }
        case .file(let path, _): add("--data-binary", "@\(CurlForm.file(path))")
        case .stream(let stream):
            words += [stream.length == nil ? "-T" : "--data-binary", stream.length == nil ? "-" : "@-"]
        }
    }

    private mutating func addBytes(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        let redacted = secrets.redact(body: text)
        if redacted != text || ShellWord.canHold(bytes) {
            add("--data-raw", redacted)
        } else {
            add("--data-binary", pipe(bytes) ? "@-" : "<\(bytes.count) bytes>")
        }
    }

    private mutating func addPart(_ part: HTTPRequest.Part) {
        guard case .bytes(let bytes) = part.content else { return addForm(CurlForm(part, content: nil)) }
        if secrets.isSecret(part: part.name) {
            addForm(CurlForm(part, content: .text(Secrets.redacted)))
        } else if ShellWord.canHold(bytes) {
            addForm(CurlForm(part, content: .text(String(decoding: bytes, as: UTF8.self))))
        } else {
            addForm(CurlForm(part, content: pipe(bytes) ? .input : .text("<\(bytes.count) bytes>")))
        }
    }

    private mutating func addForm(_ form: CurlForm) { add(form.option, form.text) }

    private mutating func addSettings() {
        let settings = http.settings
        if settings.allowsInvalidCertificate { words.append("--insecure") }
        if settings.decompresses { words.append("--compressed") }
        if let file = settings.caFile { add("--cacert", file) }
        switch settings.httpVersion {
        case .negotiated: break
        case .http10: words.append("--http1.0")
        case .http11: words.append("--http1.1")
        case .http2: words.append(http.url.hasASCIIPrefix("https") ? "--http2" : "--http2-prior-knowledge")
        }
    }

    private mutating func add(_ option: String, _ value: String) { words += [option, ShellWord.quote(value)] }

    /// - Returns: false where something else is read from there, or it would be too much to look at.
    private mutating func pipe(_ bytes: [UInt8]) -> Bool {
        guard input == nil, bytes.count <= ShellWord.longest else { return false }
        input = bytes
        return true
    }
}

extension HTTPRequest.Body {
    var isNone: Bool {
        if case .none = self { true } else { false }
    }

    var isMultipart: Bool {
        if case .multipart = self { true } else { false }
    }

    /// Whether curl might wait for a "100 Continue" before it sends this.
    fileprivate var mayBeLarge: Bool {
        switch self {
        case .none: false
        case .bytes(let bytes): bytes.count > 1000
        case .multipart, .file, .stream: true
        }
    }
}
