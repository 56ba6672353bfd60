import NTApi
import Testing

@testable import weather

/// The client of the OpenWeather example, with stubbed responses.
@Suite struct OpenWeatherTests {
    private let stub = Stub()
    private let weather = OpenWeather(baseURL: "https://api.example.com")

    init() {
        weather.client.stub = stub
        weather.client.logFlags = []
        weather.client.defaults["appid"] = "key"
        weather.client.defaults["unit"] = "metric"
    }

    private func city(_ number: Int) -> JSON {
        [
            "id": JSON(number), "name": "Oslo", "sys": ["country": "NO"], "main": ["temp": 3.5, "humidity": 80],
            "weather": [["description": "light rain"]], "dt": 1_700_000_000,
        ]
    }

    @Test func citiesAreFoundWithTheParametersOfTheSession() async throws {
        stub.on("GET", "data/2.5/find?q=Oslo&type=like&cnt=2&appid=key&units=metric")
            .answer(.json(["cod": "200", "list": [city(1), city(2)]]))
        let found = try await weather.findCities("Oslo", type: .like, count: 2)
        #expect(found.map(\.id) == [1, 2] && found[1].country == "NO" && found[1].sky == "light rain")
        #expect(found[1].temperature == 3.5 && found[1].observed == APIDate(secondsSince1970: 1_700_000_000))
        #expect(stub.requests[0].headers["accept-language"] == "en")
    }

    @Test func codesGoInOneParameter() async throws {
        stub.on("GET", "data/2.5/group?id=7%2C8").answer(.json(["list": [city(7), city(8)]]))
        #expect(try await weather.currentWeather([7, 8]).map(\.id) == [7, 8])
    }

    @Test func aCodeThatTheServiceLeavesOutIsAnError() async throws {
        stub.on("GET", "data/2.5/group?id=7%2C8%2C9").answer(.json(["list": [city(8)]]))
        let error = await #expect(throws: APIError.self) { try await weather.currentWeather([7, 8, 9]) }
        #expect(error?.code == OpenWeather.notFound && error?.message == "no city has the code 7, 9")
    }

    @Test(arguments: [OpenWeather.notFound, OpenWeather.internalError])
    func errorsOfTheServiceHaveItsCodes(code: ErrorCode) async throws {
        stub.on("GET", "data/2.5/find").answer(.json(["cod": JSON(code.name), "message": "sorry"]))
        let error = await #expect(throws: APIError.self) { try await weather.findCities("Nowhere") }
        #expect(error?.code == code && error?.domain == .service && error?.message == "sorry")
    }
}
