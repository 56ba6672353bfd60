/// Dates in headers (RFC 9110, 5.6.7).
enum HTTPDate {
    /// Reads a date in any of the three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
    /// `Sun Nov  6 08:49:37 1994`.
    ///
    /// - Parameter now: seconds since 1970, by which a year of two digits is understood.
    /// - Returns: seconds since 1970-01-01 00:00 UTC; nil when it is no date.
    static func seconds(_ text: String, now: @autoclosure () -> Double = wallClockSeconds()) -> Int64? {
        let words = text.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map { Array($0) }
        guard let weekday = words.first else { return nil }
        switch words.count {
        case 6 where weekday.last == UInt8(ascii: ",") && isGMT(words[5]):
            return seconds(day: words[1], month: words[2], year: year(words[3], digits: 4), time: words[4])
        case 4 where weekday.last == UInt8(ascii: ",") && isGMT(words[3]):
            let date = words[1].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false).map { Array($0) }
            guard date.count == 3, let short = year(date[2], digits: 2) else { return nil }
            return seconds(day: date[0], month: date[1], year: nearest(short, now()), time: words[2])
        case 5:
            return seconds(day: words[2], month: words[1], year: year(words[4], digits: 4), time: words[3])
        default: return nil
        }
    }

    /// Whether a text is written as RFC 9110 wants it, to the letter: `seconds` also reads what is nearly so.
    static func isExact(_ text: String) -> Bool {
        let words = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false).map { Array($0) }
        guard let weekday = words.first.map({ String(decoding: $0, as: UTF8.self) }) else { return false }
        switch words.map(\.count) {
        case [4, 2, 3, 4, 8, 3]: return weekdays.contains { "\($0.prefix(3))," == weekday }
        case [3, 3, 2, 8, 4], [3, 3, 0, 1, 8, 4]: return weekdays.contains { $0.prefix(3) == weekday }
        case let lengths where lengths.dropFirst() == [9, 8, 3]: return weekdays.contains { "\($0)," == weekday }
        default: return false
        }
    }

    private static let weekdays = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]

    /// Writes a date in the form that is to be sent: `Sun, 06 Nov 1994 08:49:37 GMT`; nil outside of the years 0 to 9999.
    static func text(_ seconds: Double) -> String? {
        guard let whole = Int64(exactly: seconds.rounded(.down)), let civil = CivilTime(secondsSince1970: whole) else {
            return nil
        }
        func padded(_ number: Int, _ digits: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
        }
        let days = (whole - (whole % 86_400 + 86_400) % 86_400) / 86_400
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int((days % 7 + 7) % 7)]
        let month = String(decoding: months[civil.month - 1], as: UTF8.self)
        let time = "\(padded(civil.hour)):\(padded(civil.minute)):\(padded(civil.second))"
        return "\(weekday), \(padded(civil.day)) \(month) \(padded(civil.year, 4)) \(time) GMT"
    }

    private static func seconds(day: [UInt8], month: [UInt8], year: Int?, time: [UInt8]) -> Int64? {
        let clock = time.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map { number(Array($0)) }
        guard let year, let month = months.firstIndex(of: month), let day = number(day), clock.count == 3,
            let hour = clock[0], let minute = clock[1], let second = clock[2]
        else { return nil }
        return CivilTime(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
            .secondsSince1970
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ].map { Array($0.utf8) }

    private static func isGMT(_ zone: [UInt8]) -> Bool { zone.elementsEqual("GMT".utf8) }

    private static func year(_ text: [UInt8], digits: Int) -> Int? { text.count == digits ? number(text) : nil }

    /// What seems to lie more than 50 years ahead is of the century before.
    private static func nearest(_ short: Int, _ now: Double) -> Int {
        let thisYear = 1970 + (Int(exactly: (now / 31_556_952).rounded(.down)) ?? 0)
        let year = thisYear / 100 * 100 + short
        return year > thisYear + 50 ? year - 100 : year
    }

    /// One to four digits.
    private static func number(_ text: [UInt8]) -> Int? {
        guard (1...4).contains(text.count), text.allSatisfy(\.isASCIIDigit) else { return nil }
        return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}
