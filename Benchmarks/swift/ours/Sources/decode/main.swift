// Decodes the body of one response again and again into structs, in the style that `style` names: `swift` is ours, from
// the text on, `foundation` is JSONDecoder.
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
    default: fail("style=swift or foundation")
    }
}

func run(_ count: Int) throws {
    for _ in 0..<count {
        let page = try decode()
        guard page.list.last?.roles == ["reader", "editor"] else { fail("the last person is not whole") }
        options.check(status: response.status, total: page.meta.total)
    }
}

try run(options.warmup)
let meters = Meters()
try run(options.count)
meters.report(options.count)
