import NTApi
import NTApiTesting
import Testing

@Suite struct CityTests {
    private let client = APIClient(baseURL: "https://api.example.com/v1")

    @Test(.stub { $0.on("GET", "find?q=London").answer(.status(503), .json(["name": "London"], delay: 2)) })
    func answersOfMine() async throws {
        client.stub = try .ofTest
        client.clock = try .ofTest
        let clock = try ManualClock.ofTest
        #expect(await client.response("find", args: [.url("q", "London")]).status == 503)
        async let found = client.send("find", args: [.url("q", "London")])
        try await clock.waitForSleepers()
        clock.advance(by: 2)
        #expect(try await found.json?["name"]?.string == "London")
    }

    @Test(.recording()) func answersOfTheServer() async throws {
        client.recorder = try .ofTest
        #expect(try await client.send("find", args: [.url("q", "London")]).json?["name"]?.string == "London")
    }
}
