// Measures JSON: the tape, and `Decodable` from it beside Foundation's JSONDecoder, on the same text in one run.
//
//     json-bench [seconds for each]
//
// Prints the microseconds of CPU each takes, the least of several rounds, and how they compare.
import Foundation
import NTApi

struct Coordinate: Decodable, Equatable { var lat, lon: Double }

struct Owner: Decodable, Equatable {
    var id: Int
    var login: String
    var admin: Bool
}

struct Item: Decodable, Equatable {
    var id: Int
    var name: String
    var active: Bool
    var score: Double
    var coord: Coordinate
    var description: String
    var tags: [String]
    var count: Int
    var note: String?
    var owner: Owner
}

struct Page: Decodable, Equatable {
    var page, total: Int
    var list: [Item]
}

/// A page of about so many bytes, with its members in the order of their declaration, as most services write them.
func page(bytes: Int) -> String {
    var random = SystemRandomNumberGenerator()
    let cities = ["London", "Zürich", "New York", "São Paulo", "Tokyo", "Rome"]
    func double(_ range: Range<Double>, _ scale: Double) -> JSON {
        JSON((Double.random(in: range, using: &random) * scale).rounded() / scale)
    }
    var list: [JSON] = []
    var size = 0
    while size < bytes {
        let index = list.count
        list.append([
            "id": JSON(100_000 + index), "name": "\(cities[index % cities.count]) \(index)",
            "active": JSON(index % 3 == 0),
            "score": double(0..<1000, 1e3), "coord": ["lat": double(-90..<90, 1e6), "lon": double(-180..<180, 1e6)],
            "description": "The quick brown fox jumps over the lazy dog, number \(index)",
            "tags": ["red", "green", "blue"], "count": JSON(Int.random(in: 0..<100_000, using: &random)), "note": .null,
            "owner": [
                "id": JSON(Int.random(in: 0..<1_000_000_000, using: &random)), "login": "user\(index)", "admin": false,
            ],
        ])
        size += list[index].text.utf8.count + 1
    }
    return (["page": 1, "total": 12345, "list": JSON(list)] as JSON).text
}

func cpuMicroseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

/// The microseconds of one call: the least mean of five rounds.
func measure(_ name: String, seconds: Double, _ body: () throws -> Void) rethrows -> Double {
    var least = Double.infinity
    for _ in 0..<5 {
        let start = cpuMicroseconds()
        var calls = 0.0
        while cpuMicroseconds() - start < seconds * 1e6 / 5 {
            try body()
            calls += 1
        }
        least = min(least, (cpuMicroseconds() - start) / calls)
    }
    print(String(format: "%-52@ %10.2f µs", name as NSString, least))
    return least
}

let seconds = CommandLine.arguments.dropFirst().first.flatMap(Double.init) ?? 1
for size in [1_000, 100_000] {
    let bytes = Array(page(bytes: size).utf8)
    let data = Data(bytes)
    print("\(bytes.count) bytes")
    let decoder = JSONDecoder()
    let json = try JSON(parsing: bytes)
    let expected = try decoder.decode(Page.self, from: data)
    guard try json.decode(Page.self) == expected else { fatalError("the decoders disagree") }
    let parse = try measure("JSON(parsing:)", seconds: seconds) { _ = try JSON(parsing: bytes) }
    _ = try measure("JSON(parsing:), one field by path", seconds: seconds) {
        _ = try JSON(parsing: bytes)[path: "list[2].owner.login"]?.string
    }
    let ours = try measure("JSON(parsing:).decode", seconds: seconds) { _ = try JSON(parsing: bytes).decode(Page.self) }
    let foundation = try measure("Foundation JSONDecoder", seconds: seconds) {
        _ = try decoder.decode(Page.self, from: data)
    }
    _ = try measure("Foundation JSONSerialization", seconds: seconds) {
        _ = try JSONSerialization.jsonObject(with: data)
    }
    print(String(format: "JSONDecoder / decode: %.2f; decode without parsing %.2f µs", foundation / ours, ours - parse))
}
