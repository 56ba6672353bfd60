/// What the answer to a request that goes on with a download means for the bytes that are there: a pure decision.
///
/// Not libcurl's own resuming: that fails on a 200, and takes a part from another offset for the right one (PITFALLS 6).
enum ResumeDecision: Equatable {
    /// The body goes on where the file ends.
    ///
    /// - Parameters:
    ///   - end: where in the whole file the body ends. Before that it is not whole; behind that it is not believed.
    ///   - total: the length of the whole file; nil when nobody said. Beyond `end`, another request goes on from there.
    case append(end: Int64, total: Int64?)
    /// The body is the whole file, of now: it takes the place of what is there.
    case replace
    /// The body is of no use, and neither is what is there: the file is asked for once more, without a range.
    case startOver(reason: String)
    /// Nothing was missing.
    case complete
    /// An error's body. What is there stays as it is, and so does the resume data.
    case fail

    /// What to add to the request, in the place of headers of the same name. Nothing where there are no bytes to go on from.
    ///
    /// - Parameter offset: how many bytes there are.
    static func headers(for data: ResumeData, offset: Int64) -> [(name: String, value: String)] {
        guard offset > 0 else { return [] }
        return [
            (name: "Range", value: "bytes=\(offset)-"), (name: "If-Range", value: data.validator.text),
            (name: "Accept-Encoding", value: "identity"),
        ]
    }

    /// How many bytes to go on from.
    ///
    /// - Parameter fileSize: of the temporary file; 0 when it is gone. What it has beyond this is cut off.
    static func offset(of data: ResumeData, fileSize: Int64) -> Int64 {
        let sure = min(max(fileSize, 0), data.offset ?? .max)
        // More than there can be: not the bytes that the server has.
        if let total = data.totalLength, sure > total { return 0 }
        return sure
    }

    /// Decides on the head of the answer.
    ///
    /// - Parameter offset: what was asked for, from `offset(of:fileSize:)`.
    static func decide(_ data: ResumeData, offset: Int64, _ head: ResponseHead) -> ResumeDecision {
        switch head.status {
        case 206: part(data, offset: offset, head)
        case 200..<300: .replace
        case 416: unsatisfied(data, offset: offset, head)
        default: .fail
        }
    }

    private static func part(_ data: ResumeData, offset: Int64, _ head: ResponseHead) -> ResumeDecision {
        guard case .part(let first, let last, let total) = ContentRange(head.headers) else {
            return .startOver(reason: "the answer does not say which one part it has")
        }
        guard head.hasIdentityEncoding else { return .startOver(reason: "the part is encoded") }
        guard first == offset else { return .startOver(reason: "the part begins at \(first), not at \(offset)") }
        if let reason = otherVersion(data, head) { return .startOver(reason: reason) }
        if let total, let known = data.totalLength, total != known {
            return .startOver(reason: "the file has \(total) bytes now, not \(known)")
        }
        let whole = total ?? data.totalLength
        // `last` is less than the largest integer, by which `ContentRange` bounds it.
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

    /// A server that answers with a part says by If-Range that it is of the same file; if it says more, that must agree.
    private static func otherVersion(_ data: ResumeData, _ head: ResponseHead) -> String? {
        switch data.validator {
        case .etag(let etag):
            guard let now = head.headers["ETag"], now != etag else { return nil }
            return "the file has another entity tag now"
        case .lastModified(let date):
            guard let now = head.headers["Last-Modified"], now != date else { return nil }
            return "the file was modified since"
        }
    }
}
