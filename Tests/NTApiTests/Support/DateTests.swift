import Testing

@testable import NTApi

/// Dates of ISO 8601, and the calendar below them.
@Suite struct DateTests {
    @Test(
        arguments: [
            ("2013-11-20T10:00:00Z", 1_384_941_600), ("2013-11-20T10:00:00z", 1_384_941_600),
            ("2013-11-20t10:00:00Z", 1_384_941_600), ("2013-11-20 10:00:00", 1_384_941_600),
            ("2013-11-20T10:00Z", 1_384_941_600), ("2013-11-20T10:00:00", 1_384_941_600),
            ("2013-11-20T11:00:00+01:00", 1_384_941_600), ("2013-11-20T11:00:00+0100", 1_384_941_600),
            ("2013-11-20T11:00:00+01", 1_384_941_600), ("2013-11-20T04:30:00-05:30", 1_384_941_600),
            ("20131120T100000Z", 1_384_941_600), ("2013-11-20T10:00:00.5Z", 1_384_941_600.5),
            ("2013-11-20T10:00:00,25Z", 1_384_941_600.25),
            ("2013-11-20T10:00:00.123456789012345678Z", 1_384_941_600.123456789),
            ("2013-11-20", 1_384_905_600), ("1970-01-01", 0), ("1969-12-31T23:59:59Z", -1),
            ("0001-01-01", -62_135_596_800),
            ("0000-01-01", -62_167_219_200), ("9999-12-31T23:59:59Z", 253_402_300_799), ("2000-02-29", 951_782_400),
            ("2016-12-31T23:59:60Z", 1_483_228_800),
        ] as [(String, Double)]) func readsISO8601(_ text: String, _ expected: Double)
    {
        #expect(APIDate(iso8601: text)?.secondsSince1970 == expected)
    }

    @Test(arguments: [
        "", "2013", "2013-11", "2013-13-01", "2013-00-01", "2013-02-29", "1900-02-29", "2013-11-20T", "2013-11-20T10",
        "2013-11-20T24:00:00Z", "2013-11-20T10:60:00Z", "2013-11-20T10:00:61Z", "2013-11-20T10:00:00.Z",
        "2013-11-20T10:00:00+", "2013-11-20T10:00:00+1", "2013-11-20T10:00:00+24:00", "2013-11-20T10:00:00+01:60",
        "2013-11-20T10:00:00Zx", " 2013-11-20", "2013-11-20 ", "2013/11/20", "-2013-11-20", "20-11-2013", "2013-11-2",
        "now",
    ]) func refusesTheRest(_ text: String) {
        #expect(APIDate(iso8601: text) == nil)
    }

    @Test func everyDayIsReadAsItIsWritten() throws {
        // A prime number of seconds, so that all times of the day come up.
        for seconds in stride(from: -62_167_219_200 as Int64, to: 253_402_300_800, by: 8_640_013) {
            let date = APIDate(secondsSince1970: Double(seconds))
            #expect(APIDate(iso8601: date.description) == date)
            #expect(CivilTime(secondsSince1970: seconds)?.secondsSince1970 == seconds)
        }
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (-0.5, "1969-12-31T23:59:59.5Z"),
            (1_384_941_600.25, "2013-11-20T10:00:00.25Z"),
            (0.9999999, "1970-01-01T00:00:01Z"), (-62_167_219_200, "0000-01-01T00:00:00Z"),
            (253_402_300_800, "253402300800.0 s since 1970"), (.infinity, "inf s since 1970"),
            (.nan, "nan s since 1970"), (-1e300, "-1e+300 s since 1970"),
        ] as [(Double, String)]) func printsItself(_ seconds: Double, _ expected: String)
    {
        #expect(APIDate(secondsSince1970: seconds).description == expected)
    }

    @Test func isAnArgAndComparable() {
        #expect(APIArg.url("since", APIDate(secondsSince1970: 0)).description.containsSubstring("1970-01-01T00:00:00Z"))
        #expect(APIDate(http: "Sun, 06 Nov 1994 08:49:37 GMT")! < APIDate.now)
        #expect(APIDate(http: "never") == nil)
    }
}
