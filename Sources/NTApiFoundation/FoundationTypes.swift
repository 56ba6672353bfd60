public import Foundation
public import NTApi

// A program that links this product decodes and encodes Foundation's types wherever NTApi does: in `decode`, in
// services and in the arg `json(encoding:)`.

extension Date: BridgedJSON {
    package init(bridge: APIDate) { self.init(bridge) }

    package var bridge: APIDate? { APIDate(self) }
}

extension URL: BridgedJSON {
    package init?(bridge: String) { self.init(string: bridge) }

    package var bridge: String? { absoluteString }
}

extension Data: BridgedJSON {
    package init?(bridge: String) { self.init(base64Encoded: bridge) }

    package var bridge: String? { base64EncodedString() }
}

extension Decimal: BridgedJSON {
    /// Reads a number with all its digits, or a string: services that must not lose a digit write "19.90".
    package init?(bridge: JSON) {
        guard let text = bridge.digits ?? bridge.string, (try? JSON(parsing: text))?.double != nil,
            let value = Decimal(string: text), value.isFinite
        else { return nil }
        self = value
    }

    /// Nil for NaN.
    package var bridge: JSON? { isFinite ? try? JSON(parsing: description) : nil }
}

// MARK: Dates

extension Date {
    /// Makes a date from NTApi's type.
    public init(_ date: APIDate) { self.init(timeIntervalSince1970: date.secondsSince1970) }
}

extension APIDate {
    /// Makes a date from Foundation's type.
    public init(_ date: Date) { self.init(secondsSince1970: date.timeIntervalSince1970) }
}

extension DateFormat {
    /// The default of `JSONDecoder`: seconds since 2001-01-01 00:00 UTC.
    public static let deferredToDate = custom("seconds since 2001") { json in
        json.double.map { APIDate(Date(timeIntervalSinceReferenceDate: $0)) }
    } write: { date in
        JSON(Date(date).timeIntervalSinceReferenceDate)
    }

    /// Text that a formatter reads and writes, like the strategy of this name of `JSONDecoder`.
    ///
    /// - Parameter formatter: completely set up. Changing it later is not thread-safe.
    public static func formatted(_ formatter: DateFormatter) -> DateFormat {
        custom("a date such as \(formatter.string(from: Date(timeIntervalSince1970: 0)))") { json in
            json.string.flatMap(formatter.date).map { APIDate($0) }
        } write: { date in
            JSON(formatter.string(from: Date(date)))
        }
    }
}

// MARK: Args

extension Date: APIArgValue {
    /// The date of ISO 8601 in UTC. For another format: `APIDate(date).formatted(.seconds)`.
    public var argText: String? { APIDate(self).argText }
}

extension URL: APIArgValue {
    /// The absolute URL.
    public var argText: String? { absoluteString }
}

extension UUID: APIArgValue {
    /// The UUID in upper case, as Foundation writes it.
    public var argText: String? { uuidString }
}

extension Decimal: APIArgValue {
    /// All its digits; nil when it is not a number.
    public var argText: String? { isFinite ? description : nil }
}

extension APIArg {
    /// Bytes as the body, unchanged; at most once; the default method becomes POST.
    ///
    /// - Parameter contentType: nil for application/octet-stream.
    public static func data(_ data: Data?, contentType: String? = nil) -> APIArg {
        self.data(data.map { [UInt8]($0) }, contentType: contentType)
    }

    /// Bytes as a multipart file part, sent as filename `name.extension`.
    public static func multipart(_ name: String, data: Data?, fileExtension: String? = nil) -> APIArg {
        multipart(name, data: data.map { [UInt8]($0) }, fileExtension: fileExtension)
    }
}
