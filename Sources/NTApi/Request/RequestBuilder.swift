#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A request that is ready to be sent, and what was said about it beside the message.
struct BuiltRequest: Sendable {
    var http: HTTPRequest
    var options: APIOptions
    var secrets: MarkedSecrets
}

/// Turns a command and args into a request. Runs on the thread that begins the request; mistakes are errors, never traps.
struct RequestBuilder {
    let settings: ResolvedSettings

    func build(_ command: String, _ applied: AppliedArgs) throws(APIError) -> BuiltRequest {
        if let problem = settings.problem { throw problem }
        let url = try URLBuilder.url(
            base: settings.baseURL, replacement: applied.baseURL, command: command, path: applied.path,
            query: applied.query)
        var http = HTTPRequest(method: applied.method ?? (applied.body == nil ? "GET" : "POST"), url: url)
        http.headers = applied.headers
        http.settings = try transferSettings(applied)
        let wantsJSON = try !applied.options.isOn(.rawData)
        try setBody(of: &http, applied.body)
        http.headers.addMissing(from: wantsJSON ? settings.headersForJSON : settings.headers)
        var secrets = applied.secrets
        if case .form = applied.body { secrets.isForm = true }
        if http.headers["Content-Type"]?.lowercasedASCII().hasASCIIPrefix("application/x-www-form-urlencoded") == true {
            secrets.isForm = true
        }
        http.hasSecretBody = secrets.isInBody
        return BuiltRequest(http: http, options: applied.options, secrets: secrets)
    }

    private func transferSettings(_ applied: AppliedArgs) throws(APIError) -> TransferSettings {
        let options = applied.options
        if applied.timeouts.isEmpty, options.isEmpty, applied.cachePolicy == .protocol { return settings.transfer }
        var transfer = settings.transfer.values
        for (clock, seconds) in applied.timeouts { transfer.timeouts[clock] = seconds.isFinite ? seconds : nil }
        transfer.cachePolicy = applied.cachePolicy
        transfer.allowsInvalidCertificate = try options.isOn(.allowInvalidCertificate)
        if let size = try options.number(.maximumResponseSize) { transfer.maximumResponseSize = size }
        if let count = try options.number(.maximumRedirects) { transfer.maximumRedirects = Int(clamping: count) }
        if let version = options[.httpVersion] { transfer.httpVersion = try ResolvedSettings.httpVersion(version) }
        _ = try options.isOn(.ignoreHTTPErrors)
        return TransferSettings(transfer)
    }

    private func setBody(of http: inout HTTPRequest, _ body: AppliedArgs.Body?) throws(APIError) {
        switch body {
        case nil: break
        case .form(let pairs):
            let text = pairs.map {
                "\(PercentEncoding.formComponent($0.name))=\(PercentEncoding.formComponent($0.value))"
            }.joined(separator: "&")
            http.body = .bytes(Array(text.utf8))
            http.headers.setIfAbsent("Content-Type", "application/x-www-form-urlencoded")
        case .multipart(let parts):
            for part in parts {
                if case .file(let path) = part.content { _ = try Self.length(ofFile: path) }
            }
            http.body = .multipart(parts)
        case .data(let bytes, let type):
            http.body = .bytes(bytes)
            try setContentType(of: &http, type)
        case .json(let value):
            http.body = .bytes(value.utf8())
            http.headers.setIfAbsent("Content-Type", "application/json")
        case .file(let path, let type):
            http.body = .file(path: path, length: try Self.length(ofFile: path))
            try setContentType(of: &http, type)
        case .stream(let stream, let type):
            guard stream.claim() else {
                throw .invalidRequest("the body stream belongs to another request: make a stream for each request")
            }
            http.body = .stream(stream)
            try setContentType(of: &http, type)
        }
    }

    private func setContentType(of http: inout HTTPRequest, _ type: String?) throws(APIError) {
        let type = type ?? "application/octet-stream"
        try HeaderSyntax.check(contentType: type)
        http.headers.setIfAbsent("Content-Type", type)
    }

    // A pipe or a directory is refused: the network thread reads files, and must not be made to wait.
    private static func length(ofFile path: String) throws(APIError) -> Int64 {
        guard !path.utf8.contains(0) else { throw .invalidRequest("the file path \(quoted(path)) has a NUL") }
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw .invalidRequest("the file \(quoted(path)) cannot be read: \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .invalidRequest("\(quoted(path)) is not a regular file: read it yourself and pass a stream")
        }
        return Int64(status.st_size)
    }
}
