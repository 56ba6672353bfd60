/// What is needed to resume a cancelled or failed download, in this or another process, in any of the languages.
///
/// Store its ``text``. It contains the URL with its query, but no headers: pass credentials again with the resuming
/// request. The received bytes are in the temporary file.
///
/// Keep the text where only those can write whom you trust: it says which URL is requested, and which file the download
/// replaces. Its temporary file is checked: it lies beside the destination and has a name that this library gives.
public struct ResumeData: Sendable, Hashable, RedactedMirror {
    /// The original URL, before redirects.
    public let url: String
    /// The absolute path of the complete file. If the download goes on at another destination, still that of the first
    /// request, beside which the temporary file is.
    public let destination: String
    /// The absolute path of the file with the received bytes.
    public let temporaryFile: String
    /// Whether the complete file is also a temporary one.
    public let isTemporary: Bool
    /// How many bytes of the temporary file are certain; nil for all of them.
    public let offset: Int64?
    /// How the server recognizes whether its file is unchanged.
    let validator: Validator
    /// The length of the whole file in bytes, if the server said.
    public let totalLength: Int64?
    /// When the download began, in seconds since 1970-01-01 00:00 UTC, if it is known.
    public let startTime: Double?

    /// A description with the URL's secrets redacted. To store the resume data, use ``text``.
    public var description: String {
        "\(printable(Secrets.redactURL(url))) to \(quoted(destination)), \(offset.map { "from byte \($0)" } ?? "from all there is")"
    }

    /// A strong validator: equal means the same bytes (RFC 9110, 8.8.1).
    enum Validator: Sendable, Hashable {
        /// - Parameter isLatin1: whether the server's bytes are not UTF-8, so that the text has them as ISO-8859-1.
        case etag(String, isLatin1: Bool = false)
        /// The date as the server wrote it.
        case lastModified(String)

        /// The bytes that the server sent.
        var bytes: [UInt8] {
            switch self {
            case .etag(let text, isLatin1: true): text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
            case .etag(let text, isLatin1: false), .lastModified(let text): Array(text.utf8)
            }
        }
    }

    /// - Throws: `invalid request` that names the field.
    init(
        url: String, destination: String, temporaryFile: String, isTemporary: Bool = false, offset: Int64?,
        validator: Validator, totalLength: Int64? = nil, startTime: Double? = nil
    ) throws(APIError) {
        self.url = url
        self.destination = destination
        self.temporaryFile = temporaryFile
        self.isTemporary = isTemporary
        self.offset = offset
        self.validator = validator
        self.totalLength = totalLength
        self.startTime = startTime
        try check()
    }

    /// A copy with another offset.
    func advanced(to offset: Int64, of totalLength: Int64?) throws(APIError) -> ResumeData {
        try ResumeData(
            url: url, destination: destination, temporaryFile: temporaryFile, isTemporary: isTemporary, offset: offset,
            validator: validator, totalLength: totalLength ?? self.totalLength, startTime: startTime)
    }

    /// A copy that continues after all bytes of the temporary file.
    func withAllBytes() throws(APIError) -> ResumeData {
        try ResumeData(
            url: url, destination: destination, temporaryFile: temporaryFile, isTemporary: isTemporary, offset: nil,
            validator: validator, totalLength: totalLength, startTime: startTime)
    }

    /// Checks all fields: resume data may come from anywhere, and decides what is written where and what is sent.
    private func check() throws(APIError) {
        do throws(APIError) {
            _ = try URLParts(url)
        } catch {
            throw .invalidResumeData("url", error.message)
        }
        try Self.check(path: destination, "destination")
        try Self.check(path: temporaryFile, "temporaryFile")
        guard destination != temporaryFile else {
            throw .invalidResumeData("temporaryFile", "it is the destination itself")
        }
        // Other files are neither written nor removed, whatever the text says.
        guard TemporaryName.isPart(temporaryFile, of: destination) else {
            throw .invalidResumeData(
                "temporaryFile", "\(quoted(temporaryFile)) is not a name that this library gives such a file")
        }
        guard !isTemporary || TemporaryName.isComplete(destination) else {
            throw .invalidResumeData(
                "destination", "\(quoted(destination)) is not a name that this library gives a temporary file")
        }
        switch validator {
        case .etag(let text, let isLatin1):
            guard Self.isStrong(etag: text) else {
                throw .invalidResumeData("etag", "\(quoted(text)) is not a strong entity tag in quotes")
            }
            guard !isLatin1 || text.unicodeScalars.allSatisfy({ $0.value <= 0xFF }) else {
                throw .invalidResumeData("etag", "\(quoted(text)) is not ISO-8859-1")
            }
        case .lastModified(let text):
            guard HTTPDate.seconds(text) != nil, text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
                throw .invalidResumeData("lastModified", "\(quoted(text)) is not an HTTP date")
            }
        }
        if let totalLength, totalLength < 0 { throw .invalidResumeData("totalLength", "\(totalLength) is negative") }
        if let offset, offset < 0 { throw .invalidResumeData("offset", "\(offset) is negative") }
        if let offset, let totalLength, offset > totalLength {
            throw .invalidResumeData("offset", "\(offset) is beyond the total length of \(totalLength)")
        }
    }

    private static func check(path: String, _ field: String) throws(APIError) {
        guard path.utf8.first == UInt8(ascii: "/"), path.utf8.last != UInt8(ascii: "/") else {
            throw .invalidResumeData(field, "\(quoted(path)) is not the absolute path of a file")
        }
        guard !path.utf8.contains(0) else { throw .invalidResumeData(field, "it has a NUL") }
    }

    /// Whether it is a quoted entity tag without the mark of a weak one (RFC 9110, 8.8.3).
    static func isStrong(etag: String) -> Bool {
        let bytes = Array(etag.utf8)
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else {
            return false
        }
        return bytes.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") }
    }
}

extension APIError {
    static func invalidResumeData(_ field: String?, _ reason: String) -> APIError {
        .invalidRequest("resume data\(field.map { ", field \(quoted($0))" } ?? ""): \(reason)")
    }
}

// Resume data as text, which any program in any language can read later.
extension ResumeData {
    /// Increased when an older version would misread a newer text. Fields that may be ignored do not count.
    static let version: Int64 = 1

    private enum Name {
        static let version = "ntapiResumeData"
        static let url = "url"
        static let destination = "destination"
        static let temporaryFile = "temporaryFile"
        static let isTemporary = "isTemporary"
        static let offset = "offset"
        static let etag = "etag"
        static let isLatin1 = "etagIsLatin1"
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
        case .etag(let etag, let isLatin1):
            members.append((Name.etag, JSON(etag)))
            if isLatin1 { members.append((Name.isLatin1, true)) }
        case .lastModified(let date): members.append((Name.lastModified, JSON(date)))
        }
        if let totalLength { members.append((Name.totalLength, JSON(totalLength))) }
        if let startTime { members.append((Name.startTime, JSON(startTime))) }
        return JSON(members)
    }

    init(_ json: JSON) throws(APIError) {
        guard json.kind == .object else { throw .invalidResumeData(nil, "it is not a JSON object") }
        let fields = JSONFields(json: json) { .invalidResumeData($0, $1) }
        guard let version = try fields.optionalInteger(Name.version) else {
            throw .invalidResumeData(Name.version, "it is missing, so this is not resume data")
        }
        guard version == Self.version else {
            throw .invalidResumeData(
                Name.version, "version \(version) is of another version of the library, which knows \(Self.version)")
        }
        let validator: Validator
        if let etag = try fields.optionalString(Name.etag) {
            validator = .etag(etag, isLatin1: try fields.optionalBool(Name.isLatin1) ?? false)
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
