// Decodes the body of one response again and again into structs, in the style that `style` names: `swift` is ours, from
// the text on, `foundation` is JSONDecoder; with `_dates` behind it the types hold dates, as those of a typed service do.
import BenchSupport
import Foundation
import NTApi

let options = Options()
let response = APIClient(baseURL: options.base).perform(options.path, args: [.option(.rawData)])
options.check(status: response.status, bytes: response.data.count)
let bytes = Array(response.data)
let data = Data(bytes)

func decode() throws -> Page {
    switch options.style {
    case "swift": try JSON(parsing: bytes).decode(Page.self)
    case "foundation": try JSONDecoder().decode(Page.self, from: data)
    default: fail("style=swift, foundation, swift_dates or foundation_dates")
    }
}

func decodeDates() throws -> (last: Double, total: Int) {
    switch options.style {
    case "swift_dates":
        let page = try JSON(parsing: bytes).decode(DatedPage<APIDate>.self)
        return (page.list.last?.created.secondsSince1970 ?? 0, page.meta.total)
    default:
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let page = try decoder.decode(DatedPage<Date>.self, from: data)
        return (page.list.last?.created.timeIntervalSince1970 ?? 0, page.meta.total)
    }
}

func checkPage() throws {
    let page = try decode()
    guard page.list.last?.roles == ["reader", "editor"] else { fail("the last person is not whole") }
    options.check(status: response.status, total: page.meta.total)
}

func checkDates() throws {
    let (last, total) = try decodeDates()
    guard last == 1_709_296_496 else { fail("the last date is \(last)") }
    options.check(status: response.status, total: total)
}

func run(_ count: Int) throws {
    let check = options.style.hasSuffix("_dates") ? checkDates : checkPage
    for _ in 0..<count { try check() }
}

try run(options.warmup)
let meters = Meters()
try run(options.count)
meters.report(options.count)
