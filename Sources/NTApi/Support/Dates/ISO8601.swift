/// Dates as most services write them: ISO 8601, and what RFC 3339 makes of it.
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

    /// - Returns: seconds since 1970-01-01 00:00 UTC; nil when it is no date.
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

    /// Of a second; 0 when there is none, and nil when there is no digit behind the point.
    private mutating func readFraction() -> Double? {
        guard take(".") || take(",") else { return 0 }
        guard isDigit else { return nil }
        var (value, scale) = (0.0, 1.0)
        while let digit = digit() {
            // More than a double can tell.
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
