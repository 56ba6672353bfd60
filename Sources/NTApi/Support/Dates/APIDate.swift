/// A moment in a service's JSON, decoded in the format that the service declares; see ``DateFormat``.
///
/// With Foundation: `Date(timeIntervalSince1970: date.secondsSince1970)`.
public struct APIDate: Sendable, Hashable {
    /// Seconds since 1970-01-01 00:00 UTC, like the library's other times.
    public var secondsSince1970: Double

    /// The moment this many seconds after 1970-01-01 00:00 UTC.
    public init(secondsSince1970: Double) { self.secondsSince1970 = secondsSince1970 }

    /// The current moment.
    public static var now: APIDate { APIDate(secondsSince1970: wallClockSeconds()) }

    /// Reads a date of ISO 8601 or RFC 3339, such as `2013-11-20T10:00:00+01:00`; nil when it is not a date.
    ///
    /// Without a time it means midnight; without a zone, UTC. Hyphens and colons may be missing.
    public init?(iso8601 text: String) {
        guard let seconds = text.withBytes({ ISO8601.seconds(UnsafeRawBufferPointer($0)) }) else { return nil }
        self.init(secondsSince1970: seconds)
    }

    /// Reads a date of RFC 9110, 5.6.7, such as `Sun, 06 Nov 1994 08:49:37 GMT`; nil when it is not a date.
    public init?(http text: String) {
        guard let seconds = HTTPDate.seconds(text) else { return nil }
        self.init(secondsSince1970: Double(seconds))
    }
}

extension APIDate: Comparable {
    public static func < (left: APIDate, right: APIDate) -> Bool { left.secondsSince1970 < right.secondsSince1970 }
}

extension APIDate: CustomStringConvertible {
    /// The date of ISO 8601 in UTC, to the microsecond: `2013-11-20T09:00:00.25Z`.
    public var description: String {
        // There is no common notation for years with more than four digits.
        guard abs(secondsSince1970) < 1e12 else { return "\(secondsSince1970) s since 1970" }
        let microseconds = Int64((secondsSince1970 * 1e6).rounded())
        let seconds = microseconds >= 0 ? microseconds / 1_000_000 : (microseconds - 999_999) / 1_000_000
        guard let civil = CivilTime(secondsSince1970: seconds) else { return "\(secondsSince1970) s since 1970" }
        let date = "\(padded(civil.year, 4))-\(padded(civil.month, 2))-\(padded(civil.day, 2))"
        let time = "\(padded(civil.hour, 2)):\(padded(civil.minute, 2)):\(padded(civil.second, 2))"
        var fraction = Substring(padded(Int(microseconds - seconds * 1_000_000), 6))
        while fraction.last == "0" { fraction.removeLast() }
        return fraction.isEmpty ? "\(date)T\(time)Z" : "\(date)T\(time).\(fraction)Z"
    }

    private func padded(_ number: Int, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}

/// How a service writes its dates in JSON.
public struct DateFormat: Sendable {
    enum Kind: Sendable {
        case iso8601, seconds, milliseconds, http
        case custom(@Sendable (JSON) -> APIDate?, (@Sendable (APIDate) -> JSON?)?)
    }

    let kind: Kind
    /// The name in messages.
    let name: String

    /// Text of ISO 8601 or RFC 3339: `2013-11-20T10:00:00+01:00`, `2013-11-20`; see ``APIDate/init(iso8601:)``.
    public static let iso8601 = DateFormat(kind: .iso8601, name: "ISO 8601")
    /// A number of seconds since 1970-01-01 00:00 UTC, fractions allowed.
    public static let seconds = DateFormat(kind: .seconds, name: "seconds since 1970")
    /// A number of milliseconds since 1970-01-01 00:00 UTC, fractions allowed.
    public static let milliseconds = DateFormat(kind: .milliseconds, name: "milliseconds since 1970")
    /// Text of RFC 9110, 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`.
    public static let http = DateFormat(kind: .http, name: "an HTTP date")

    /// Your own format.
    ///
    ///     static let noted = DateFormat.custom("20.11.2013") { json in
    ///         json.string.flatMap(day)
    ///     } write: { date in
    ///         JSON(text(of: date))
    ///     }
    ///
    /// - Parameters:
    ///   - name: for messages: "20 Nov 2013".
    ///   - read: makes a date of the value; nil when the value is not a date. Runs on the thread that decodes.
    ///   - write: makes the value of a date; nil when the date cannot be written. Without it, dates of this format
    ///     cannot be sent.
    public static func custom(
        _ name: String, _ read: @escaping @Sendable (JSON) -> APIDate?,
        write: (@Sendable (APIDate) -> JSON?)? = nil
    ) -> DateFormat {
        DateFormat(kind: .custom(read, write), name: name)
    }
}
