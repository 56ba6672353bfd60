// Ours, in the style that `style` names.
import BenchSupport
import NTApi

/// Begins the requests that the slow server never answers; returns when it has them all.
func hang(_ options: Options) {
    guard options.hanging > 0, let slow = options.values["slow"] else { return }
    let client = APIClient(baseURL: slow)
    client.defaults["maximumConnectionsPerHost"] = JSON(options.hanging + 1)
    for _ in 0..<options.hanging { client.begin("hang") }
    check(client.perform("arrived/\(options.hanging)"), options)
}

func check(_ response: APIResponse, _ options: Options) {
    if let error = response.error { fail("\(error.code): \(error.message)") }
    if options.isWhole {
        options.check(status: response.status, total: (try? response.decode(Page.self))?.meta.total)
    } else if options.isParsed {
        options.check(status: response.status, total: response.json?[path: "meta.total"]?.int)
    } else {
        options.check(status: response.status, bytes: response.data.count)
    }
}

let options = Options()
let client = APIClient(baseURL: options.base)
if let ca = options.values["ca"] {
    client.defaults["caFile"] = JSON(ca)
    client.defaults["httpVersion"] = JSON(options.values["http"] ?? "1.1")
}
if options.workload == "hold" || options.workload == "cancel" {
    client.defaults["maximumConnectionsPerHost"] = JSON(options.count + 2)
}
let args: [APIArg] = options.isParsed ? [] : [.option(.rawData)]

hang(options)
switch options.style {
case "callback": runCallbacks(client, args, options)
case "perform": runBlocking(client, args, options)
case "await": try await runTasks(client, args, options)
default: fail("style=callback, await or perform")
}
