/// The `Cache-Control` of a request or a response (RFC 9111, 5.2). Times are in seconds.
///
/// When a directive is repeated, the first one counts. Directives without meaning for a private cache are dropped.
struct CacheControl: Sendable, Equatable {
    /// No part of the exchange may be stored.
    var noStore = false
    /// Every use needs validation. A no-cache for certain fields is treated as one for all.
    var noCache = false
    var isPublic = false
    var isPrivate = false
    var mustRevalidate = false
    var mustUnderstand = false
    var onlyIfCached = false
    var maxAge: Int64?
    /// `Int64.max` without a number: any staleness.
    var maxStale: Int64?
    var minFresh: Int64?
    var staleWhileRevalidate: Int64?
    var staleIfError: Int64?
    /// For caches that several users share, the lifetime in place of `maxAge`, and whether they must not use it stale.
    private var sharedMaxAge: Int64?
    private var sharedMustRevalidate = false

    init() {}

    /// Whether a cache that is shared keeps it for a shorter time than one that is not.
    var isShorterForAll: Bool { sharedMustRevalidate || sharedMaxAge.map { $0 < maxAge ?? .max } ?? false }

    /// - Parameter headers: in a request without Cache-Control, `Pragma: no-cache` counts.
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

    /// Adds the directives of one line.
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
        case "s-maxage": sharedMaxAge = sharedMaxAge ?? Self.seconds(value, otherwise: 0)
        case "proxy-revalidate": sharedMustRevalidate = true
        case "max-age": maxAge = maxAge ?? Self.seconds(value, otherwise: 0)
        case "max-stale": maxStale = maxStale ?? (value == nil ? .max : Self.seconds(value, otherwise: 0))
        // An invalid value gets the strictest meaning.
        case "min-fresh": minFresh = minFresh ?? Self.seconds(value, otherwise: .max)
        case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? Self.seconds(value, otherwise: 0)
        case "stale-if-error": staleIfError = staleIfError ?? Self.seconds(value, otherwise: 0)
        default: break
        }
    }

    /// Delta-seconds (RFC 9111, 1.2.2). Numbers that do not fit become the largest integer.
    static func seconds(_ text: String?, otherwise: Int64) -> Int64 {
        guard let text, !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit) else { return otherwise }
        return min(Int64(text) ?? maximumSeconds, maximumSeconds)
    }

    private static let maximumSeconds: Int64 = 1 << 31
}

/// Reads the directives of one line, with names in lower case. Skips invalid text.
private struct CacheControlReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func next() -> (name: String, value: String?)? {
        while index < bytes.count {
            let name = take(\.isTokenCharacter)
            guard !name.isEmpty else {
                // A quoted text without a name may also contain commas.
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

    /// Takes the text up to the closing quote, or to the end if there is none.
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

/// How old a stored response is, and how old it may be, in seconds (RFC 9111, 4.2). Pure: the caller passes the time.
struct CacheFreshness: Sendable, Equatable {
    /// Seconds since the origin server made or last confirmed it (RFC 9111, 4.2.3).
    let age: Int64
    /// Seconds for which it is fresh (RFC 9111, 4.2.1 and 4.2.2).
    let lifetime: Int64
    /// Whether the lifetime was guessed from the date of the last change.
    let isHeuristic: Bool

    var isFresh: Bool { age < lifetime }
    /// How far it is past its lifetime; 0 while it is fresh.
    var staleness: Int64 { max(0, age - lifetime) }

    init(_ response: CachedResponse, _ control: CacheControl, now: Double) {
        let head = response.head
        let date = Self.date(head, "Date", now).map(Double.init) ?? response.responseTime
        age = Self.age(response, date: date, now: now)
        let (explicit, isExplicit) = Self.explicitLifetime(head, control, date: date, now: now)
        isHeuristic = !isExplicit
        lifetime = isExplicit ? explicit : Self.heuristicLifetime(head, control, date: date, now: now)
    }

    /// Whether the response itself gives its lifetime.
    static func isExplicit(_ head: ResponseHead, _ control: CacheControl) -> Bool {
        control.maxAge != nil || head.headers["Expires"] != nil
    }

    private static func age(_ response: CachedResponse, date: Double, now: Double) -> Int64 {
        // The clock was set back, or another machine's clock was ahead. The stored times are useless.
        guard response.responseTime <= now + 60, response.requestTime <= response.responseTime + 60 else { return .max }
        let apparent = max(0, response.responseTime - date)
        let delay = max(0, response.responseTime - response.requestTime)
        let corrected = Double(ageField(response.head)) + delay
        return whole(max(apparent, corrected) + max(0, now - response.responseTime))
    }

    /// The first valid value of Age; 0 without one.
    private static func ageField(_ head: ResponseHead) -> Int64 {
        let first = head.headers.all("Age").first?.split(separator: ",").first.map { String($0.trimmed) }
        return CacheControl.seconds(first, otherwise: 0)
    }

    private static func explicitLifetime(
        _ head: ResponseHead, _ control: CacheControl, date: Double, now: Double
    ) -> (Int64, Bool) {
        if let maxAge = control.maxAge { return (maxAge, true) }
        guard let text = head.headers.all("Expires").first else { return (0, false) }
        // An invalid date, typically "0", counts as past (RFC 9111, 5.3). So does an almost valid one.
        guard HTTPDate.isExact(text), let expires = HTTPDate.seconds(text, now: now) else { return (0, true) }
        return (whole(Double(expires) - date), true)
    }

    /// A tenth of the time since the last change.
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

/// What a status means for a cache.
enum CacheStatus {
    /// Whether a response without a lifetime may be stored (RFC 9110, 15.1).
    static func isHeuristic(_ status: Int) -> Bool {
        [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// Partial bodies, answers to conditions and authentication challenges are never stored.
    static func isKept(_ status: Int) -> Bool {
        (200..<600).contains(status) && ![206, 304, 401, 407, 412, 416].contains(status)
    }

    /// Whether the cache understands the status (RFC 9111, 5.2.2.3).
    static func isUnderstood(_ status: Int) -> Bool { isHeuristic(status) || [302, 303, 307, 403].contains(status) }

    /// Whether a stored response may replace it (RFC 5861, 4).
    static func isServerError(_ status: Int) -> Bool { [500, 502, 503, 504].contains(status) }
}

extension Substring {
    /// The text without surrounding spaces and tabs.
    var trimmed: Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
