import Testing

@testable import NTApi

/// How services write keys, dates, numbers and URLs.
@Suite struct DecodingOptionsTests {
    private func decode<Value: Decodable>(
        _ text: String, _ type: Value.Type = Value.self, _ options: DecodingOptions = DecodingOptions()
    ) throws -> Value {
        try JSON(parsing: text).decode(type, options: options)
    }

    private func message<Value: Decodable>(
        _ text: String, _ type: Value.Type, _ options: DecodingOptions = DecodingOptions()
    ) -> String? {
        thrown { _ = try JSON(parsing: text).decode(type, options: options) }?.message
    }

    // MARK: Keys

    private struct User: Decodable, Equatable {
        struct Inner: Decodable, Equatable { let plainOne: Int }
        let displayName: String
        let avatarURL: String
        let badge2Count: Int?
        let counts: [String: Int]?
        let inner: [Inner]?
    }

    @Test func snakeCase() throws {
        let text =
            #"{"display_name":"A","avatar_url":"u","badge2_count":2,"counts":{"a_b":1,"aB":2},"inner":[{"plain_one":3}]}"#
        let user = try decode(text, User.self, DecodingOptions(keys: .snakeCase))
        #expect(
            user
                == User(
                    displayName: "A", avatarURL: "u", badge2Count: 2, counts: ["a_b": 1, "aB": 2],
                    inner: [.init(plainOne: 3)]))
        #expect(
            message(#"{"display_name":"A"}"#, User.self, DecodingOptions(keys: .snakeCase))
                == "avatar_url: String expected, nothing found")
        #expect(
            message(#"{"display_name":1}"#, User.self, DecodingOptions(keys: .snakeCase))
                == "display_name: String expected, number 1 found")
    }

    @Test(arguments: [
        ("a", "a"), ("aB", "a_b"), ("someURLPath", "some_url_path"), ("URL", "url"), ("URLPath", "url_path"),
        ("a_b", "a_b"), ("a_B", "a_b"), ("x1Y2", "x1_y2"), ("éA", "é_a"), ("", ""),
    ]) func spelling(key: String, spelled: String) {
        let result = key.withBytes { bytes in
            JSONKeySpelling.withSnakeCase(UnsafeRawBufferPointer(bytes)) { String(decoding: $0, as: UTF8.self) }
        }
        #expect(result == spelled)
    }

    private struct Address: Decodable, Equatable {
        enum CodingKeys: String, CodingKey {
            case line1, cityID
            case id = "ID"
            case createdAt
            case updatedAt = "updated_at"
        }
        let line1: String?
        let cityID: Int?
        let id: Int?
        let createdAt: String?
        let updatedAt: String?
    }

    /// As with Foundation's `convertFromSnakeCase`, the JSON's key is either converted or already has the property's
    /// name.
    @Test(arguments: [
        #"{"line_1":"a","city_i_d":5,"ID":7,"created_at":"b","updated_at":"c"}"#,
        #"{"line1":"a","cityID":5,"id":7,"createdAt":"b","updatedAt":"x","updated_at":"c"}"#,
    ]) func keysThatAreSpelledInOtherWays(text: String) throws {
        let found = try decode(text, Address.self, DecodingOptions(keys: .snakeCase))
        #expect(found == Address(line1: "a", cityID: 5, id: 7, createdAt: "b", updatedAt: "c"))
    }

    @Test func keysOfADictionaryThatAreChoices() throws {
        enum Currency: String, Codable, CodingKeyRepresentable {
            case dollar = "USD"
            case franc = "swiss_franc"
        }
        let prices = try decode(
            #"{"USD":1,"swiss_franc":2}"#, [Currency: Double].self, DecodingOptions(keys: .snakeCase))
        #expect(prices == [.dollar: 1, .franc: 2])
    }

    @Test func choicesAreSpelledToo() throws {
        enum Shape: Decodable, Equatable { case bigCircle(innerRadius: Int) }
        #expect(
            try decode(#"{"big_circle":{"inner_radius":3}}"#, Shape.self, DecodingOptions(keys: .snakeCase))
                == .bigCircle(innerRadius: 3))
    }

    private struct Row: Decodable, Equatable {
        enum CodingKeys: String, CodingKey {
            case temperature = "main.temp"
            case icon = "weather[0].icon"
            case dotted = #"["a.b"]"#
            case counts
        }
        let temperature: Double
        let icon: String?
        let dotted: Int?
        let counts: [String: Int]?
    }

    @Test func paths() throws {
        let options = DecodingOptions(keys: .paths)
        let text =
            #"[{"main":{"temp":5},"weather":[{"icon":"x"}],"a.b":1,"counts":{"c.d":2}},{"main":{"temp":6},"weather":[]}]"#
        #expect(
            try decode(text, [Row].self, options) == [
                Row(temperature: 5, icon: "x", dotted: 1, counts: ["c.d": 2]),
                Row(temperature: 6, icon: nil, dotted: nil, counts: nil),
            ])
        #expect(message(#"[{"main":null}]"#, [Row].self, options) == "[0].main.temp: Double expected, nothing found")
        #expect(
            message(#"[{"main":{"temp":"x"}}]"#, [Row].self, options)
                == "[0].main.temp: Double expected, string found")
    }

    // MARK: Numbers

    @Test func numbersInStringsWhereTheServiceSaysSo() throws {
        struct All: Decodable, Equatable {
            let int: Int
            let small: UInt8
            let double: Double
            let float: Float
            let big: UInt64
        }
        let text = #"{"int":"5","small":"5.0","double":"-1.5e3","float":"2.5","big":"18446744073709551615"}"#
        let options = DecodingOptions(numbersInStrings: true)
        #expect(
            try decode(text, All.self, options) == All(int: 5, small: 5, double: -1500, float: 2.5, big: .max))
        #expect(message(text, All.self) == "int: Int expected, string found")
        for wrong in [#""""#, #""x""#, #""0x10""#, #""inf""#, #""nan""#, #"" 5""#, #""1e400""#, "true"] {
            #expect(message("[\(wrong)]", [Double].self, options) != nil, "\(wrong)")
            #expect(message("[\(wrong)]", [Int].self, options) != nil, "\(wrong)")
        }
        #expect(message(#"["5.5"]"#, [Int].self, options) == "[0]: Int expected, string found")
    }

    // MARK: Dates

    private struct Event: Decodable { let at: APIDate? }

    // MARK: Booleans

    @Test(
        arguments: [
            ("true", true), ("1", true), ("1.0", true), (#""true""#, true), (#""1""#, true), ("false", false),
            ("0", false),
            ("-0.0", false), (#""false""#, false), (#""0""#, false), ("2", nil), (#""yes""#, nil), (#""TRUE""#, nil),
            ("null", nil), ("[1]", nil), ("0.5", nil),
        ] as [(String, Bool?)]) func looseBooleansAreTakenWhenAskedFor(_ text: String, _ expected: Bool?) throws
    {
        let json = try JSON(parsing: Array(#"{"a":\#(text)}"#.utf8))
        let loose = DecodingOptions(looseBooleans: true)
        #expect((try? json.decode([String: Bool].self, options: loose))?["a"] == expected)
        let isBoolean = text == "true" || text == "false"
        #expect((try? json.decode([String: Bool].self))?["a"] == (isBoolean ? expected : nil))
        // Neither a boolean nor a string is a number.
        #expect(
            (try? json.decode([String: Int].self, options: loose))?["a"]
                == (json["a"]?.double.flatMap(Int.init(exactly:))))
    }

    private func date(_ value: String, _ formats: DateFormat...) throws -> Double? {
        try decode("{\"at\":\(value)}", Event.self, DecodingOptions(dates: formats)).at?.secondsSince1970
    }

    @Test func datesInTheFormatsOfTheService() throws {
        #expect(try date(#""2013-11-20T10:00:00Z""#, .iso8601) == 1_384_941_600)
        #expect(try date("1384941600.5", .seconds) == 1_384_941_600.5)
        #expect(try date("1384941600500", .milliseconds) == 1_384_941_600.5)
        #expect(try date(#""Wed, 20 Nov 2013 10:00:00 GMT""#, .http) == 1_384_941_600)
        #expect(try date("null", .seconds) == nil)
        let days = DateFormat.custom("days") { $0.double.map { APIDate(secondsSince1970: $0 * 86_400) } }
        #expect(try date("2", days) == 172_800)
        // The first format that fits is used.
        #expect(try date("5", .iso8601, .seconds, .milliseconds) == 5)
        #expect(try date(#""1970-01-01""#, .seconds, .iso8601) == 0)
        #expect(
            message(#"{"at":[]}"#, Event.self, DecodingOptions(dates: [.iso8601, days]))
                == "at: date (ISO 8601 or days) expected, array found")
        #expect(message(#"{"at":"5"}"#, Event.self, DecodingOptions(dates: [.seconds])) != nil)
        let options = DecodingOptions(dates: [.seconds], numbersInStrings: true)
        #expect(try decode(#"["5"]"#, [APIDate].self, options) == [APIDate(secondsSince1970: 5)])
        #expect(message("[[]]", [APIDate].self) == "[0]: date (ISO 8601) expected, array found")
    }

    // MARK: URLs and choices

    @Test func urlsAreChecked() throws {
        #expect(try decode(#"["https://a.example/x?y=1"]"#, [APIURL].self).map(\.text) == ["https://a.example/x?y=1"])
        for wrong in ["/x", "ftp://a", "http:///x", "http://a b", "x", ""] {
            let message = message("{\"u\":\"\(wrong)\"}", [String: APIURL].self)
            #expect(message?.hasASCIIPrefix("u: URL expected") == true, "\(wrong)")
        }
        #expect(message("[1]", [APIURL].self) == "[0]: String expected, number 1 found")
    }
}
