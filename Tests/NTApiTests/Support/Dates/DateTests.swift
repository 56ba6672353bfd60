import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Dates of ISO 8601, and the calendar that they use.
@Suite struct DateTests {
    /// The dates that Swift, C and Python share.
    @Test func readsWhatTheOtherLanguagesRead() throws {
        let rows = try #require(try JSON(parsing: file("Tests/conformance/dates.json")).array)
        #expect(rows.count > 70)
        for row in rows {
            let text = try #require(row["text"]?.string)
            let date = row["format"]?.string == "http" ? APIDate(http: text) : APIDate(iso8601: text)
            #expect(date?.secondsSince1970 == row["seconds"]?.double, "\(text)")
        }
    }

    private func file(_ path: String) throws -> [UInt8] {
        let file = try #require(fopen("\(TestServers.packageRoot)/\(path)", "r"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = fgetc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        return bytes
    }

    @Test func everyDayIsReadAsItIsWritten() throws {
        // The step is a prime number of seconds, so that all times of the day occur.
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
