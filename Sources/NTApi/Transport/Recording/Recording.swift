/// Recorded exchanges: the content of a recording file.
struct Recording: Sendable {
    struct Exchange: Sendable {
        var method: String
        var url: String
        /// For readers only; not compared.
        var requestHeaders = HTTPHeaders()
        var requestBody = RecordedBody.none
        /// Nil when there was no answer.
        var status: Int?
        var headers = HTTPHeaders()
        var body = RecordedBody.none
        var trailers = HTTPHeaders()
        /// 1.0, 1.1, 2 or 3. The file has it if it is not 1.1.
        var httpVersion = 1.1
        /// The failure that came instead of an answer or after its body.
        var fault: String?
    }

    static let format = "ntapi-recording"
    /// The version of the format. A file with a greater version is not read.
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
            add("httpVersion", exchange.httpVersion == 1.1 ? nil : JSON(exchange.httpVersion), to: &response)
            add("headers", json(of: exchange.headers), to: &response)
            add("body", json(of: exchange.body), to: &response)
            add("trailers", json(of: exchange.trailers), to: &response)
            members.append(("response", JSON(response)))
        }
        if let fault = exchange.fault { members.append(("fault", JSON(fault))) }
        return JSON(members)
    }

    private static func add(_ name: String, _ json: JSON?, to members: inout [(String, JSON)]) {
        if let json { members.append((name, json)) }
    }

    private static func json(of headers: HTTPHeaders) -> JSON? {
        headers.isEmpty ? nil : JSON(headers.map(\.json))
    }

    private static func json(of body: RecordedBody) -> JSON? {
        switch body {
        case .none, .omitted: nil
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

/// Readable JSON text: a line for each member, four spaces for each level.
///
/// Arrays of at most two scalars stay on one line, so that a header takes one line.
enum IndentedJSON {
    static func text(_ json: JSON) -> [UInt8] {
        let compact = json.utf8()
        var bytes: [UInt8] = []
        var depth = 0
        var index = 0
        while index < compact.count {
            let byte = compact[index]
            switch byte {
            case UInt8(ascii: "\""):
                let end = endOfString(compact, from: index)
                bytes += compact[index..<end]
                index = end
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if let end = endOfFlat(compact, from: index) {
                    bytes += spaced(compact[index..<end])
                    index = end
                    continue
                }
                depth += 1
                bytes.append(byte)
                breakLine(&bytes, depth)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                breakLine(&bytes, depth)
                bytes.append(byte)
            case UInt8(ascii: ","):
                bytes.append(byte)
                breakLine(&bytes, depth)
            case UInt8(ascii: ":"): bytes += Array(": ".utf8)
            default: bytes.append(byte)
            }
            index += 1
        }
        return bytes + [UInt8(ascii: "\n")]
    }

    private static func breakLine(_ bytes: inout [UInt8], _ depth: Int) {
        bytes.append(UInt8(ascii: "\n"))
        bytes += [UInt8](repeating: UInt8(ascii: " "), count: 4 * max(0, depth))
    }

    static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }

    /// The end of an empty container, or of an array of two scalars at most.
    private static func endOfFlat(_ bytes: [UInt8], from start: Int) -> Int? {
        var index = start + 1
        var commas = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index = endOfString(bytes, from: index)
                continue
            case UInt8(ascii: "]"): return index + 1
            case UInt8(ascii: "}"): return index == start + 1 ? index + 1 : nil
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): return nil
            case UInt8(ascii: ","): commas += 1
            default: break
            }
            if commas > 1 { return nil }
            index += 1
        }
        return nil
    }

    /// Adds a space after each comma outside of strings.
    private static func spaced(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        var spaced: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\"") {
                let end = endOfString(bytes, from: index)
                spaced += bytes[index..<end]
                index = end
                continue
            }
            spaced.append(bytes[index])
            if bytes[index] == UInt8(ascii: ",") { spaced.append(UInt8(ascii: " ")) }
            index += 1
        }
        return spaced
    }
}
