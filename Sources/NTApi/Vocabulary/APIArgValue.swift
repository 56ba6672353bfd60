/// A value that an arg can send as text: strings, integers, numbers and booleans.
public protocol APIArgValue: Sendable {
    /// The text that is sent; nil when the value has none (infinity, NaN).
    var argText: String? { get }
}

extension String: APIArgValue {
    public var argText: String? { self }
}

extension Substring: APIArgValue {
    public var argText: String? { String(self) }
}

extension Bool: APIArgValue {
    public var argText: String? { self ? "true" : "false" }
}

/// An enum of strings or numbers is sent as its raw value, if it declares this: `enum State: String, APIArgValue`.
extension APIArgValue where Self: RawRepresentable, RawValue: APIArgValue {
    public var argText: String? { rawValue.argText }
}

extension APIArgValue where Self: BinaryInteger {
    public var argText: String? { String(self) }
}

extension Int: APIArgValue {}
extension Int8: APIArgValue {}
extension Int16: APIArgValue {}
extension Int32: APIArgValue {}
extension Int64: APIArgValue {}
extension UInt: APIArgValue {}
extension UInt8: APIArgValue {}
extension UInt16: APIArgValue {}
extension UInt32: APIArgValue {}
extension UInt64: APIArgValue {}

extension Double: APIArgValue {
    /// The shortest text that reads back as the same number: 20, 0.1, 1e+300.
    public var argText: String? {
        guard isFinite else { return nil }
        return Int64(exactly: self).flatMap { magnitude <= 0x1p53 ? String($0) : nil } ?? description
    }
}

extension Float: APIArgValue {
    /// The shortest text that reads back as the same number: 20, 0.1.
    public var argText: String? {
        guard isFinite else { return nil }
        return Int64(exactly: self).flatMap { magnitude <= 0x1p24 ? String($0) : nil } ?? description
    }
}

extension APIDate: APIArgValue {
    /// The date of ISO 8601 in UTC.
    public var argText: String? { secondsSince1970.isFinite ? description : nil }
}

/// A date as a parameter in the format of a service; see ``APIDate/formatted(_:)``.
public struct FormattedDate: APIArgValue {
    /// The text that is sent; nil when the format cannot represent the date.
    public let argText: String?
}

extension APIDate {
    /// The date in a service's format, for a parameter: `.url("since", since?.formatted(.seconds))`. A plain date is
    /// sent as ISO 8601.
    public func formatted(_ format: DateFormat) -> FormattedDate {
        let written = JSONEncoding.write(self, as: format)
        return FormattedDate(argText: written.flatMap { $0.string ?? ($0.isNull ? nil : $0.text) })
    }
}
