// Resume data as text: what one program writes, another reads, in whatever language and however much later.
extension ResumeData {
    /// Counts on when a reader of an older version would be wrong about a newer text. Fields that may be ignored do not.
    static let version: Int64 = 1

    private enum Name {
        static let version = "ntapiResumeData"
        static let url = "url"
        static let destination = "destination"
        static let temporaryFile = "temporaryFile"
        static let isTemporary = "isTemporary"
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

    package var json: JSON {
        var members: [(String, JSON)] = [
            (Name.version, JSON(Self.version)), (Name.url, JSON(url)), (Name.destination, JSON(destination)),
            (Name.temporaryFile, JSON(temporaryFile)),
        ]
        if isTemporary { members.append((Name.isTemporary, true)) }
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
        let fields = JSONFields(json: json) { .invalidResumeData($0, $1) }
        guard let version = try fields.optionalInteger(Name.version) else {
            throw .invalidResumeData(Name.version, "it is missing: this is no resume data")
        }
        guard version == Self.version else {
            throw .invalidResumeData(
                Name.version, "version \(version) is of another version of the library, which knows \(Self.version)")
        }
        let validator: Validator
        if let etag = try fields.optionalString(Name.etag) {
            validator = .etag(etag)
        } else if let date = try fields.optionalString(Name.lastModified) {
            validator = .lastModified(date)
        } else {
            throw .invalidResumeData(Name.etag, "it is missing, and so is \"lastModified\"")
        }
        try self.init(
            url: fields.string(Name.url), destination: fields.string(Name.destination),
            temporaryFile: fields.string(Name.temporaryFile),
            isTemporary: fields.optionalBool(Name.isTemporary) ?? false, offset: fields.optionalInteger(Name.offset),
            validator: validator, totalLength: fields.optionalInteger(Name.totalLength),
            startTime: fields.optionalNumber(Name.startTime))
    }
}
