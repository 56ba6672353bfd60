// The weather of cities: finds them, lists them, follows them.
//
//     swift run weather URL find NAME [TYPE [COUNT]]       cities by their name; TYPE is accurate or like
//     swift run weather URL list CODE ...                  their weather now
//     swift run weather URL follow SECONDS TIMES CODE ...  repeats, and prints what is new
//
// URL is https://api.openweathermap.org, with the API key in OPENWEATHER_APPID, or what
// `python3 Tests/servers/weather.py` prints.

import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

func show(_ cities: [City]) {
    for city in cities {
        let degrees = "\((city.temperature * 10).rounded() / 10)"
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

/// What is wrong with the command line.
struct Mistake: Error {
    let text: String
    init(_ text: String) { self.text = text }
}

func number(_ word: String, _ name: String, upTo most: Int = 2_147_483_647) throws(Mistake) -> Int {
    if let number = Int(word), 1...most ~= number { return number }
    throw Mistake("\(name) must be a whole number from 1 to \(most): \(word)")
}

/// At most a day.
func duration(_ word: String) throws(Mistake) -> Double {
    if let seconds = Double(word), 0...86_400 ~= seconds { return seconds }
    throw Mistake("SECONDS must be a number from 0 to 86400: \(word)")
}

/// False when the words are not one of the three commands.
func run(_ words: [String]) async throws -> Bool {
    let weather = OpenWeather(baseURL: words.first)
    weather.client.logFlags = []  // errors are printed below
    weather.client.defaults["appid"] = JSON(getenv("OPENWEATHER_APPID").map { String(cString: $0) } ?? "demo")
    weather.client.defaults["unit"] = "metric"
    let rest = Array(words.dropFirst(2))
    switch words.dropFirst().first {
    case "find" where 1...3 ~= rest.count:
        let type = rest.count > 1 ? SearchType(rawValue: rest[1]) : nil
        if rest.count > 1, type == nil { throw Mistake("TYPE must be accurate or like: \(rest[1])") }
        let count = rest.count > 2 ? try number(rest[2], "COUNT", upTo: 50) : nil
        show(try await weather.findCities(rest[0], type: type, count: count))
    case "list" where !rest.isEmpty: show(try await weather.currentWeather(rest.map { try number($0, "CODE") }))
    case "follow" where rest.count > 2:
        let codes = try rest.dropFirst(2).map { try number($0, "CODE") }
        try await follow(weather, codes, seconds: duration(rest[0]), times: number(rest[1], "TIMES"))
    default: return false
    }
    return true
}

func complain(_ text: String) { write(STDERR_FILENO, "\(text)\n", text.utf8.count + 1) }

do {
    if try await run(Array(CommandLine.arguments.dropFirst())) { exit(0) }
    complain("usage: weather URL find NAME [accurate|like [COUNT]] | list CODE ...")
    complain("       | follow SECONDS TIMES CODE ...")
    exit(2)
} catch let mistake as Mistake {
    complain("error: \(mistake.text)")
    exit(2)
} catch let error as APIError where error.code == OpenWeather.internalError {
    complain("error: the service has trouble: try again later")
    exit(1)
} catch let error as APIError {
    complain("error: \(error.message)")
    exit(1)
} catch {
    complain("error: \(error)")
    exit(1)
}
