import Testing

@testable import NTApi

/// If a value does not fit, the message names the path, the expected type, and what was found.
@Suite struct JSONDecodeErrorTests {
    private struct Forecast: Decodable {
        struct Entry: Decodable {
            struct Main: Decodable {
                let temp: Double
                let humidity: UInt8?
            }

            let name: String
            let main: Main?
            let tags: [String]?
            let rain: [String: Double]?
            let icon: Icon?
        }

        enum Icon: String, Decodable { case sun, rain }

        let list: [Entry]
    }

    private func message<Value: Decodable>(_ text: String, _ type: Value.Type) throws -> String {
        let json = try JSON(parsing: text)
        let error = #expect(throws: APIError.self) { try json.decode(type) }
        #expect(error?.domain == .json && error?.code == .unexpectedJSON && error?.isRetryable == false)
        return error?.message ?? ""
    }

    static let faults: [(text: String, message: String)] = [
        (#"[]"#, "object expected, array found"),
        (#"{}"#, "list: Array<Entry> expected, nothing found"),
        (#"{"list":{}}"#, "list: array expected, object found"),
        (#"{"list":null}"#, "list: array expected, null found"),
        (#"{"list":[5]}"#, "list[0]: object expected, number 5 found"),
        (#"{"list":[{"name":"x"},{}]}"#, "list[1].name: String expected, nothing found"),
        (#"{"list":[{"name":7}]}"#, "list[0].name: String expected, number 7 found"),
        (#"{"list":[{"name":null}]}"#, "list[0].name: String expected, null found"),
        (
            #"{"x":[1],"list":[{"name":"x","main":{"temp":"hot"}}]}"#,
            "list[0].main.temp: Double expected, string found"
        ),
        (
            #"{"list":[{"name":"x","main":{"temp":1,"humidity":300}}]}"#,
            "list[0].main.humidity: UInt8 expected, number 300 found"
        ),
        (#"{"list":[{"name":"x","tags":["a",true]}]}"#, "list[0].tags[1]: String expected, boolean found"),
        (
            #"{"list":[{"name":"x","rain":{"1.h":1,"3\"h":[]}}]}"#,
            #"list[0].rain["3\"h"]: Double expected, array found"#
        ),
    ]

    @Test(arguments: faults)
    func namesPathExpectedAndFound(text: String, message: String) throws {
        #expect(try self.message(text, Forecast.self) == message)
    }

    @Test func pathsBeginWhereDecodingDoes() throws {
        let part = try #require(try JSON(parsing: #"{"a":[{"b":[1,"x"]}]}"#)[path: "a[0]"])
        let error = #expect(throws: APIError.self) { try part.decode([String: [Int]].self) }
        #expect(error?.message == "b[1]: Int expected, string found")
    }

    @Test func whatTheStandardLibraryThrowsIsKept() throws {
        let message = try message(#"{"list":[{"name":"x","icon":"snow"}]}"#, Forecast.self)
        #expect(message.hasASCIIPrefix("list[0].icon: "))
        #expect(message.containsSubstring("snow"))
    }

    @Test func keysThatAreNumbersAreStillKeys() throws {
        struct Numbered: Decodable {
            enum CodingKeys: Int, CodingKey { case first = 1 }
            let first: Bool
        }
        #expect(try message(#"[{"2":true}]"#, [Numbered].self) == "[0].first: Bool expected, nothing found")
        #expect(try message(#"{"1900":"x"}"#, [Int: Double].self) == "1900: Double expected, string found")
    }

    private struct Temperature: Decodable {
        static let tooCold = ErrorCode("too cold")
        let kelvin: Double

        init(from decoder: any Decoder) throws {
            kelvin = try decoder.singleValueContainer().decode(Double.self)
            if kelvin < 0 { throw APIError(code: Self.tooCold, message: "\(kelvin) K") }
            guard kelvin < 1e9 else {
                throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "too hot"))
            }
        }
    }

    @Test func typesSayWhatTheyLike() throws {
        #expect(try JSON(parsing: "[1]").decode([Temperature].self).first?.kelvin == 1)
        let cold = try JSON(parsing: "[-1]")
        let error = #expect(throws: APIError.self) { try cold.decode([Temperature].self) }
        #expect(error?.domain == .service && error?.code == Temperature.tooCold && error?.message == "-1.0 K")
        #expect(try message(#"{"a":[1,2e9]}"#, [String: [Temperature]].self) == "a[1]: too hot")
    }

    @Test func valuesOfTheProgramThatAreNoTextAreErrors() throws {
        let error = #expect(throws: APIError.self) { try (["a\u{0}": 1] as JSON).decode([String: Int].self) }
        #expect(error?.code == .unexpectedJSON)
    }
}
