// What those who know Alamofire or URLSession type first, and what the compiler says here: `swiftc -verify` compares it.
// The lines that work are in Tests/NTApiTests/Client/FirstLinesTests.swift.
import NTApi

struct GetOrder: APIService {
    typealias Response = NoContent
    let command = "order"
}

func keywords(_ client: APIClient) async throws {
    _ = try await client.get("find", timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
    _ = try await client.send("find", timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
    try await client.post("orders", timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
    try await client.put("orders/7", timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
    try await client.patch("orders/7", timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
    try await client.delete("orders/7", timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
    _ = await client.response("find", timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
    client.begin("find", timeout: 5) { print($0.status) }  // expected-warning {{write args: [.timeout(5)]}}
    _ = try await client.get("find", as: [String].self, timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
    _ = try await client.send("find", as: Int.self, timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
    _ = try await client.stream("export", timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
    _ = try await client.call(GetOrder(), timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
    // The plain calls have no warning.
    _ = try await client.get("find", args: [.timeout(5)])
    _ = try await client.get("find")
    _ = try await client.get("find", as: [String].self)
    _ = try await client.call(GetOrder())
}

func blocking(_ client: APIClient) {
    _ = client.perform("find", timeout: 5)  // expected-warning {{write args: [.timeout(5)]}}
}

func othersKeywords(_ client: APIClient) async throws {
    _ = try await client.get("find", parameters: ["q": "London", "n": 5])  // expected-error {{args: [.query("q",}}
    _ = try await client.get("find", headers: ["X-Trace": "7"])  // expected-error {{[.header("X-Trace", "7")]}}
    _ = try await client.get("a", parameters: ["q": 5], headers: ["A": "b"])  // expected-error {{args: [.query("q",}}
    _ = try await client.post("orders", parameters: ["city": "Bern"])  // expected-error {{[.json(["city": "Bern"])]}}
    _ = try await client.put("orders/7", parameters: ["city": "Bern"])  // expected-error {{[.form("city", "Bern")]}}
    _ = try await client.patch("orders/7", headers: ["A": "b"])  // expected-error {{[.header("X-Trace", "7")]}}
    _ = try await client.delete("orders/7", parameters: ["all": true])  // expected-error {{args: [.query("q",}}
    _ = try await client.send("find", headers: ["A": "b"])  // expected-error {{[.header("X-Trace", "7")]}}
}

func waits(_ client: APIClient, _ request: APIRequest) async {
    _ = client.perform("find")  // expected-error {{use await client.response(…)}}
    request.wait()  // expected-error {{use await client.response(…)}}
}
