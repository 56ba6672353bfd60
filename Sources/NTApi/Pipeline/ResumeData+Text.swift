// Resume data as text: what one program writes, another reads, in whatever language and however much later.
extension ResumeData {
    /// Counts on when a reader of an older version would be wrong about a newer text. Fields that may be ignored do not.
    static let version: Int64 = 1

    private enum Name {
        static let version = "ntapiResumeData"
        static let url = "url"
        static let destination = "destination"
        static let temporaryFile = "temporaryFile"
        static let offset = "offset"
        static let etag = "etag"
        static let lastModified = "lastModified"
        static let totalLength = "totalLength"
        static let startTime = "startTime"
    }

    /// The resume data as text: one line of JSON, for any program that uses this library.
    public var text: String { json.text }

    /// Reads resume data.
    ///
    /// - Throws: `invalid request` that says what is wrong with it.
    public init(_ text: String) throws(APIError) {
        let json: JSON
        do throws(JSONParseError) {
            json = try JSON(parsing: text)
        } catch {
            throw .invalidResumeData(nil, "it is not JSON: \(error)")
        }
        try self.init(json)
    }

    var json: JSON {
        var members: [(String, JSON)] = [
            (Name.version, JSON(Self.version)), (Name.url, JSON(url)), (Name.destination, JSON(destination)),
            (Name.temporaryFile, JSON(temporaryFile)),
        ]
        if let offset { members.append((Name.offset, JSON(offset))) }
        switch validator {
        case .etag(let etag): members.append((Name.etag, JSON(etag)))
        case .lastModified(let date): members.append((Name.lastModified, JSON(date)))
        }
        if let totalLength { members.append((Name.totalLength, JSON(totalLength))) }
        if let startTime { members.append((Name.startTime, JSON(startTime))) }
        return JSON(members)
    }

    init(_ json: JSON) throws(APIError) {
        guard json.kind == .object else { throw .invalidResumeData(nil, "it is no JSON object") }
        guard let version = try Self.integer(json, Name.version) else {
            throw .invalidResumeData(Name.version, "it is missing: this is no resume data")
        }
        guard version == Self.version else {
            throw .invalidResumeData(
                Name.version, "version \(version) is of another version of the library, which knows \(Self.version)")
        }
        let validator: Validator
        if let etag = try Self.string(json, Name.etag) {
            validator = .etag(etag)
        } else if let date = try Self.string(json, Name.lastModified) {
            validator = .lastModified(date)
        } else {
            throw .invalidResumeData(Name.etag, "it is missing, and so is \"lastModified\"")
        }
        try self.init(
            url: Self.required(json, Name.url), destination: Self.required(json, Name.destination),
            temporaryFile: Self.required(json, Name.temporaryFile), offset: Self.integer(json, Name.offset),
            validator: validator, totalLength: Self.integer(json, Name.totalLength),
            startTime: Self.number(json, Name.startTime))
    }

    private static func required(_ json: JSON, _ name: String) throws(APIError) -> String {
        guard let text = try string(json, name) else { throw .invalidResumeData(name, "it is missing") }
        return text
    }

    private static func string(_ json: JSON, _ name: String) throws(APIError) -> String? {
        try value(json, name, "a string") { $0.string }
    }

    private static func integer(_ json: JSON, _ name: String) throws(APIError) -> Int64? {
        try value(json, name, "an integer") { $0.int64 }
    }

    private static func number(_ json: JSON, _ name: String) throws(APIError) -> Double? {
        try value(json, name, "a number") { $0.double }
    }

    /// - Returns: nil when there is none, or null.
    private static func value<Value>(
        _ json: JSON, _ name: String, _ kind: String, _ read: (JSON) -> Value?
    ) throws(APIError) -> Value? {
        guard let found = json[name], !found.isNull else { return nil }
        guard let value = read(found) else { throw .invalidResumeData(name, "it is not \(kind)") }
        return value
    }
}
