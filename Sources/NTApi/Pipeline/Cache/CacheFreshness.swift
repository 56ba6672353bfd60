/// What `Cache-Control` says, of a request or of a response (RFC 9111, 5.2). Times are in seconds.
///
/// A directive that is there twice counts as it is there first. What has no meaning for a private cache is not kept.
struct CacheControl: Sendable, Equatable {
    /// Nothing of the exchange may be stored.
    var noStore = false
    /// To be asked for again each time, even where only of some fields: nobody could tell the difference.
    var noCache = false
    var isPublic = false
    var isPrivate = false
    var mustRevalidate = false
    var mustUnderstand = false
    var onlyIfCached = false
    var maxAge: Int64?
    /// `Int64.max` without a number: however stale.
    var maxStale: Int64?
    var minFresh: Int64?
    var staleWhileRevalidate: Int64?
    var staleIfError: Int64?

    init() {}

    /// - Parameter headers: of a request, an old `Pragma: no-cache` counts where there is no Cache-Control.
    init(_ headers: HTTPHeaders) {
        var isThere = false
        headers.forEachValue(of: "Cache-Control") { value in
            isThere = true
            add(value)
            return true
        }
        guard !isThere else { return }
        headers.forEachValue(of: "Pragma") { value in
            noCache = noCache || String(decoding: value, as: UTF8.self).lowercasedASCII().containsSubstring("no-cache")
            return true
        }
    }

    /// Takes the directives of one line.
    mutating func add(_ line: UnsafeBufferPointer<UInt8>) {
        var reader = CacheControlReader(line)
        while let directive = reader.next() { add(directive.name, directive.value) }
    }

    private mutating func add(_ name: String, _ value: String?) {
        switch name {
        case "no-store": noStore = true
        case "no-cache": noCache = true
        case "public": isPublic = true
        case "private": isPrivate = true
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "only-if-cached": onlyIfCached = true
        case "max-age": maxAge = maxAge ?? Self.seconds(value, otherwise: 0)
        case "max-stale": maxStale = maxStale ?? (value == nil ? .max : Self.seconds(value, otherwise: 0))
        // What makes no sense is as careful as can be.
        case "min-fresh": minFresh = minFresh ?? Self.seconds(value, otherwise: .max)
        case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? Self.seconds(value, otherwise: 0)
        case "stale-if-error": staleIfError = staleIfError ?? Self.seconds(value, otherwise: 0)
        default: break
        }
    }

    /// Delta-seconds (RFC 9111, 1.2.2): more than can be counted is the most that can.
    static func seconds(_ text: String?, otherwise: Int64) -> Int64 {
        guard let text, !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit) else { return otherwise }
        return min(Int64(text) ?? maximumSeconds, maximumSeconds)
    }

    private static let maximumSeconds: Int64 = 1 << 31
}

/// Reads the directives of one line, their names in lower case. What is none is passed over.
private struct CacheControlReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func next() -> (name: String, value: String?)? {
        while index < bytes.count {
            let name = take(\.isTokenCharacter)
            guard !name.isEmpty else {
                // A quoted text without a name may have commas in it, too.
                if bytes[index] == UInt8(ascii: "\"") { _ = takeQuoted() } else { index += 1 }
                continue
            }
            guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else { return (name.lowercasedASCII(), nil) }
            index += 1
            let isQuoted = index < bytes.count && bytes[index] == UInt8(ascii: "\"")
            let value = isQuoted ? takeQuoted() : take { $0 != UInt8(ascii: ",") && $0 != 0x20 && $0 != 0x09 }
            return (name.lowercasedASCII(), value)
        }
        return nil
    }

    private mutating func take(_ belongs: (UInt8) -> Bool) -> String {
        let start = index
        while index < bytes.count, belongs(bytes[index]) { index += 1 }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    /// To the closing quote, or to the end where there is none.
    private mutating func takeQuoted() -> String {
        var text: [UInt8] = []
        index += 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count { index += 1 }
            text.append(bytes[index])
            index += 1
        }
        index = min(index + 1, bytes.count)
        return String(decoding: text, as: UTF8.self)
    }
}

/// How old a stored response is, and how old it may be (RFC 9111, 4.2). Seconds; pure, so that time is the caller's.
struct CacheFreshness: Sendable, Equatable {
    /// 4.2.3: since it was made or last confirmed at its origin.
    let age: Int64
    /// 4.2.1 and 4.2.2.
    let lifetime: Int64
    /// Whether the lifetime was only guessed from the date of the last change.
    let isHeuristic: Bool

    var isFresh: Bool { age < lifetime }
    /// By how much it is too old; 0 while it is fresh.
    var staleness: Int64 { max(0, age - lifetime) }

    init(_ response: CachedResponse, _ control: CacheControl, now: Double) {
        let head = response.head
        let date = Self.date(head, "Date", now).map(Double.init) ?? response.responseTime
        age = Self.age(response, date: date, now: now)
        let (explicit, isExplicit) = Self.explicitLifetime(head, control, date: date, now: now)
        isHeuristic = !isExplicit
        lifetime = isExplicit ? explicit : Self.heuristicLifetime(head, control, date: date, now: now)
    }

    /// Whether the response itself says how long it is fresh.
    static func isExplicit(_ head: ResponseHead, _ control: CacheControl) -> Bool {
        control.maxAge != nil || head.headers["Expires"] != nil
    }

    private static func age(_ response: CachedResponse, date: Double, now: Double) -> Int64 {
        // The clock was set back, or the entry was made by a machine with another idea of time: it tells nothing.
        guard response.responseTime <= now + 60, response.requestTime <= response.responseTime + 60 else { return .max }
        let apparent = max(0, response.responseTime - date)
        let delay = max(0, response.responseTime - response.requestTime)
        let corrected = Double(ageField(response.head)) + delay
        return whole(max(apparent, corrected) + max(0, now - response.responseTime))
    }

    /// The first value of Age that is one; 0 without.
    private static func ageField(_ head: ResponseHead) -> Int64 {
        let first = head.headers.all("Age").first?.split(separator: ",").first.map { String($0.trimmed) }
        return CacheControl.seconds(first, otherwise: 0)
    }

    private static func explicitLifetime(
        _ head: ResponseHead, _ control: CacheControl, date: Double, now: Double
    ) -> (Int64, Bool) {
        if let maxAge = control.maxAge { return (maxAge, true) }
        guard let text = head.headers.all("Expires").first else { return (0, false) }
        // What is no date, above all "0", lies in the past (5.3), and so does what is nearly one.
        guard HTTPDate.isExact(text), let expires = HTTPDate.seconds(text, now: now) else { return (0, true) }
        return (whole(Double(expires) - date), true)
    }

    /// A tenth of how long it had not changed.
    private static func heuristicLifetime(
        _ head: ResponseHead, _ control: CacheControl, date: Double, now: Double
    ) -> Int64 {
        guard CacheStatus.isHeuristic(head.status) || control.isPublic,
            let changed = self.date(head, "Last-Modified", now)
        else { return 0 }
        return whole((date - Double(changed)) / 10)
    }

    private static func date(_ head: ResponseHead, _ name: String, _ now: Double) -> Int64? {
        head.headers.all(name).first.flatMap { HTTPDate.seconds($0, now: now) }
    }

    private static func whole(_ seconds: Double) -> Int64 { Int64(exactly: max(0, seconds).rounded(.down)) ?? .max }
}

/// What a cache makes of a status.
enum CacheStatus {
    /// Whether a response may be kept that says nothing of it (RFC 9110, 15.1).
    static func isHeuristic(_ status: Int) -> Bool {
        [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// Parts of bodies, answers to conditions and questions for credentials are never kept.
    static func isKept(_ status: Int) -> Bool {
        (200..<600).contains(status) && ![206, 304, 401, 407, 412, 416].contains(status)
    }

    /// Whether it is known what the status demands of a cache (RFC 9111, 5.2.2.3).
    static func isUnderstood(_ status: Int) -> Bool { isHeuristic(status) || [302, 303, 307, 403].contains(status) }

    /// Whether a stored response may stand in for it (RFC 5861, 4).
    static func isServerError(_ status: Int) -> Bool { [500, 502, 503, 504].contains(status) }
}

extension Substring {
    /// Without spaces and tabs around it.
    var trimmed: Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
