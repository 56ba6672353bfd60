import Testing

@testable import NTApi

@Suite struct HTTPDateTests {
    /// RFC 9110, 5.6.7.
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 6 Nov 1994 08:49:37 GMT", "  Sun,  06 Nov 1994 08:49:37 GMT ",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sunday, 06-Nov-94 08:49:37 UTC",
    ]) func readsTheThreeForms(_ text: String) {
        #expect(HTTPDate.seconds(text) == 784_111_777)
    }

    @Test func onlyGMTIsExact() {
        for date in ["Sun, 06 Nov 1994 08:49:37", "Sunday, 06-Nov-94 08:49:37"] {
            #expect(HTTPDate.isExact("\(date) GMT") && !HTTPDate.isExact("\(date) UTC"))
        }
        #expect(HTTPDate.isExact("Sun Nov  6 08:49:37 1994"))
    }

    @Test(
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400), ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
        ] as [(String, Int64)]) func countsTheDays(_ text: String, _ expected: Int64)
    {
        #expect(HTTPDate.seconds(text) == expected)
    }

    @Test func everyDayOfACenturyFollowsTheOneBefore() {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        // 1968 has 366 days.
        var expected: Int64 = -86_400 * (366 + 365)
        for year in 1968..<2110 {
            for month in months {
                for day in 1...31 {
                    guard let seconds = HTTPDate.seconds("Sun, \(day) \(month) \(year) 00:00:00 GMT") else { continue }
                    #expect(seconds == expected)
                    expected += 86_400
                }
            }
        }
        #expect(expected == HTTPDate.seconds("Wed, 01 Jan 2110 00:00:00 GMT"))
    }

    /// A year of two digits that seems to be more than 50 years ahead is in the past.
    @Test func aShortYearIsNear() {
        let in2026 = 1_767_225_600.0
        func year(_ short: String) -> Int64? {
            HTTPDate.seconds("Sunday, 01-Jan-\(short) 00:00:00 GMT", now: in2026 + 5)
        }
        #expect(year("76") == 3_345_062_400 && year("77") == 220_924_800 && year("00") == 946_684_800)
        #expect(year("26") == 1_767_225_600)
    }

    @Test(arguments: [
        "", " ", "0", "Sun", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
        "06 Nov 1994 08:49:37 GMT",
        "Sun, 31 Apr 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37:00 GMT", "Sun, 06 Nov 1994 -8:49:37 GMT",
        "Sun, 06 Nov 19940 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:99999999999999999999 GMT",
        "Sunday, -06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
        "１ ２ ３ ４ ５ ６",
    ]) func refusesWhatIsNone(_ text: String) {
        #expect(HTTPDate.seconds(text) == nil)
    }
}
