/// How a service writes its dates in JSON.
public struct DateFormat: Sendable {
    enum Kind: Sendable {
        case iso8601, seconds, milliseconds, http
        case custom(@Sendable (JSON) -> APIDate?, (@Sendable (APIDate) -> JSON?)?)
    }

    let kind: Kind
    /// For messages.
    let name: String

    /// Text of ISO 8601 or RFC 3339: `2013-11-20T10:00:00+01:00`, `2013-11-20`; see ``APIDate/init(iso8601:)``.
    public static let iso8601 = DateFormat(kind: .iso8601, name: "ISO 8601")
    /// A number of seconds since 1970-01-01 00:00 UTC, fractions allowed.
    public static let seconds = DateFormat(kind: .seconds, name: "seconds since 1970")
    /// A number of milliseconds since 1970-01-01 00:00 UTC, fractions allowed.
    public static let milliseconds = DateFormat(kind: .milliseconds, name: "milliseconds since 1970")
    /// Text of RFC 9110, 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`.
    public static let http = DateFormat(kind: .http, name: "an HTTP date")

    /// A format of the service's own.
    ///
    ///     static let noted = DateFormat.custom("20.11.2013") { json in
    ///         json.string.flatMap(day)
    ///     } write: { date in
    ///         JSON(text(of: date))
    ///     }
    ///
    /// - Parameters:
    ///   - name: for messages: "20 Nov 2013".
    ///   - read: makes a date of the value; nil when it is none. On the thread that decodes.
    ///   - write: makes the value of a date; nil when it cannot be written. Without it dates of the format cannot be sent.
    public static func custom(
        _ name: String, _ read: @escaping @Sendable (JSON) -> APIDate?,
        write: (@Sendable (APIDate) -> JSON?)? = nil
    ) -> DateFormat {
        DateFormat(kind: .custom(read, write), name: name)
    }
}

/// A date as a parameter in the format of a service; see ``APIDate/formatted(_:)``.
public struct FormattedDate: APIArgValue {
    /// The text that is sent; nil when the date cannot be written so.
    public let argText: String?
}

extension APIDate {
    /// The date as a service wants it in a parameter: `.url("since", since?.formatted(.seconds))`. As it is, it is ISO 8601.
    public func formatted(_ format: DateFormat) -> FormattedDate {
        let written = JSONEncoding.write(self, as: format)
        return FormattedDate(argText: written.flatMap { $0.string ?? ($0.isNull ? nil : $0.text) })
    }
}
