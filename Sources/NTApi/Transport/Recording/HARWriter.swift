/// Writes exchanges as HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), without secrets.
struct HARWriter {
    /// Additional names of secrets.
    let secrets: Set<String>

    /// - Parameter missing: how many exchanges there was no room for.
    func json(of entries: [RecordedEntry], missing: Int) -> JSON {
        var log: [(String, JSON)] = [
            ("version", "1.2"), ("creator", ["name": "ntapi", "version": JSON(ntapiVersion)]), ("pages", []),
            ("entries", JSON(entries.map(json(of:)))),
        ]
        if missing > 0 { log.append(("comment", JSON("\(missing) later exchanges are missing: there was no room"))) }
        return ["log": JSON(log)]
    }

    private func json(of entry: RecordedEntry) -> JSON {
        let recorded = entry.recorded(secrets)
        let (times, time) = Self.timings(entry.times)
        let nothing: JSON = [:]
        var members: [(String, JSON)] = [
            ("startedDateTime", JSON(Self.date(entry.startTime))), ("time", time),
            ("request", request(entry, recorded)), ("response", response(entry, recorded)), ("cache", nothing),
            ("timings", times),
        ]
        let connection = entry.connection
        if !connection.address.isEmpty { members.append(("serverIPAddress", JSON(connection.address))) }
        if connection.localPort > 0 {
            // Browsers write the port of the server, too, and read it as that.
            members.append(("connection", JSON("\(connection.port)")))
            members.append(("_connectionId", JSON("\(connection.localPort)")))
        }
        return JSON(members)
    }

    // MARK: Requests

    private func request(_ entry: RecordedEntry, _ recorded: Recording.Exchange) -> JSON {
        let headers = entry.sentHeaders(secrets)
        var members: [(String, JSON)] = [
            ("method", JSON(recorded.method)), ("url", JSON(recorded.url)),
            ("httpVersion", JSON(Self.version(entry.head?.httpVersion))),
            ("cookies", JSON(Self.cookies(sent: entry))), ("headers", Self.json(of: headers)),
            ("queryString", Self.json(of: Self.query(of: recorded.url))),
        ]
        if let data = Self.postData(recorded.requestBody, headers["Content-Type"] ?? "") {
            members.append(("postData", data))
        }
        // The head of a later version is compressed.
        let headSize = (entry.head?.httpVersion ?? 1) < 2 ? entry.sentHead?.utf8.count : nil
        members.append(("headersSize", JSON(headSize ?? -1)))
        // Small bodies over HTTP/2 are not counted.
        let known = entry.sentHead == nil ? 0 : Int64(entry.sent.count)
        members.append(("bodySize", JSON(max(entry.metrics.bytesSent, known))))
        return JSON(members)
    }

    private static func postData(_ body: RecordedBody, _ type: String) -> JSON? {
        var members: [(String, JSON)] = [("mimeType", JSON(type))]
        func text(_ text: String) { members.append(("text", JSON(text))) }
        switch body {
        case .none: return nil
        case .json(let json): text(json.text)
        case .text(let body): text(body)
        case .redacted: text(Secrets.redacted)
        case .omitted: members.append(("comment", JSON(tooLarge)))
        case .form(let pairs):
            members.append(("params", json(of: pairs)))
            text(String(decoding: body.bytes, as: UTF8.self))
        case .parts(let parts):
            members.append(("params", JSON(parts.map(json(of:)))))
            text("")
        case .bytes(let bytes):
            text(Base64.encode(bytes))
            members.append(("_encoding", "base64"))
        }
        return JSON(members)
    }

    private static func json(of part: RecordedBody.Part) -> JSON {
        var members: [(String, JSON)] = [("name", JSON(part.name))]
        if let filename = part.filename { members.append(("fileName", JSON(filename))) }
        if let type = part.contentType { members.append(("contentType", JSON(type))) }
        switch part.content {
        case .text(let text): members.append(("value", JSON(text)))
        case .bytes(let bytes): members += [("value", JSON(Base64.encode(bytes))), ("_encoding", "base64")]
        }
        return JSON(members)
    }

    private static func query(of url: String) -> [(name: String, value: String)] {
        guard let mark = url.firstIndex(of: "?") else { return [] }
        return RecordedBody.pairs(String(url[url.index(after: mark)...].prefix { $0 != "#" }))
    }

    private static func cookies(sent entry: RecordedEntry) -> [JSON] {
        let lines = entry.sentHead?.split(whereSeparator: \.isNewline).dropFirst().map {
            HTTPHeaders.Field(line: String($0))
        }
        let fields = lines ?? Array(entry.headers)
        return fields.filter { $0.isNamed("cookie") }.flatMap { field in
            field.value.split(separator: ";").map { pair in
                let name = pair.prefix { $0 != "=" }.drop { $0 == " " }
                return ["name": JSON(String(name)), "value": JSON(Secrets.redacted)]
            }
        }
    }

    // MARK: Responses

    private func response(_ entry: RecordedEntry, _ recorded: Recording.Exchange) -> JSON {
        let headers = entry.receivedHeaders(secrets)
        let type = headers["Content-Type"] ?? "x-unknown"
        var members: [(String, JSON)] = [
            ("status", JSON(recorded.status ?? 0)), ("statusText", JSON(entry.head?.headers.reason ?? "")),
            ("httpVersion", JSON(Self.version(entry.head?.httpVersion))),
            ("cookies", JSON(headers.all("Set-Cookie").map(Self.cookie(received:)))),
            ("headers", Self.json(of: headers)), ("content", Self.content(entry, recorded.body, type)),
            ("redirectURL", JSON(headers["Location"] ?? "")), ("headersSize", -1),
            ("bodySize", JSON(entry.head == nil ? -1 : entry.metrics.bytesReceived)),
        ]
        // DevTools shows it. Without it, it adds the unknown size of the head to that of the body: -1.
        if entry.head != nil { members.append(("_transferSize", JSON(entry.metrics.bytesReceived))) }
        if !recorded.trailers.isEmpty { members.append(("_trailers", Self.json(of: recorded.trailers))) }
        if let fault = recorded.fault {
            members.append(("_error", JSON(fault)))
            let message = entry.error.map { Secrets.redactURLs(in: $0.message, alsoNamed: entry.secrets.names) }
            if let message { members.append(("comment", JSON(message))) }
        }
        return JSON(members)
    }

    private static func content(_ entry: RecordedEntry, _ body: RecordedBody, _ type: String) -> JSON {
        let size = max(entry.metrics.bytesDecoded, Int64(entry.received.count))
        var members: [(String, JSON)] = [("size", JSON(size))]
        let saved = size - entry.metrics.bytesReceived
        if entry.metrics.bytesReceived > 0, saved != 0 { members.append(("compression", JSON(saved))) }
        members.append(("mimeType", JSON(type)))
        // The content of a HAR is decompressed otherwise.
        let isCompressed = !entry.isDecompressed && entry.head?.headers["Content-Encoding"] != nil
        if isCompressed { members.append(("_compressed", true)) }
        switch body {
        case .omitted: members.append(("comment", JSON(tooLarge)))
        case .bytes(let bytes): members += [("text", JSON(Base64.encode(bytes))), ("encoding", "base64")]
        default: members.append(("text", JSON(String(decoding: body.bytes, as: UTF8.self))))
        }
        return JSON(members)
    }

    private static func cookie(received line: String) -> JSON {
        let pieces = line.split(separator: ";").map { $0.drop { $0 == " " } }
        let name = pieces.first?.prefix { $0 != "=" } ?? ""
        var members: [(String, JSON)] = [("name", JSON(String(name))), ("value", JSON(Secrets.redacted))]
        for piece in pieces.dropFirst() {
            let attribute = piece.prefix { $0 != "=" }
            let value = String(piece.dropFirst(attribute.count + 1))
            switch String(attribute).lowercasedASCII() {
            case "path": members.append(("path", JSON(value)))
            case "domain": members.append(("domain", JSON(value)))
            case "expires": if let date = APIDate(http: value) { members.append(("expires", JSON(date.description))) }
            case "httponly": members.append(("httpOnly", true))
            case "secure": members.append(("secure", true))
            default: break
            }
        }
        return JSON(members)
    }

    // MARK: Pieces

    private static let tooLarge = "the body is too large to be kept"

    private static func json(of headers: HTTPHeaders) -> JSON { json(of: headers.map { ($0.name, $0.value) }) }

    private static func json(of pairs: [(name: String, value: String)]) -> JSON {
        JSON(pairs.map { ["name": JSON($0.name), "value": JSON($0.value)] })
    }

    private static func version(_ version: Double?) -> String {
        switch version {
        case nil: "unknown"
        case let version? where version < 2: "HTTP/\(version)"
        case let version?: "HTTP/\(Int(version))"
        }
    }

    /// A date of ISO 8601 with milliseconds.
    private static func date(_ seconds: Double) -> String {
        let milliseconds = (min(max(seconds, -9e12), 9e12) * 1000).rounded(.down)
        let whole = (milliseconds / 1000).rounded(.down)
        let date = APIDate(secondsSince1970: whole).description
        let rest = "\(Int(milliseconds - whole * 1000))"
        return "\(date.dropLast()).\(String(repeating: "0", count: 3 - rest.utf8.count))\(rest)Z"
    }

    /// The times in milliseconds, to the microsecond, and their sum. TLS is a part of connecting.
    private static func timings(_ times: ExchangeTimes) -> (JSON, sum: JSON) {
        func microseconds(_ seconds: Double) -> Int64 { Int64((min(seconds, 1e9) * 1e6).rounded()) }
        func json(_ microseconds: Int64) -> JSON { JSON(Double(microseconds) / 1000) }
        var sum: Int64 = 0
        func add(_ name: String, _ seconds: Double?, counts: Bool = true) -> (String, JSON) {
            guard let seconds else { return (name, -1) }
            let value = microseconds(seconds)
            if counts { sum += value }
            return (name, json(value))
        }
        let members = [
            add("blocked", times.blocked), add("dns", times.nameLookup), add("connect", times.connect),
            add("ssl", times.tls, counts: false), add("send", times.send), add("wait", times.wait),
            add("receive", times.receive),
        ]
        return (JSON(members), json(sum))
    }
}
