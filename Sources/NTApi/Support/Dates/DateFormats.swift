/// A moment in the calendar, in UTC. The Gregorian calendar is used for all years.
struct CivilTime {
    var year: Int
    /// 1 to 12.
    var month: Int
    var day: Int
    var hour = 0
    var minute = 0
    /// 60 is a leap second, which counts as the first second of the next minute.
    var second = 0

    /// Seconds since 1970-01-01 00:00; nil when the day or the time does not exist.
    var secondsSince1970: Int64? {
        guard (0...9999).contains(year), (1...12).contains(month), (1...length(ofMonth: month)).contains(day),
            (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        return Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    }

    // Both conversions count years from March, so that the leap day is the last day of the year. 400 years have 146,097
    // days, and five months from March have 153.

    /// Since 1970-01-01.
    private var days: Int {
        let shifted = (month < 3 ? year - 1 : year) + 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468 - 146_097
    }

    private func length(ofMonth month: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && !year.isMultiple(of: 100) || year.isMultiple(of: 400) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension CivilTime {
    /// - Parameter seconds: since 1970-01-01 00:00. The result is nil outside of the years 0 to 9999.
    init?(secondsSince1970 seconds: Int64) {
        guard (-62_167_219_200..<253_402_300_800).contains(seconds) else { return nil }
        let shifted = Int(seconds) + 86_400 * (719_468 + 146_097)
        let day = shifted / 86_400
        let cycle = day / 146_097
        let dayOfCycle = day % 146_097
        let yearOfCycle = (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = cycle * 400 + yearOfCycle - 400 + (month < 3 ? 1 : 0)
        self.day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let time = shifted % 86_400
        (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60)
    }
}

/// Dates as most services write them: ISO 8601, and its profile RFC 3339.
///
///     date-time = date [ ( "T" / "t" / SP ) time [ zone ] ]
///     date = year "-" month "-" day / year month day
///     time = hour ":" minute [ ":" second [ ( "." / "," ) 1*digit ] ] / hour minute [ second [ fraction ] ]
///     zone = "Z" / "z" / ( "+" / "-" ) hour [ [ ":" ] minute ]
///
/// Without a time it is midnight, and without a zone UTC.
struct ISO8601 {
    private let text: UnsafeRawBufferPointer
    private var position = 0

    /// - Returns: seconds since 1970-01-01 00:00 UTC; nil when it is not a date.
    static func seconds(_ text: UnsafeRawBufferPointer) -> Double? {
        var reader = ISO8601(text: text)
        guard let seconds = reader.dateTime(), reader.position == text.count else { return nil }
        return seconds
    }

    private init(text: UnsafeRawBufferPointer) { self.text = text }

    private mutating func dateTime() -> Double? {
        guard let year = number(4) else { return nil }
        let isExtended = take("-")
        guard let month = number(2), !isExtended || take("-"), let day = number(2) else { return nil }
        var moment = CivilTime(year: year, month: month, day: day)
        var fraction = 0.0
        var offset = 0
        if take("T") || take("t") || take(" ") {
            guard let hour = number(2) else { return nil }
            let isExtended = take(":")
            guard let minute = number(2) else { return nil }
            (moment.hour, moment.minute) = (hour, minute)
            if isExtended ? take(":") : isDigit {
                guard let second = number(2), let part = readFraction() else { return nil }
                moment.second = second
                fraction = part
            }
            guard let zone = zone() else { return nil }
            offset = zone
        }
        return moment.secondsSince1970.map { Double($0 - Int64(offset)) + fraction }
    }

    /// The fraction of a second; 0 when there is none, nil when no digit follows the point.
    private mutating func readFraction() -> Double? {
        guard take(".") || take(",") else { return 0 }
        guard isDigit else { return nil }
        var (value, scale) = (0.0, 1.0)
        while let digit = digit() {
            // More digits than a double can represent.
            guard scale < 1e15 else { continue }
            value = value * 10 + Double(digit)
            scale *= 10
        }
        return value / scale
    }

    /// Seconds east of UTC.
    private mutating func zone() -> Int? {
        if take("Z") || take("z") { return 0 }
        let isWest = take("-")
        guard isWest || take("+") else { return 0 }
        guard let hours = number(2), hours < 24 else { return nil }
        var minutes = 0
        if take(":") || isDigit {
            guard let given = number(2), given < 60 else { return nil }
            minutes = given
        }
        return (isWest ? -1 : 1) * (hours * 3600 + minutes * 60)
    }

    private var isDigit: Bool { position < text.count && text[position].isASCIIDigit }

    private mutating func digit() -> Int? {
        guard isDigit else { return nil }
        defer { position += 1 }
        return Int(text[position] - UInt8(ascii: "0"))
    }

    private mutating func number(_ digits: Int) -> Int? {
        var value = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }
}

/// Dates in headers (RFC 9110, 5.6.7).
enum HTTPDate {
    /// Reads a date in any of the three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
    /// `Sun Nov  6 08:49:37 1994`.
    ///
    /// - Parameter now: seconds since 1970. It decides the century of a year with two digits.
    /// - Returns: seconds since 1970-01-01 00:00 UTC; nil when it is not a date.
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

    /// Whether the text follows RFC 9110 exactly; `seconds` also reads dates that nearly do.
    static func isExact(_ text: String) -> Bool {
        let words = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false).map { Array($0) }
        guard let weekday = words.first.map({ String(decoding: $0, as: UTF8.self) }), words.last != utc else {
            return false
        }
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

    /// Writes a date in the form that must be sent: `Sun, 06 Nov 1994 08:49:37 GMT`; nil outside of the years 0 to
    /// 9999.
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

    /// Some servers write UTC.
    private static func isGMT(_ zone: [UInt8]) -> Bool { zone.elementsEqual("GMT".utf8) || zone == utc }

    private static let utc = Array("UTC".utf8)

    private static func year(_ text: [UInt8], digits: Int) -> Int? { text.count == digits ? number(text) : nil }

    /// A year that seems to be more than 50 years ahead belongs to the previous century.
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
