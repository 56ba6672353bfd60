// What those who know Alamofire or URLSession type first, and what the compiler says here: `swiftc -verify` compares it.
// The lines that work are in Tests/NTApiTests/Client/FirstLinesTests.swift.
import NTApi

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
    // Still the plain call, without a warning.
    _ = try await client.get("find", args: [.timeout(5)])
    _ = try await client.get("find")
    _ = try await client.get("find", as: [String].self)
}

func waits(_ client: APIClient, _ request: APIRequest) async {
    _ = client.perform("find")  // expected-error {{use await client.response(…)}}
    request.wait()  // expected-error {{use await client.response(…)}}
}
