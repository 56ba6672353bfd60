import Testing

@testable import NTApi

/// Values of the program's own types as JSON, and back.
@Suite struct JSONEncodeTests {
    private enum State: String, Codable { case open, closed }

    private struct Issue: Codable, Equatable {
        var title: String
        var state: State? = .open
        var pageURL: APIURL?
        var dueOn: APIDate?
        var labels: [String] = []
        var weight: Double = 1
        var ratio: Float = 0.1
        var id: Int64 = 9_007_199_254_740_993
        var extra: JSON = ["kept_asIs": [1, 2.5, .null]]
        var counts: [String: UInt8] = [:]
    }

    private func text(_ value: some Encodable, _ options: DecodingOptions = DecodingOptions()) throws -> String {
        try JSON(encoding: value, options: options).text
    }

    private func problem(_ value: some Encodable, _ options: DecodingOptions = DecodingOptions()) -> String {
        do throws(APIError) {
            return try JSON(encoding: value, options: options).text
        } catch {
            return "\(error)"
        }
    }

    @Test func whatIsWrittenIsReadAgain() throws {
        let url = try APIURL("https://a.example/1")
        let issue = Issue(
            title: "\"é\"\n", state: nil, pageURL: url, dueOn: APIDate(iso8601: "2026-12-01T00:00:00.5Z"),
            labels: ["a", ""], counts: ["camelCase": 3])
        let options = DecodingOptions(keys: .snakeCase)
        let json = try JSON(encoding: issue, options: options)
        #expect(
            json.text
                == #"{"title":"\"é\"\n","page_url":"https://a.example/1","due_on":"2026-12-01T00:00:00.5Z","labels":["a",""],"#
                + #""weight":1.0,"ratio":0.1,"id":9007199254740993,"extra":{"kept_asIs":[1,2.5,null]},"#
                + #""counts":{"camelCase":3}}"#)
        #expect(try json.decode(Issue.self, options: options) == issue)
    }

    @Test func scalarsAndListsMayStandAtTheTop() throws {
        #expect(try text(5) == "5" && text("a") == #""a""# && text([State.open]) == #"["open"]"#)
        #expect(try text([Int?.none, 1]) == "[null,1]" && text([String: Int]()) == "{}" && text([Int]()) == "[]")
        #expect(try text([[1], []]) == "[[1],[]]" && text(JSON.null) == "null" && text(Int?.none) == "null")
        #expect(try text(NoContentToWrite()) == "{}")
    }

    private struct NoContentToWrite: Encodable { func encode(to encoder: any Encoder) {} }

    @Test func pathsMakeWhatTheyLeadThrough() throws {
        struct Order: Encodable {
            enum CodingKeys: String, CodingKey {
                case city = "address.city"
                case first = "items[0].name"
                case second = "items[1].name"
                case street = "address.street"
                case odd = #"["a.b"]"#
            }
            var city = "Oslo"
            var first = "tea"
            var second = "milk"
            var street: String?
            var odd = 1
        }
        let options = DecodingOptions(keys: .paths)
        #expect(
            try text(Order(), options)
                == #"{"address":{"city":"Oslo"},"items":[{"name":"tea"},{"name":"milk"}],"a.b":1}"#)

        struct Clash: Encodable {
            enum CodingKeys: String, CodingKey {
                case city = "city"
                case name = "city.name"
            }
            var city = "Oslo"
            var name = "x"
        }
        #expect(problem(Clash(), options).hasSuffix("it needs an object where there is another value"))
        struct Gap: Encodable {
            enum CodingKeys: String, CodingKey { case last = "list[2]" }
            var last = 1
        }
        #expect(problem(Gap(), options).hasSuffix("the elements before it must be written first"))
    }

    @Test(arguments: [
        (DateFormat.iso8601, #""1994-11-06T08:49:37Z""#), (.seconds, "784111777"), (.milliseconds, "784111777000"),
        (.http, #""Sun, 06 Nov 1994 08:49:37 GMT""#),
    ]) func datesAreWrittenInTheFirstFormat(_ format: DateFormat, _ expected: String) throws {
        let date = APIDate(secondsSince1970: 784_111_777)
        let options = DecodingOptions(dates: [format, .iso8601])
        #expect(try text(date, options) == expected)
        #expect(try JSON(parsing: expected).decode(APIDate.self, options: options) == date)
    }

    @Test func datesBefore1970HaveAWeekdayToo() {
        #expect(
            HTTPDate.text(-1) == "Wed, 31 Dec 1969 23:59:59 GMT" && HTTPDate.text(0) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.text(-14_182_940_000) == "Sat, 24 Jul 1520 14:26:40 GMT" && HTTPDate.text(1e15) == nil)
    }

    @Test func customDatesAreWrittenAsTheyAreRead() throws {
        let days = DateFormat.custom("days") {
            $0.int.map { APIDate(secondsSince1970: Double($0) * 86_400) }
        } write: {
            JSON(Int($0.secondsSince1970 / 86_400))
        }
        struct Order: Codable, Equatable {
            let day: APIDate
        }
        let order = Order(day: APIDate(secondsSince1970: 864_000))
        let options = DecodingOptions(dates: [days])
        let json = try JSON(encoding: order, options: options)
        #expect(json.text == #"{"day":10}"#)
        #expect(try json.decode(Order.self, options: options) == order)
        #expect(order.day.formatted(days).argText == "10")
        #expect(order.day.formatted(.seconds).argText == "864000" && order.day.formatted(.http).argText != nil)
        #expect(APIDate(secondsSince1970: .nan).formatted(.seconds).argText == nil)
    }

    @Test func whatJSONHasNoTextForIsNamed() {
        #expect(problem(["a": [1, Double.nan]]) == "invalid request: a[1]: nan is not a JSON number")
        let format = DateFormat.custom("20.11.2013") { _ in nil }
        #expect(
            problem(["at": APIDate.now], DecodingOptions(dates: [format]))
                == "invalid request: at: a date cannot be written as 20.11.2013")
    }

    @Test func integersOfAllSizesAreExact() throws {
        struct All: Codable, Equatable {
            var a = UInt64.max
            var b = Int128.min
            var c = [UInt128.max]
            var d: UInt128? = 5
        }
        let json = try JSON(encoding: All())
        #expect(
            json.text
                == #"{"a":18446744073709551615,"b":-170141183460469231731687303715884105728,"#
                + #""c":[340282366920938463463374607431768211455],"d":5}"#)
        #expect(try json.decode(All.self) == All())
        #expect(try JSON(encoding: Int128.max).text == Int128.max.description)
    }

    private final class Node: Encodable {
        let child: Node?
        init(_ child: Node?) { self.child = child }
    }

    @Test func whatNestsTooDeepIsAnError() {
        var node = Node(nil)
        for _ in 0..<600 { node = Node(node) }
        #expect(problem(node) == "invalid request: it nests deeper than 512 levels")
    }

    @Test func anArgSendsIt() async throws {
        let stub = Stub()
        stub.on("POST", "issues", body: .json(["title": "a"])).answer()
        let client = APIClient(baseURL: "https://a.example")
        client.stub = stub
        client.logFlags = []
        #expect(await client.response("issues", args: [.json(encoding: ["title": "a"])]).error == nil)
        #expect(client.request("issues", args: [.json(encoding: Issue?.none)]).httpRequest?.method == "GET")
        let refused = await client.response("issues", args: [.json(encoding: ["a": Double.infinity])])
        #expect(refused.error?.message == "the json arg: a: inf is not a JSON number")
    }
}
