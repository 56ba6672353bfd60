// What the headers of an answer say about the next request.

extension ResponseHead {
    /// The seconds that the server asks to wait; nil when no header says so, or none is well-formed.
    ///
    /// `retry-after-ms` is read first, because it is finer. Retry-After is a date or a number of whole seconds (RFC 9110,
    /// 10.2.3). Some servers send a fraction, which is rounded up.
    ///
    /// - Parameter now: seconds since 1970.
    func retryAfter(now: Double = wallClockSeconds()) -> Double? {
        if let milliseconds = headers["retry-after-ms"].flatMap(Self.number) { return milliseconds / 1000 }
        // A proxy may have added a line of its own. Joined, they would be neither.
        return headers.all("Retry-After").lazy.compactMap { seconds($0, now) }.first
    }

    private func seconds(_ retryAfter: String, _ now: Double) -> Double? {
        if let seconds = Self.number(retryAfter) { return seconds.rounded(.up) }
        return HTTPDate.seconds(retryAfter, now: now).map { max(0, Double($0) - serverTime(or: now)) }
    }

    /// The time on the server's clock, in seconds since 1970: that of the header Date, or else the given time.
    private func serverTime(or now: Double) -> Double {
        headers.all("Date").first.flatMap { HTTPDate.seconds($0, now: now) }.map(Double.init) ?? now
    }

    /// Whether the server asks to send the request again; nil when it does not say. SDKs agreed on this header.
    var shouldRetry: Bool? {
        guard let text = headers["x-should-retry"] else { return nil }
        return text.equalsIgnoringASCIICase("true") ? true : text.equalsIgnoringASCIICase("false") ? false : nil
    }

    /// How many seconds to wait because nothing is left of the server's limit; nil when something is left, or no header
    /// says so.
    ///
    /// The header fields of the standard's draft 11 are read first, then those of its earlier drafts, then the common
    /// `X-RateLimit-Remaining` with `X-RateLimit-Reset`, which is a number of seconds or a time.
    ///
    /// - Parameter now: seconds since 1970.
    func exhaustion(now: Double) -> Double? {
        if let limits = headers["RateLimit"].map(RateLimitItem.items), limits.contains(where: { $0["r"] != nil }) {
            let windows = headers["RateLimit-Policy"].map(RateLimitItem.items) ?? []
            let waits = limits.compactMap { item -> Double? in
                guard let remaining = item["r"], remaining <= 0 else { return nil }
                return item["t"] ?? windows.first { $0.name == item.name }?["w"]
            }
            return waits.max()
        }
        // Draft 7: "limit=100, remaining=0, reset=30".
        if let limit = headers["RateLimit"].map(Self.members), let remaining = limit["remaining"] {
            return remaining <= 0 ? limit["reset"] : nil
        }
        for prefix in ["RateLimit", "X-RateLimit"] {
            guard let remaining = headers["\(prefix)-Remaining"].flatMap(Self.number) else { continue }
            guard remaining <= 0, let reset = headers["\(prefix)-Reset"].flatMap(Self.number) else { return nil }
            // No limit lasts for 30 years.
            return reset < 1e9 ? reset : max(0, reset - serverTime(or: now))
        }
        return nil
    }

    /// The numbers of a list of names with values.
    private static func members(_ text: String) -> [String: Double] {
        var members: [String: Double] = [:]
        for member in text.split(separator: ",") {
            let pair = member.split(separator: "=", maxSplits: 1).map { String($0.trimmed) }
            if pair.count == 2, let value = number(pair[1]) { members[pair[0]] = value }
        }
        return members
    }

    /// Digits, perhaps with a plus sign and a fraction. What no integer can hold is a very long wait, and not none.
    private static func number(_ text: String) -> Double? {
        let digits = text.utf8.first == UInt8(ascii: "+") ? text.utf8.dropFirst() : text.utf8[...]
        let parts = digits.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isASCIIDigit) }), let value = Double(text) else {
            return nil
        }
        return min(value, 0x1p63)
    }
}

/// An item of the list in RateLimit or RateLimit-Policy: a name with numbers as parameters (RFC 9651).
private struct RateLimitItem {
    let name: String
    private var parameters: [(name: String, value: Double)] = []

    subscript(name: String) -> Double? { parameters.last { $0.name == name }?.value }

    /// Reads a list. An item that is malformed is left out.
    static func items(_ text: String) -> [RateLimitItem] {
        split(text, at: ",").compactMap(RateLimitItem.init)
    }

    private init?(_ text: String) {
        var parts = RateLimitItem.split(text, at: ";").makeIterator()
        guard let name = parts.next(), !name.isEmpty else { return nil }
        self.name = name
        while let part = parts.next() {
            let pair = RateLimitItem.split(part, at: "=")
            guard pair.count == 2, let value = Int64(pair[1]), value >= 0 else { continue }
            parameters.append((pair[0], Double(value)))
        }
    }

    /// Splits outside of quoted strings, and trims blanks.
    private static func split(_ text: String, at separator: Character) -> [String] {
        var (parts, part, isQuoted, isEscaped) = ([String](), "", false, false)
        for character in text {
            if character == separator, !isQuoted {
                parts.append(String(part[...].trimmed))
                part = ""
                continue
            }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && character == "\\" && !isEscaped
            part.append(character)
        }
        return parts + [String(part[...].trimmed)]
    }
}
