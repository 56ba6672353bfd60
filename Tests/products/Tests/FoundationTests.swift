import Foundation
import NTApi
import NTApiFoundation
import Testing

/// Foundation's types in the program's own types.
@Suite struct FoundationTests {
    private struct Order: Codable, Equatable {
        var placed: Date
        var link: URL
        var price: Decimal
        var seal: Data
        var id: UUID
        var delivered: Date?
        var steps: [Date] = []
        var prices: [String: Decimal] = [:]
    }

    private static let text = """
        {"placed":"2013-11-20T10:00:00Z","link":"https://h.example/x?a=b","price":19.90,"seal":"AQI=",\
        "id":"8F14E45F-CEEA-467F-A9B1-3D2C1B0A9F88","steps":["2013-11-20T10:00:01.5Z"],\
        "prices":{"net":0.1}}
        """

    private static func order() throws -> Order {
        Order(
            placed: Date(timeIntervalSince1970: 1_384_941_600),
            link: try #require(URL(string: "https://h.example/x?a=b")), price: Decimal(1990) / 100, seal: Data([1, 2]),
            id: try #require(UUID(uuidString: "8F14E45F-CEEA-467F-A9B1-3D2C1B0A9F88")),
            steps: [Date(timeIntervalSince1970: 1_384_941_601.5)],
            prices: ["net": Decimal(1) / 10])
    }

    @Test func theyAreDecodedAndEncoded() throws {
        let order = try JSON(parsing: Self.text).decode(Order.self)
        #expect(order == (try Self.order()))
        let written = try JSON(encoding: order)
        #expect(written.text == Self.text.replacing("19.90", with: "19.9"))
        #expect(try written.decode(Order.self) == order)
    }

    @Test func anAnswerOfAServerIsDecoded() async throws {
        let client = try client(of: "httpbin")
        let answer = try await client.post(
            "anything", args: [.json(encoding: Self.order())], as: Order.self, at: "json")
        #expect(answer == (try Self.order()))
    }

    @Test func datesAreInTheFormatsOfTheService() throws {
        let date = Date(timeIntervalSince1970: 1_384_941_600)
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "dd.MM.yyyy HH:mm"
        let formats: [(DateFormat, String)] = [
            (.seconds, "1384941600"), (.milliseconds, "1384941600000"), (.http, #""Wed, 20 Nov 2013 10:00:00 GMT""#),
            (.deferredToDate, "406634400.0"), (.formatted(formatter), #""20.11.2013 10:00""#),
        ]
        for (format, text) in formats {
            let options = DecodingOptions(dates: [format])
            #expect(try JSON(parsing: text).decode(Date.self, options: options) == date)
            #expect(try JSON(encoding: date, options: options).text == text)
        }
    }

    @Test(arguments: [
        (#"{"placed": "soon"}"#, "placed: date (ISO 8601) expected, string found"),
        (#"{"placed": null}"#, "placed: date (ISO 8601) expected, null found"),
    ])
    func aWrongDateSaysWhere(text: String, message: String) throws {
        struct Holder: Decodable { let placed: Date }
        let error = #expect(throws: APIError.self) { try JSON(parsing: text).decode(Holder.self) }
        #expect(error?.message == message)
    }

    @Test func whatDoesNotFitIsRefused() throws {
        func message<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> String? {
            #expect(throws: APIError.self) { try JSON(parsing: text).decode([Value].self) }?.message
        }
        #expect(try message(Data.self, #"["no base64"]"#) == "[0]: Data expected, string found")
        #expect(try message(Data.self, "[[1, 2]]") == "[0]: String expected, array found")
        #expect(try message(URL.self, #"[""]"#) == "[0]: URL expected, string found")
        #expect(try message(URL.self, "[5]") == "[0]: String expected, number 5 found")
        #expect(try message(Decimal.self, #"["12 francs"]"#) == "[0]: Decimal expected, string found")
        #expect(try message(Decimal.self, "[true]") == "[0]: Decimal expected, boolean found")
        #expect(try message(UUID.self, #"["7"]"#)?.hasPrefix("[0]: ") == true)
    }

    @Test func decimalsKeepTheirDigits() throws {
        #expect(try JSON(parsing: #"["19.90", 1e3, -0.01]"#).decode([Decimal].self) == [19.9, 1000, Decimal(-1) / 100])
        let long = try #require(Decimal(string: "12345678901234567890.123456789"))
        #expect(try JSON(parsing: "[12345678901234567890.123456789]").decode([Decimal].self) == [long])
        #expect(try JSON(encoding: ["a": long]).text == #"{"a":12345678901234567890.123456789}"#)
        let small = try #require(Decimal(string: "1.123456789012345678"))
        #expect(try JSON(parsing: "1.123456789012345678").decode(Decimal.self) == small)
        #expect(throws: APIError.self) { try JSON(encoding: Decimal.nan) }
    }

    @Test func aTypeOfFoundationThatHoldsOneWorks() throws {
        let interval = DateInterval(start: Date(timeIntervalSince1970: 0), duration: 5)
        let json = try JSON(encoding: interval)
        #expect(json["start"]?.string == "1970-01-01T00:00:00Z")
        #expect(try json.decode(DateInterval.self) == interval)
    }

    @Test func aDecoderOfFoundationReadsAResponse() async throws {
        struct Item: Codable, Equatable {
            let itemName: String
            let madeAt: Date
        }
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .secondsSince1970
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        let item = Item(itemName: "lamp", madeAt: Date(timeIntervalSince1970: 1_384_941_600))
        let client = try client(of: "httpbin")
        let response = try await client.post("anything", args: [.json(encoding: item, using: encoder)])
        #expect(response.json?["json"] == ["item_name": "lamp", "made_at": 1_384_941_600])
        #expect(try response.decode(Item.self, at: "json", using: decoder) == item)
        let error = #expect(throws: APIError.self) {
            try response.decode([Item].self, at: "json", using: decoder)
        }
        #expect(error?.code == .unexpectedJSON && error?.httpStatus == 200)
        #expect(error?.message.contains("/anything, json: ") == true, "\(error?.message ?? "")")
        let failed = await client.response("status/404")
        #expect(throws: APIError.self) { try failed.decode(Item.self, using: decoder) }
        #expect(try response.decode(Item?.self, at: "json.nothing", using: decoder) == nil)
        let empty = try await client.get("status/204")
        #expect(try empty.decode(Item?.self, using: decoder) == nil)
        #expect(throws: APIError.self) { try empty.decode(Item.self, using: decoder) }
    }

    @Test func whatAnEncoderOfFoundationCannotWriteFailsTheRequest() async throws {
        let arg = APIArg.json(encoding: ["a": Double.nan], using: JSONEncoder())
        let response = await APIClient(baseURL: "http://127.0.0.1:1").response(args: [arg])
        #expect(response.error?.code == .invalidRequest, "\(response)")
        #expect(response.error?.message.hasPrefix("the json arg: ") == true, "\(response)")
    }

    @Test func valuesAreParameters() async throws {
        let client = try client(of: "httpbin")
        let args: [APIArg] = [
            .url("at", Date(timeIntervalSince1970: 1_384_941_600)), .url("of", URL(string: "https://h.example/x")),
            .url("id", UUID(uuidString: "8F14E45F-CEEA-467F-A9B1-3D2C1B0A9F88")), .url("price", Decimal(199) / 10),
            .url("none", Date?.none), .data(Data([104, 105]), contentType: "text/plain"),
        ]
        let json = try await client.post("anything", args: args).json
        let sent = try #require(json?["args"]).decode([String: String].self)
        #expect(
            sent == [
                "at": "2013-11-20T10:00:00Z", "of": "https://h.example/x",
                "id": "8F14E45F-CEEA-467F-A9B1-3D2C1B0A9F88", "price": "19.9",
            ])
        #expect(json?["data"]?.string == "hi")
    }

    @Test func anErrorHasALocalizedDescription() {
        let error: any Error = APIError(code: .generic, message: "There is no such city.")
        #expect(error.localizedDescription == "There is no such city.")
    }
}
