// Decides which downloads can be resumed. In doubt, none: a file made of two versions is worse than a file fetched
// twice.
extension ResumeData {
    /// Why there is no resume data, for the log.
    struct NotResumable: Error, Equatable {
        let reason: String

        init(_ reason: String) { self.reason = reason }
    }

    /// Makes the resume data of a download that ends before it is whole.
    ///
    /// - Parameters:
    ///   - request: the request as sent, with its range. The URL may be that of a redirect.
    ///   - url: the original URL, before redirects.
    ///   - head: the head of the response whose body was being received.
    ///   - received: how many bytes of the temporary file are certain.
    ///   - previous: the resume data that the request continued from, if any.
    static func make(
        _ request: HTTPRequest, url: String, head: ResponseHead, destination: String, temporaryFile: String,
        isTemporary: Bool = false, received: Int64, previous: ResumeData?, startTime: Double?
    ) throws(NotResumable) -> ResumeData {
        if head.status == 206, let previous {
            var total: Int64?
            if case .part(_, _, let length) = ContentRange(head.headers) { total = length }
            return try checked { () throws(APIError) in try previous.advanced(to: received, of: total) }
        }
        let validator = try resumable(request, head, isContinuation: previous != nil).get()
        var total: Int64?
        if case .bytes(let length) = head.announcedLength { total = length }
        return try checked { () throws(APIError) in
            try ResumeData(
                url: url, destination: destination, temporaryFile: temporaryFile, isTemporary: isTemporary,
                offset: received,
                validator: validator, totalLength: total, startTime: startTime)
        }
    }

    private static func checked(_ make: () throws(APIError) -> ResumeData) throws(NotResumable) -> ResumeData {
        do throws(APIError) {
            return try make()
        } catch {
            throw NotResumable(error.message)
        }
    }

    /// Whether a download can be resumed if it ends early.
    ///
    /// - Parameter isContinuation: whether the range in the request is the library's own.
    /// - Returns: the validator for the next request.
    static func resumable(
        _ request: HTTPRequest, _ head: ResponseHead, isContinuation: Bool = false
    ) -> Result<Validator, NotResumable> {
        guard request.method == "GET" else { return .failure(.init("the method is \(request.method), not GET")) }
        guard head.status == 200 else { return .failure(.init("the status is \(head.status), not 200")) }
        guard isContinuation || request.headers["Range"] == nil else {
            return .failure(.init("the request has its own range"))
        }
        guard head.hasIdentityEncoding else {
            return .failure(.init("the body is encoded: \(head.headers["Content-Encoding"] ?? "")"))
        }
        let units = head.headers["Accept-Ranges"]
        if let units, !units.split(separator: ",").contains(where: { trimmed($0).equalsIgnoringASCIICase("bytes") }) {
            return .failure(.init("the server does not serve byte ranges: Accept-Ranges is \(units)"))
        }
        return validator(of: head)
    }

    private static func validator(of head: ResponseHead) -> Result<Validator, NotResumable> {
        // A response with an entity tag must not be identified by its date (RFC 9110, 13.1.5).
        if let etag = head.headers["ETag"] {
            guard isStrong(etag: etag) else {
                return .failure(.init("the entity tag \(quoted(etag)) is weak, or malformed"))
            }
            return .success(.etag(etag, isLatin1: head.headers.bytes("ETag") != Array(etag.utf8)))
        }
        guard let modified = head.headers["Last-Modified"] else {
            return .failure(.init("the answer has neither ETag nor Last-Modified"))
        }
        guard head.hasStrongDate else {
            return .failure(.init("Last-Modified is not a strong validator: it is not a second before Date"))
        }
        return .success(.lastModified(modified))
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" })
    }
}

extension ResponseHead {
    /// Whether Last-Modified identifies one version. The file may change twice within the second that the date names.
    /// So the response must be at least a second later (RFC 9110, 8.8.2.2).
    var hasStrongDate: Bool {
        guard let modified = headers["Last-Modified"].flatMap({ HTTPDate.seconds($0) }),
            let date = headers["Date"].flatMap({ HTTPDate.seconds($0) })
        else { return false }
        return date > modified
    }

    /// Whether the bytes on the wire are those of the file.
    var hasIdentityEncoding: Bool {
        headers.all("Content-Encoding").allSatisfy { $0.isEmpty || $0.equalsIgnoringASCIICase("identity") }
    }
}

/// Decides what the answer to a resumed download means for the bytes already there. Pure.
///
/// libcurl's own resuming is not used: it fails on a 200, and accepts a part from another offset.
enum ResumeDecision: Equatable {
    /// The body continues where the file ends.
    ///
    /// - Parameters:
    ///   - end: where the body ends in the whole file. A shorter body is incomplete, and a longer one is an error.
    ///   - total: the length of the whole file; nil if unknown. If it is beyond `end`, another request continues from
    ///     there.
    case append(end: Int64, total: Int64?)
    /// The body is the whole current file, which replaces the bytes already there.
    case replace
    /// Neither the body nor the bytes already there are usable. Ask for the file again without a range.
    case startOver(reason: String)
    /// The file is already complete.
    case complete
    /// The body of an error. The bytes already there and the resume data stay.
    case fail

    /// Headers for the request, which replace headers of the same name. None when there are no bytes to continue from.
    ///
    /// - Parameter offset: the number of bytes already there.
    static func headers(for data: ResumeData, offset: Int64) -> [HTTPHeaders.Field] {
        guard offset > 0 else { return [] }
        return [
            .init(name: "Range", value: "bytes=\(offset)-"), .init(name: "If-Range", received: data.validator.bytes),
            .init(name: "Accept-Encoding", value: "identity"),
        ]
    }

    /// How many bytes to keep.
    ///
    /// - Parameter fileSize: the size of the temporary file; 0 when it is gone. Bytes beyond the result are cut off.
    static func offset(of data: ResumeData, fileSize: Int64) -> Int64 {
        let sure = min(max(fileSize, 0), data.offset ?? .max)
        // The file has more bytes than the server's, so they are not the server's bytes.
        if let total = data.totalLength, sure > total { return 0 }
        return sure
    }

    /// Decides on the head of the answer.
    ///
    /// - Parameter offset: the requested offset, from `offset(of:fileSize:)`.
    static func decide(_ data: ResumeData, offset: Int64, _ head: ResponseHead) -> ResumeDecision {
        switch head.status {
        case 206: part(data, offset: offset, head)
        case 200..<300: whole(head)
        case 416: unsatisfied(data, offset: offset, head)
        default: .fail
        }
    }

    /// Some servers send a part with status 200. Taken for the whole, it would be a file that only looks complete.
    private static func whole(_ head: ResponseHead) -> ResumeDecision {
        if isPart(ContentRange(head.headers)) {
            return .startOver(reason: "the answer is a part, but has status \(head.status)")
        }
        return .replace
    }

    private static func isPart(_ range: ContentRange?) -> Bool {
        guard case .part(let first, let last, let total) = range else { return false }
        return first > 0 || last + 1 < total ?? 0
    }

    /// Why the answer to a request without a range is not the whole file; nil if it is. A cache may send the part that
    /// somebody else has asked for.
    static func unaskedPart(_ head: ResponseHead) -> String? {
        guard (200..<300).contains(head.status) else { return nil }
        // Some services answer a page of results with 206, in units of their own.
        guard let range = head.headers["Content-Range"] else {
            return head.status == 206 ? "the answer is a part (206), and does not say which one" : nil
        }
        return isPart(ContentRange(head.headers)) ? "the answer is only a part: Content-Range is \(range)" : nil
    }

    private static func part(_ data: ResumeData, offset: Int64, _ head: ResponseHead) -> ResumeDecision {
        guard case .part(let first, let last, let total) = ContentRange(head.headers) else {
            return .startOver(reason: "the answer does not say which part it has")
        }
        guard head.hasIdentityEncoding else { return .startOver(reason: "the part is encoded") }
        guard first == offset else { return .startOver(reason: "the part begins at \(first), not at \(offset)") }
        if let reason = otherVersion(data, head) { return .startOver(reason: reason) }
        if let total, let known = data.totalLength, total != known {
            return .startOver(reason: "the file has \(total) bytes now, not \(known)")
        }
        let whole = total ?? data.totalLength
        // `ContentRange` guarantees that `last` is less than the largest integer.
        let end = last + 1
        guard end <= whole ?? .max else { return .startOver(reason: "the part ends beyond the file") }
        switch head.announcedLength {
        case .bytes(let length) where length != end - first:
            return .startOver(reason: "the part has \(length) bytes, not \(end - first)")
        case .invalid: return .startOver(reason: "the length of the part is unclear")
        default: return .append(end: end, total: whole)
        }
    }

    private static func unsatisfied(_ data: ResumeData, offset: Int64, _ head: ResponseHead) -> ResumeDecision {
        guard case .unsatisfied(let total) = ContentRange(head.headers) else {
            return .startOver(reason: "the server has no bytes from \(offset) on, and does not say how many it has")
        }
        guard total == offset, total == data.totalLength ?? total else {
            return .startOver(reason: "the file has \(total) bytes now, and \(offset) are here")
        }
        if let reason = otherVersion(data, head) { return .startOver(reason: reason) }
        return .complete
    }

    /// With If-Range, a partial answer means that the file is unchanged. The other headers must agree.
    private static func otherVersion(_ data: ResumeData, _ head: ResponseHead) -> String? {
        switch data.validator {
        case .etag:
            guard let now = head.headers.bytes("ETag"), now != data.validator.bytes else { return nil }
            return "the file has another entity tag now"
        case .lastModified(let date):
            guard let now = head.headers["Last-Modified"], now != date else { return nil }
            return "the file was modified since"
        }
    }
}

/// Which part of a representation a response has: the header Content-Range (RFC 9110, 14.4), in bytes.
enum ContentRange: Equatable {
    /// The bytes from the first to the last, both included. The total is nil when the server does not know it.
    case part(first: Int64, last: Int64, total: Int64?)
    /// For a 416: the requested part is not within the total.
    case unsatisfied(total: Int64)

    /// - Returns: nil when there is no such header, more than one, or a contradictory one.
    init?(_ headers: HTTPHeaders) {
        let values = headers.all("Content-Range")
        guard let value = values.first, values.count == 1 else { return nil }
        self.init(value)
    }

    init?(_ text: String) {
        let words = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard words.count == 2, String(words[0])?.equalsIgnoringASCIICase("bytes") == true else { return nil }
        let sides = words[1].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let total = Self.number(sides[1])
        guard total != nil || sides[1].elementsEqual("*".utf8) else { return nil }
        if sides[0].elementsEqual("*".utf8) {
            guard let total else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = sides[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
            last < total ?? .max
        else { return nil }
        self = .part(first: first, last: last, total: total)
    }

    private static func number(_ digits: Substring.UTF8View.SubSequence) -> Int64? {
        digits.allSatisfy(\.isASCIIDigit) ? Int64(String(digits) ?? "") : nil
    }
}
