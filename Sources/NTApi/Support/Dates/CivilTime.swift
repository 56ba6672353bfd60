/// A moment as calendars and clocks show it in UTC: the Gregorian calendar, also before it was introduced.
struct CivilTime {
    var year: Int
    /// From 1.
    var month: Int
    var day: Int
    var hour = 0
    var minute = 0
    /// 60 in a leap second, which counts as the first second of the next minute.
    var second = 0

    /// Seconds since 1970-01-01 00:00; nil when there is no such day, or no such time.
    var secondsSince1970: Int64? {
        guard (0...9999).contains(year), (1...12).contains(month), (1...length(ofMonth: month)).contains(day),
            (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        return Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    }

    // Both of these count years from March on, so that the leap day is the last of its year; a cycle of 400 years has
    // 146,097 days, and five months from March have 153.

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
    /// - Parameter seconds: since 1970-01-01 00:00; nil is the result outside of the years 0 to 9999.
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
