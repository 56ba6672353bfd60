/// How a service writes what the program's types declare: its keys, its dates, its numbers.
public struct DecodingOptions: Sendable {
    /// How the keys of the JSON follow from the coding keys of a type. The keys of dictionaries stay as they are.
    public enum Keys: Sendable {
        /// They are the same.
        case asDeclared
        /// `tempMin` is `temp_min`, and `avatarURL` is `avatar_url`.
        case snakeCase
        /// They are paths: `case temperature = "main.temp"`, `case icon = "weather[0].icon"`.
        case paths
    }

    public var keys: Keys
    /// The formats of dates, tried in order.
    public var dates: [DateFormat]
    /// Whether a string such as "5.0" is taken for a number where a number is declared.
    public var numbersInStrings: Bool
    /// Whether 1 and 0, and the strings "true", "false", "1" and "0", are taken for booleans where a boolean is declared.
    public var looseBooleans: Bool

    /// - Parameters:
    ///   - keys: as they are declared, unless given.
    ///   - dates: ISO 8601, unless given.
    ///   - numbersInStrings: a string is no number, unless given.
    ///   - looseBooleans: true and false alone are booleans, unless given.
    public init(
        keys: Keys = .asDeclared, dates: [DateFormat] = [.iso8601], numbersInStrings: Bool = false,
        looseBooleans: Bool = false
    ) {
        self.keys = keys
        self.dates = dates
        self.numbersInStrings = numbersInStrings
        self.looseBooleans = looseBooleans
    }
}
