extension APIArg: RedactedMirror {
    /// The arg as it is written in code, secrets redacted.
    public var description: String {
        switch kind {
        case .suppressed: "suppressed"
        case .url(let name, let value): "url(\(quoted(name)), \(shown(value, of: name)))"
        case .urlDefault(let name, let key): "urlDefault(\(quoted(name)), \(quoted(key)))"
        case .path(let name, let value): "path(\(quoted(name)), \(shown(value, of: name)))"
        case .form(let name, let value): "form(\(quoted(name)), \(shown(value, of: name)))"
        case .multipart(let part): "multipart(\(quoted(part.name)), \(shown(part)))"
        case .data(let bytes, let type):
            "data(\(isMarkedSecret ? Secrets.redacted : "\(bytes.count) bytes")\(suffix(type)))"
        case .json(let value): "json(\(isMarkedSecret ? Secrets.redacted : Secrets.redact(value.text)))"
        case .member(let name, let value):
            "member(\(quoted(name)), \(isSecret ? Secrets.redacted : Secrets.redact(value.text)))"
        case .file(let path, let type): "file(\(quoted(path))\(suffix(type)))"
        case .stream(let stream, let type):
            "stream(\(stream.length.map { "\($0) bytes" } ?? "unknown length")\(suffix(type)))"
        case .baseURL(let url): "baseURL(\(isMarkedSecret ? Secrets.redacted : quoted(Secrets.redactURL(url))))"
        case .header(let name, let value, let isAdded):
            "\(isAdded ? "addHeader" : "header")(\(quoted(HeaderSyntax.shown(name))), \(shownHeader(value, of: name)))"
        case .basicAuth: "basicAuth(\(Secrets.redacted), \(Secrets.redacted))"
        case .digestAuth: "digestAuth(\(Secrets.redacted), \(Secrets.redacted))"
        case .bearer: "bearer(\(Secrets.redacted))"
        case .timeout(let clock, let seconds): "timeout(\(seconds)\(clock == .idle ? "" : ", .\(clock.rawValue)"))"
        case .method(let method): "method(\(quoted(HeaderSyntax.shown(method))))"
        case .cachePolicy(let policy): "cachePolicy(.\(policy.rawValue))"
        case .option(let name, let value):
            value.isEmpty ? "option(\(quoted(name)))" : "option(\(quoted(name)), \(shown(value, of: name)))"
        case .thread(let kinds, let thread): "handlers(\(kinds), on: \(thread))"
        case .download(let path): path.map { "download(to: \(quoted($0)))" } ?? "download()"
        case .retry(let policy): "retry(\(policy))"
        case .rateLimiter(let limiter): "rateLimiter(\(limiter))"
        case .interceptor(let interceptor): "interceptor(.\(interceptor.scope.rawValue))"
        case .idempotencyKey(let key): "idempotencyKey(\(key.map(quoted) ?? ""))"
        case .resume(let data): "resume(\(quoted(data.destination)))"
        case .invalid(let message): "invalid(\(message))"
        }
    }

    private func shown(_ value: String, of name: String) -> String {
        isMarkedSecret || Secrets.isSecretName(name) ? Secrets.redacted : quoted(value)
    }

    private func shownHeader(_ value: String, of name: String) -> String {
        isMarkedSecret || Secrets.isSecretHeader(name) ? Secrets.redacted : quoted(value)
    }

    private func shown(_ part: HTTPRequest.Part) -> String {
        switch part.content {
        case .bytes(let bytes) where part.filename == nil && part.contentType == nil:
            shown(String(decoding: bytes, as: UTF8.self), of: part.name)
        case .bytes(let bytes):
            "\(bytes.count) bytes\(part.filename.map { ", filename: \(quoted($0))" } ?? "")\(suffix(part.contentType))"
        case .file(let path, _):
            "file: \(quoted(path)), filename: \(quoted(part.filename ?? ""))\(suffix(part.contentType))"
        }
    }

    private func suffix(_ contentType: String?) -> String { contentType.map { ", \(quoted($0))" } ?? "" }
}

extension HandlerKinds: CustomStringConvertible {
    public var description: String {
        let names: [(HandlerKinds, String)] = [
            (.response, ".response"), (.uploadProgress, ".uploadProgress"), (.downloadProgress, ".downloadProgress"),
            (.data, ".data"), (.decision, ".decision"),
        ]
        return "[\(names.filter { contains($0.0) }.map(\.1).joined(separator: ", "))]"
    }
}

extension CallbackThread: RedactedMirror {
    public var description: String {
        switch kind {
        case .main: ".main"
        case .background: ".background"
        case .anywhere: ".anywhere"
        case .current: ".current"
        case .mailbox: ".mailbox"
        case .executor: ".executor"
        }
    }
}
