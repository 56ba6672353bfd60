import NTApi

/// A city and its weather.
struct City: Decodable, Sendable {
    enum CodingKeys: String, CodingKey {
        case id, name
        case country = "sys.country"
        case temperature = "main.temp"
        case sky = "weather[0].description"
        case observed = "dt"
    }

    let id: Int
    let name: String
    let country: String
    let temperature: Double
    let sky: String
    let observed: APIDate
}

/// What the services of OpenWeather have in common.
protocol WeatherService: APIService {}

extension WeatherService {
    var responsePath: String { "list" }
    var decoding: DecodingOptions { DecodingOptions(keys: .paths, dates: [.seconds]) }
}

/// How names of cities are compared: exactly, or by a part.
enum SearchType: String { case accurate, like }

/// Finds cities by name.
struct FindCities: WeatherService {
    typealias Response = [City]

    let name: String
    var type: SearchType?
    var count: Int?

    var command: String { "data/2.5/find" }
    var parameters: [APIArg] { [.url("q", name), .url("type", type?.rawValue), .url("cnt", count)] }
}

/// The current weather of cities, by their codes.
struct CurrentWeather: WeatherService {
    typealias Response = [City]

    let codes: [Int]

    var command: String { "data/2.5/group" }
    var parameters: [APIArg] { [.url("id", codes.map(String.init).joined(separator: ","))] }
}

/// OpenWeather. The defaults of its client are `appid`, the key of the API, and `unit`: metric, imperial or standard.
struct OpenWeather: Sendable {
    static let success = ErrorCode("200")
    static let notFound = ErrorCode("404")
    static let internalError = ErrorCode("500")

    let client: APIClient

    init(baseURL: String?) { client = APIClient(baseURL: baseURL, hooks: .init(mapServiceError: Self.error)) }

    func findCities(
        _ name: String, type: SearchType? = nil, count: Int? = nil
    ) async throws(APIError) -> [City] {
        try await standard(FindCities(name: name, type: type, count: count))
    }

    /// The service leaves out cities that it does not know. Here that is an error.
    func currentWeather(_ codes: [Int]) async throws(APIError) -> [City] {
        let cities = try await standard(CurrentWeather(codes: codes))
        let unknown = codes.filter { code in !cities.contains { $0.id == code } }
        guard unknown.isEmpty else {
            let list = unknown.map(String.init).joined(separator: ", ")
            throw APIError(code: Self.notFound, message: "no city has the code \(list)")
        }
        return cities
    }

    /// The direct request: what all calls have in common.
    private func direct<Service: APIService>(
        _ service: Service, _ args: [APIArg]
    ) async throws(APIError) -> Service.Response {
        try await client.call(service, args: [.header("Accept-Language", "en"), .timeout(10)] + args)
    }

    /// The standard request: calls the direct one, with the session's parameters, which are defaults.
    private func standard<Service: APIService>(_ service: Service) async throws(APIError) -> Service.Response {
        try await direct(service, [.urlDefault("appid"), .urlDefault("units", "unit")])
    }

    /// The service answers HTTP 200 with `{"cod":"404","message":"…"}`. This makes it an error with the code "404".
    @Sendable private static func error(in response: APIResponse) -> APIError? {
        guard let cod = response.json?["cod"] else { return nil }
        let code = ErrorCode(cod.string ?? cod.text)
        return code == success ? nil : APIError(code: code, message: response.json?["message"]?.string)
    }
}
