// The weather of cities: finds them, lists them, follows them.
//
//     swift run weather URL find NAME                      cities by a part of their name
//     swift run weather URL list CODE ...                  their weather now
//     swift run weather URL follow SECONDS TIMES CODE ...  again and again: what is new
//
// URL is https://api.openweathermap.org, with the key of the API in OPENWEATHER_APPID, or what
// `python3 Tests/servers/weather.py` prints.

import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

func show(_ cities: [City]) {
    for city in cities {
        let tenths = Int((city.temperature * 10).rounded())
        let degrees = "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
        let aligned = String(repeating: " ", count: max(0, 5 - degrees.count)) + degrees
        print("\(city.id)  \(aligned) °C  \(city.name), \(city.country): \(city.sky), \(city.observed)")
    }
    fflush(nil)
}

func follow(_ weather: OpenWeather, _ codes: [Int], seconds: Double, times: Int) async throws {
    var seen: [Int: APIDate] = [:]
    for round in 0..<times {
        if round > 0 { try await Task.sleep(for: .seconds(seconds)) }
        let news = try await weather.currentWeather(codes).filter { seen[$0.id] != $0.observed }
        for city in news { seen[city.id] = city.observed }
        if news.isEmpty { print("nothing new") }
        show(news)
    }
}

func run(_ words: [String]) async throws -> Bool {
    let weather = OpenWeather(baseURL: words.first)
    weather.logFlags = []  // errors are printed below
    switch words.dropFirst().first {
    case "find" where words.count == 3: show(try await weather.findCities(words[2]))
    case "list" where words.count > 2: show(try await weather.currentWeather(words.dropFirst(2).compactMap { Int($0) }))
    case "follow" where words.count > 4:
        guard let seconds = Double(words[2]), let times = Int(words[3]), times > 0 else { return false }
        try await follow(weather, words.dropFirst(4).compactMap { Int($0) }, seconds: seconds, times: times)
    default: return false
    }
    return true
}

OpenWeather.defaults["appid"] = JSON(getenv("OPENWEATHER_APPID").map { String(cString: $0) } ?? "demo")
OpenWeather.defaults["unit"] = "metric"
do {
    if try await !run(Array(CommandLine.arguments.dropFirst())) {
        print("usage: weather URL find NAME | list CODE ... | follow SECONDS TIMES CODE ...")
        exit(2)
    }
} catch let error as APIError where error.code == OpenWeather.notFound {
    print("no such city")
    exit(1)
} catch let error as APIError where error.code == OpenWeather.internalError {
    print("the service has trouble: try again later")
    exit(1)
} catch {
    print("error: \(error)")
    exit(1)
}
