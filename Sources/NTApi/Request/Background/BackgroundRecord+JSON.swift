// The form of a record in its file: JSON, which people can read when something went wrong.
extension BackgroundRecord {
    /// Increase it when a reader of an older version would misread a newer record.
    static let version: Int64 = 1

    var json: JSON {
        var members: [(String, JSON)] = [
            ("version", JSON(Self.version)), ("identifier", JSON(identifier)), ("priority", JSON(priority)),
            ("method", JSON(method)), ("url", JSON(url)), ("headers", headers.json), ("created", JSON(created)),
        ]
        switch work {
        case .download(let destination, let temporaryFile, let resume):
            members.append(("kind", "download"))
            members.append(("destination", JSON(destination)))
            members.append(("temporaryFile", JSON(temporaryFile)))
            if let resume { members.append(("resumeData", resume.json)) }
        case .upload(let file):
            members.append(("kind", "upload"))
            members.append(("file", JSON(file)))
        }
        if let description { members.append(("description", JSON(description))) }
        members.append(("settings", settings))
        members.append(("state", JSON(state.name)))
        if let outcome { members.append(("outcome", outcome.json)) }
        return JSON(members)
    }

    /// - Throws: `generic` with the name of the bad field.
    init(parsing content: [UInt8]) throws(APIError) {
        let json: JSON
        do throws(JSONParseError) {
            json = try JSON(parsing: content)
        } catch {
            throw .invalidRecord("it is not JSON: \(error)")
        }
        guard json.kind == .object else { throw .invalidRecord("it is not a JSON object") }
        let fields = JSONFields(json: json) { .invalidRecord("field \(quoted($0)): \($1)") }
        let version = try fields.integer("version")
        guard version == Self.version else { throw .invalidRecord("it has version \(version), not \(Self.version)") }
        try self.init(
            identifier: fields.integer("identifier"), priority: fields.number("priority"),
            method: fields.string("method"), url: fields.string("url"), headers: HTTPHeaders(fields, "headers"),
            work: Work(fields), description: fields.optionalString("description"), settings: fields.object("settings"),
            created: fields.number("created"), state: State(fields))
        try check(fields)
    }

    /// Checks what will be sent and written, as if it came from the program.
    private func check(_ fields: JSONFields) throws(APIError) {
        guard identifier > 0 else { throw fields.error("identifier", "\(identifier) is not positive") }
        do throws(APIError) {
            try HeaderSyntax.check(method: method)
            for header in headers { try HeaderSyntax.check(name: header.name, value: header.value) }
            _ = try URLParts(url)
        } catch {
            throw .invalidRecord(error.message)
        }
    }
}

extension BackgroundRecord.State {
    fileprivate var name: String {
        switch self {
        case .waiting: "waiting"
        case .running: "running"
        case .finished: "finished"
        case .delivering: "delivering"
        }
    }

    fileprivate init(_ fields: JSONFields) throws(APIError) {
        switch try fields.string("state") {
        case "waiting": self = .waiting
        case "running": self = .running
        case "finished": self = .finished(try BackgroundOutcome(fields))
        case "delivering": self = .delivering(try BackgroundOutcome(fields))
        case let name: throw fields.error("state", "\(quoted(name)) is unknown")
        }
    }
}

extension BackgroundRecord.Work {
    fileprivate init(_ fields: JSONFields) throws(APIError) {
        switch try fields.string("kind") {
        case "download":
            var resume: ResumeData?
            if let json = try fields.optionalObject("resumeData") {
                do throws(APIError) {
                    resume = try ResumeData(json)
                } catch {
                    throw .invalidRecord(error.message)
                }
            }
            self = .download(
                destination: try Self.path(fields, "destination"),
                temporaryFile: try Self.path(fields, "temporaryFile"),
                resume: resume)
        case "upload": self = .upload(file: try Self.path(fields, "file"))
        case let name: throw fields.error("kind", "\(quoted(name)) is unknown")
        }
    }

    private static func path(_ fields: JSONFields, _ name: String) throws(APIError) -> String {
        let path = try fields.string(name)
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw fields.error(name, "\(quoted(path)) is not an absolute path")
        }
        return path
    }
}

extension BackgroundOutcome {
    fileprivate var json: JSON {
        var members: [(String, JSON)] = [
            ("status", JSON(status)), ("headers", headers.json), ("url", JSON(url)),
            ("body", JSON(Base64.encode(body))), ("ended", JSON(ended)),
        ]
        if let error { members.append(("error", error.json)) }
        return JSON(members)
    }

    fileprivate init(_ record: JSONFields) throws(APIError) {
        let fields = JSONFields(json: try record.object("outcome")) { record.error("outcome.\($0)", $1) }
        guard let body = Base64.decode(try fields.string("body")) else {
            throw fields.error("body", "it is not base64")
        }
        guard let status = Int(exactly: try fields.integer("status")) else {
            throw fields.error("status", "it is not an HTTP status")
        }
        try self.init(
            status: status, headers: HTTPHeaders(fields, "headers"), url: fields.string("url"),
            error: fields.optionalObject("error").map { (json) throws(APIError) in
                try APIError(JSONFields(json: json) { fields.error("error.\($0)", $1) })
            }, body: body, ended: fields.number("ended"))
    }
}

extension APIError {
    /// A file of the library's own is damaged.
    static func invalidRecord(_ reason: String) -> APIError {
        APIError(domain: .request, code: .generic, message: reason)
    }

    fileprivate var json: JSON {
        var members: [(String, JSON)] = [
            ("domain", JSON(domain.rawValue)), ("code", JSON(code.name)), ("message", JSON(message)),
            ("isRetryable", JSON(isRetryable)),
        ]
        if let httpStatus { members.append(("httpStatus", JSON(httpStatus))) }
        if let transportCode { members.append(("transportCode", JSON(transportCode))) }
        if let clock { members.append(("clock", JSON(clock.rawValue))) }
        if let failure { members.append(("failure", JSON(failure.rawValue))) }
        return JSON(members)
    }

    fileprivate init(_ fields: JSONFields) throws(APIError) {
        let name = try fields.string("domain")
        guard let domain = Domain(rawValue: name) else { throw fields.error("domain", "\(quoted(name)) is unknown") }
        try self.init(
            domain: domain, code: ErrorCode(fields.string("code")), message: fields.string("message"),
            httpStatus: fields.optionalInteger("httpStatus").flatMap { Int(exactly: $0) },
            transportCode: fields.optionalInteger("transportCode").flatMap { Int(exactly: $0) },
            isRetryable: fields.bool("isRetryable"))
        clock = try fields.optionalString("clock").flatMap(TimeoutClock.init)
        failure = try fields.optionalString("failure").flatMap(NetworkFailure.init)
    }
}

extension HTTPHeaders {
    /// A list of name and value, with true added where the program marked a secret.
    fileprivate var json: JSON {
        JSON(map { $0.isSecret ? [JSON($0.name), JSON($0.value), true] : [JSON($0.name), JSON($0.value)] })
    }

    fileprivate init(_ fields: JSONFields, _ field: String) throws(APIError) {
        self.init()
        for header in try fields.array(field) {
            guard let name = header[0]?.string, let value = header[1]?.string else {
                throw fields.error(field, "it is not a list of names and values")
            }
            add(name, value, isSecret: header[2]?.bool == true)
        }
    }
}
