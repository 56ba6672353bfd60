/// A request as a command line of curl that sends the same when it is pasted into a shell, and treats redirects and
/// statuses alike. Secrets are redacted.
struct CurlCommand {
    private let http: HTTPRequest
    private let secrets: MarkedSecrets
    private var words = ["curl"]
    /// The bytes for curl's standard input, which no shell word can hold.
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
        // curl treats these as patterns for many URLs, and resolves dots itself.
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
            // As an upload: curl sends nothing else without a length.
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
            // The transport sets the framing.
            if ["content-length", "transfer-encoding"].contains(where: field.name.equalsIgnoringASCIICase) { continue }
            var value = field.isSecret ? Secrets.redacted : field.value
            // curl adds its own boundary.
            if http.body.isMultipart, field.isNamed("content-type") { value = HeaderSyntax.withoutBoundary(value) }
            let isBlank = value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
            add("-H", isBlank ? "\(field.name);" : "\(field.name): \(value)")
        }
        // Remove a header that only curl would add.
        if http.headers["User-Agent"] == nil { add("-H", "User-Agent:") }
        if http.settings.isPlain, http.headers["Accept"] == nil { add("-H", "Accept:") }
        if http.settings.decompresses, http.headers["Accept-Encoding"] == nil, let names = AcceptedEncodings.curl.names
        {
            add("-H", "Accept-Encoding: \(names)")
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
        if settings.maximumRedirects > 0 { words.append("--location") }
        if settings.maximumRedirects > 0, settings.maximumRedirects != TransferSettings.Values().maximumRedirects {
            words += ["--max-redirs", "\(settings.maximumRedirects)"]
        }
        if !http.options.allowAnyStatus { words.append("--fail-with-body") }
        if let file = settings.caFile { add("--cacert", file) }
        switch settings.httpVersion {
        case .negotiated: break
        case .http10: words.append("--http1.0")
        case .http11: words.append("--http1.1")
        case .http2: words.append(http.url.hasASCIIPrefix("https") ? "--http2" : "--http2-prior-knowledge")
        }
    }

    private mutating func add(_ option: String, _ value: String) { words += [option, ShellWord.quote(value)] }

    /// - Returns: false when standard input is already used, or the bytes are too many to print.
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

/// A part of a multipart body, as an option `-F` or `--form-string` of curl.
struct CurlForm {
    enum Content {
        case text(String)
        /// What curl reads from its standard input.
        case input
    }

    private(set) var option = "-F"
    private(set) var text: String

    /// - Parameter content: nil is the part's file.
    init(_ part: HTTPRequest.Part, content: Content?) {
        let type = part.contentType ?? EasyOptions.fallbackType(part)
        let isPlainName = !part.name.isEmpty && !part.name.utf8.contains(UInt8(ascii: "="))
        if case .text(let content) = content, isPlainName, part.filename == nil, type == nil {
            // Not -F: it treats a value that begins with @ as the name of a file.
            option = "--form-string"
            text = "\(part.name)=\(content)"
            return
        }
        text = (isPlainName ? part.name : "") + "="
        // @ sends the content as a file, < as text.
        let mark = part.filename == nil ? "<" : "@"
        switch (content, part.content) {
        case (.text(let content)?, _): text += Self.quoted(content)
        case (nil, .file(let path, _)): text += mark + Self.quoted(Self.file(path))
        case (.input?, _), (nil, .bytes): text += "\(mark)-"
        }
        if let filename = part.filename { text += ";filename=\(Self.quoted(filename))" }
        if let type { text += Self.isPlain(type: type) ? ";type=\(type)" : Self.header("Content-Type: \(type)") }
        if !isPlainName { text += Self.header(Self.disposition(part)) }
    }

    /// A path that curl does not treat as its standard input.
    static func file(_ path: String) -> String { path == "-" ? "./-" : path }

    /// curl ends a name at the first equals sign, so a name that has one is written as a header.
    private static func disposition(_ part: HTTPRequest.Part) -> String {
        let filename = part.filename.map { "; filename=\"\(escaped($0))\"" } ?? ""
        return "Content-Disposition: form-data; name=\"\(escaped(part.name))\"\(filename)"
    }

    private static func header(_ line: String) -> String { ";headers=\(quoted(line))" }

    /// Escapes a name like libcurl (WHATWG HTML, 4.10.21.8).
    private static func escaped(_ text: String) -> String {
        String(
            decoding: text.utf8.flatMap { byte -> [UInt8] in
                switch byte {
                case UInt8(ascii: "\""): Array("%22".utf8)
                case 0x0D: Array("%0D".utf8)
                case 0x0A: Array("%0A".utf8)
                default: [byte]
                }
            }, as: UTF8.self)
    }

    /// In double quotes, where semicolons and commas are not special to curl.
    private static func quoted(_ text: String) -> String {
        let special = Array("\"\\".utf8)
        return String(
            decoding: Array("\"".utf8) + text.utf8.flatMap { special.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
                + Array("\"".utf8), as: UTF8.self)
    }

    /// Whether curl accepts it unchanged as `;type=`.
    private static func isPlain(type: String) -> Bool {
        let pieces = type.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return pieces.count == 2 && type.utf8.count < 100
            && pieces.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isTokenCharacter) }
    }
}
