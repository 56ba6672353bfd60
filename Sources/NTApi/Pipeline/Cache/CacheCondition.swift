/// The caller's own condition or range, if a cache may evaluate it (RFC 9110, 13 and 14; RFC 9111, 4.3.2).
struct CacheCondition: Sendable, Equatable {
    /// If-None-Match.
    private var tags: EntityTags?
    /// If-Modified-Since, in seconds since 1970. Ignored when there is an If-None-Match.
    private var date: Int64?
    private var range: ByteRange?
    /// If-Range. Ignored without a range.
    private var ifRange: String?

    /// The headers of the condition, in lower case.
    static let names: Set<String> = ["if-none-match", "if-modified-since", "if-range", "range"]

    /// - Returns: nil when only the server may evaluate it: several ranges, or a malformed header.
    init?(_ http: HTTPRequest) {
        if let text = http.headers["If-None-Match"] {
            guard let tags = EntityTags(text) else { return nil }
            self.tags = tags
        } else if let text = http.headers["If-Modified-Since"] {
            guard HTTPDate.isExact(text), let date = HTTPDate.seconds(text) else { return nil }
            self.date = date
        }
        guard let text = http.headers["Range"] else { return }
        // A range has no meaning for HEAD (RFC 9110, 14.2), yet some servers answer with 206.
        guard http.method == "GET", let range = ByteRange(text) else { return nil }
        self.range = range
        ifRange = http.headers["If-Range"]
    }

    /// How a usable stored response answers the condition.
    ///
    /// - Returns: nil when only the server can answer.
    func answer(from stored: CachedResponse) -> CachedAnswer? {
        let head = stored.head
        guard head.status == 200 else { return nil }
        if let tags {
            if tags.match(head.headers["ETag"]) { return .notModified }
        } else if let date, let changed = Self.lastChange(of: stored), changed <= Double(date) {
            return .notModified
        }
        guard let range, Self.holds(ifRange, head) else { return .whole }
        // The stored body is decoded, but a range counts encoded bytes.
        guard head.hasIdentityEncoding else { return nil }
        switch range.place(in: stored.body.count) {
        case .part(let part): return .part(part)
        case .unsatisfied: return .unsatisfied
        case .whole: return .whole
        }
    }

    /// The date of the last change. Without Last-Modified it is the date of the response (RFC 9111, 4.3.2); nil for an
    /// invalid date.
    private static func lastChange(of stored: CachedResponse) -> Double? {
        guard let text = stored.head.headers["Last-Modified"] ?? stored.head.headers["Date"] else {
            return stored.responseTime
        }
        return HTTPDate.seconds(text).map(Double.init)
    }

    /// Whether a part may be sent (RFC 9110, 13.1.5): the caller's bytes must be of exactly the same version.
    private static func holds(_ ifRange: String?, _ head: ResponseHead) -> Bool {
        guard let ifRange else { return true }
        if ResumeData.isStrong(etag: ifRange) { return ifRange == head.headers["ETag"] }
        return ifRange == head.headers["Last-Modified"] && head.hasStrongDate
    }
}

/// The entity tags of If-None-Match (RFC 9110, 13.1.2).
enum EntityTags: Sendable, Equatable {
    /// `*`: any representation.
    case any
    /// Tags in quotes, without the mark of a weak tag, which does not matter here.
    case list([String])

    /// - Returns: nil when it is neither a star nor a list of tags.
    init?(_ text: String) {
        var rest = Substring(text).trimmed.utf8
        guard !rest.elementsEqual("*".utf8) else {
            self = .any
            return
        }
        let quote = UInt8(ascii: "\"")
        var tags: [String] = []
        while true {
            // Skip empty elements of the list.
            rest = rest.drop { $0 == UInt8(ascii: ",") || $0 == 0x20 || $0 == 0x09 }
            guard !rest.isEmpty else { break }
            if rest.starts(with: "W/".utf8) { rest = rest.dropFirst(2) }
            // The quoted text may contain a comma.
            guard rest.first == quote, let end = rest.dropFirst().firstIndex(of: quote), let tag = String(rest[...end])
            else { return nil }
            tags.append(tag)
            rest = rest[end...].dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
            guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return nil }
        }
        guard !tags.isEmpty else { return nil }
        self = .list(tags)
    }

    /// - Parameter tag: the stored response's tag, if it has one.
    func match(_ tag: String?) -> Bool {
        switch self {
        case .any: true
        case .list(let tags): tag.map { tag in tags.contains { $0 == CachedResponse.opaque(tag) } } ?? false
        }
    }
}

/// How a stored response answers the caller's condition or range.
enum CachedAnswer: Sendable, Equatable {
    /// All of it: 200.
    case whole
    /// The caller has it already: 304.
    case notModified
    /// A part of it: 206.
    case part(Range<Int>)
    /// The range is outside of the body: 416.
    case unsatisfied

    /// - Parameters:
    ///   - whole: the head of the stored response, with its age.
    ///   - count: the size of the stored body in bytes.
    func head(from whole: ResponseHead, of count: Int) -> ResponseHead {
        var head = whole
        switch self {
        case .whole: break
        case .notModified:
            head.status = 304
            head.headers = whole.headers.only(Self.ofNotModified)
            // The tag is more precise than the date (RFC 9110, 15.4.5).
            if head.headers["ETag"] == nil, let date = whole.headers["Last-Modified"] {
                head.headers.set("Last-Modified", date)
            }
        case .part(let part):
            head.status = 206
            head.headers.set("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(count)")
            head.headers.set("Content-Length", String(part.count))
        case .unsatisfied:
            head.status = 416
            head.headers = whole.headers.only(["age", "date"])
            head.headers.set("Content-Range", "bytes */\(count)")
        }
        return head
    }

    private static let ofNotModified: Set<String> = [
        "age", "cache-control", "content-location", "date", "etag", "expires", "vary",
    ]
}

extension HTTPHeaders {
    /// - Parameter names: in lower case.
    fileprivate func only(_ names: Set<String>) -> HTTPHeaders {
        var kept = HTTPHeaders()
        for field in self where names.contains(field.name.lowercasedASCII()) { kept.add(field.name, field.value) }
        return kept
    }
}

/// One range of bytes that a request asks for: the header Range (RFC 9110, 14.2).
enum ByteRange: Sendable, Equatable {
    /// A range with both ends included. A missing `last` is the largest integer.
    case from(Int, to: Int)
    /// This many bytes at the end.
    case suffix(Int)

    /// What a body has of a range.
    enum Place: Equatable {
        case part(Range<Int>)
        /// The range is outside of the body.
        case unsatisfied
        /// The body is empty, and Content-Range cannot name a part of it.
        case whole
    }

    /// - Returns: nil for several ranges, another unit, or invalid text.
    init?(_ text: String) {
        let sides = text.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2, String(sides[0])?.equalsIgnoringASCIICase("bytes") == true else { return nil }
        let ends = sides[1].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) }) else { return nil }
        switch (ends[0].isEmpty, ends[1].isEmpty) {
        case (true, true): return nil
        case (true, false): self = .suffix(Self.number(ends[1]))
        case (false, true): self = .from(Self.number(ends[0]), to: .max)
        case (false, false):
            let (first, last) = (Self.number(ends[0]), Self.number(ends[1]))
            guard first <= last else { return nil }
            self = .from(first, to: last)
        }
    }

    /// - Parameter count: the size of the body in bytes.
    func place(in count: Int) -> Place {
        switch self {
        case .from(let first, let last): first < count ? .part(first..<min(last, count - 1) + 1) : .unsatisfied
        case .suffix(0): .unsatisfied
        case .suffix(let length): count > 0 ? .part(max(0, count - length)..<count) : .whole
        }
    }

    /// Numbers that do not fit become the largest integer: no body is that long.
    private static func number(_ digits: Substring.UTF8View.SubSequence) -> Int {
        String(digits).flatMap { Int($0) } ?? .max
    }
}
