import Foundation
import NTApi
import Testing

/// Foundation's types inside of the program's own types. Those that would come out wrong are refused. The others are
/// the same as in Foundation's JSON. Tests/products tests a program that links NTApiFoundation; this program does not.
@Suite struct FoundationTypesTests {
    private struct Holder<Value: Codable>: Codable {
        var value: Value
    }

    private struct Maybe<Value: Codable>: Codable {
        var value: Value?
    }

    private static func refuses<Value: Codable & Sendable>(_ value: Value, _ text: String, _ advice: String) throws {
        let json = try JSON(parsing: text)
        let inside = try JSON(parsing: #"{"value": \#(text)}"#)
        let list = try JSON(parsing: #"{"value": [\#(text)]}"#)
        var decoding: [(String, APIError?)] = []
        decoding.append(("", #expect(throws: APIError.self) { try json.decode(Value.self) }))
        decoding.append(("", #expect(throws: APIError.self) { try json.decode(Value?.self) }))
        decoding.append(("value: ", #expect(throws: APIError.self) { try inside.decode(Holder<Value>.self) }))
        decoding.append(("value: ", #expect(throws: APIError.self) { try inside.decode(Maybe<Value>.self) }))
        decoding.append(("value: ", #expect(throws: APIError.self) { try inside.decode([String: Value].self) }))
        decoding.append(("value[0]: ", #expect(throws: APIError.self) { try list.decode(Holder<[Value]>.self) }))
        decoding.append(("value[0]: ", #expect(throws: APIError.self) { try list.decode(Holder<[Value?]>.self) }))
        var encoding: [(String, APIError?)] = []
        encoding.append(("", #expect(throws: APIError.self) { try JSON(encoding: value) }))
        encoding.append(("value: ", #expect(throws: APIError.self) { try JSON(encoding: Holder(value: value)) }))
        encoding.append(("value: ", #expect(throws: APIError.self) { try JSON(encoding: Maybe(value: value)) }))
        encoding.append(("value[0]: ", #expect(throws: APIError.self) { try JSON(encoding: Holder(value: [value])) }))
        encoding.append(("a: ", #expect(throws: APIError.self) { try JSON(encoding: ["a": value]) }))
        for (errors, code) in [(decoding, ErrorCode.unexpectedJSON), (encoding, .invalidRequest)] {
            for (path, error) in errors {
                #expect(error?.code == code)
                #expect(error?.message.hasPrefix("\(path)cannot be ") == true, "\(error?.message ?? "")")
                #expect(error?.message.hasSuffix(advice) == true, "\(error?.message ?? "")")
            }
        }
    }

    @Test func dates() throws {
        let advice =
            "Foundation's Date: import NTApiFoundation, or use an APIDate, and Date(timeIntervalSince1970: date.secondsSince1970)"
        for text in ["1384941600", #""2013-11-20T10:00:00Z""#, "0.5"] {
            try Self.refuses(Date(timeIntervalSince1970: 1_384_941_600), text, advice)
        }
    }

    @Test func urls() throws {
        let url = try #require(URL(string: "http://h/x"))
        let advice = "Foundation's URL: import NTApiFoundation, or use an APIURL or a String, and URL(string: url.text)"
        for text in [#""http://h/x""#, #"{"relative": "http://h/x"}"#] { try Self.refuses(url, text, advice) }
    }

    @Test func decimals() throws {
        let advice = "Foundation's Decimal: import NTApiFoundation, or use a JSON, and Decimal(string: number.text)"
        for text in ["19.99", #""19.99""#, "5"] { try Self.refuses(Decimal(1999) / 100, text, advice) }
    }

    @Test func data() throws {
        let advice = "Foundation's Data: import NTApiFoundation, or use a String, and Data(base64Encoded: text)"
        for text in [#""AQI=""#, "[1, 2]"] { try Self.refuses(Data([1, 2]), text, advice) }
    }

    @Test func whatHoldsOneIsRefused() throws {
        let interval = DateInterval(start: Date(timeIntervalSince1970: 0), duration: 5)
        let error = #expect(throws: APIError.self) { try JSON(encoding: ["a": interval]) }
        #expect(error?.message.hasPrefix("a.start: cannot be encoded as Foundation's Date") == true)
    }

    /// The program's own types may have the names of Foundation's types.
    @Test func namesakesAreFine() throws {
        struct Date: Codable, Equatable { var year: Int }
        let written = try JSON(encoding: Holder(value: Date(year: 2013)))
        #expect(written.text == #"{"value":{"year":2013}}"#)
        #expect(try written.decode(Holder<Date>.self).value == Date(year: 2013))
    }

    @Test func theAdviceWorks() throws {
        struct Event: Decodable {
            let at: APIDate
            let link: APIURL
            let price: JSON
            let bytes: String
        }
        let text = #"{"at": "2013-11-20T10:00:00Z", "link": "http://h/x", "price": 19.99, "bytes": "AQI="}"#
        let event = try JSON(parsing: text).decode(Event.self)
        #expect(Date(timeIntervalSince1970: event.at.secondsSince1970) == Date(timeIntervalSince1970: 1_384_941_600))
        #expect(URL(string: event.link.text)?.host == "h")
        #expect(Decimal(string: event.price.text) == Decimal(1999) / 100)
        #expect(Data(base64Encoded: event.bytes) == Data([1, 2]))
    }

    /// These types are the same in each decoder and encoder.
    @Test func othersAreAsInFoundationsJSON() throws {
        func check<Value: Codable & Equatable>(_ value: Value) throws {
            let foundation = try JSONEncoder().encode(Holder(value: value))
            let ours = try JSON(encoding: Holder(value: value))
            #expect(try JSON(parsing: Array(foundation)) == ours, "\(Value.self)")
            #expect(try ours.decode(Holder<Value>.self).value == value, "\(Value.self)")
            #expect(try JSONDecoder().decode(Holder<Value>.self, from: Data(ours.text.utf8)).value == value)
        }
        try check(UUID())
        try check(CGFloat(1.5))
        try check(CGPoint(x: 1, y: 2.5))
        try check(NSRange(location: 1, length: 2))
        try check(IndexSet([1, 2, 5]))
        try check(IndexPath(indexes: [1, 2]))
        try check(DateComponents(year: 2013, month: 11))
        try check(#require(TimeZone(identifier: "Europe/Zurich")))
        try check(Locale(identifier: "de_CH"))
        try check(#require(URLComponents(string: "http://h/x?a=b")))
        try check(PersonNameComponents(givenName: "Ann"))
        try check(Measurement(value: 5, unit: UnitLength.meters))
    }
}
