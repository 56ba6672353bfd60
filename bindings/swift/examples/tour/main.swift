// A walk through the library: a small weather service, one step for each feature.
//
//     swift run tour BASE_URL     all steps, against the demo server (Tests/servers/weather.py)
//     swift run tour --get URL    gets any URL and prints status, headers and the start of the body

import NTApi
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Runs async code from the main thread, which runs its mailbox meanwhile. A program that is entirely async does not
/// need this; this one also shows handlers on the main thread.
///
/// - Returns: whether nothing was thrown.
@discardableResult
func wait(for body: @escaping @Sendable () async throws -> Void) -> Bool {
    let mailbox = Mailbox.main
    let isGood = Mutex(true)
    Task.detached {
        do {
            try await body()
        } catch {
            show(error)
            isGood.withLock { $0 = false }
        }
        mailbox.stop()
    }
    mailbox.run()
    return isGood.withLock { $0 }
}

func show(_ error: any Error) { print("   \((error as? APIError).map(text) ?? "error: \(error)")") }

func walk(_ baseURL: String) -> Bool {
    let weather = Weather(baseURL: baseURL)
    weather.client.logFlags = []  // the steps print errors themselves
    let steps = Steps(weather: weather)
    print("ntapi \(ntapiVersion) from Swift")
    guard wait(for: { try await steps.search() }) else {
        complain("error: this is not the URL of the demo server, Tests/servers/weather.py")
        return false
    }
    do { try steps.feedback() } catch { show(error) }
    steps.uploadPhoto()
    wait { try await steps.download() }
    wait { try await steps.tenAtOnce() }
    steps.cancel()
    wait { try await steps.serviceError() }
    steps.threads()
    let (requests, errors) = weather.completed
    print("\ndone: \(requests) requests, \(errors) errors \(errors == 2 ? "as expected" : "instead of 2")")
    if errors != 2 { complain("error: a step has failed") }
    return errors == 2
}

func complain(_ text: String) { write(STDERR_FILENO, "\(text)\n", text.utf8.count + 1) }

func get(_ url: String) -> Bool {
    let client = APIClient(baseURL: url)
    client.logFlags = []  // an error is printed below
    let response = client.perform(args: [.option(.rawData), .option(.ignoreHTTPErrors)])
    if let error = response.error {
        complain("error: \(error.message)")
        return false
    }
    print("\(response.url)\nstatus \(response.status) after \(milliseconds(response.elapsed))")
    for field in response.headers { print("\(field.name): \(field.value)") }
    print("\n\(response.text.prefix(500))\(response.text.count > 500 ? "…" : "")")
    return true
}

switch Array(CommandLine.arguments.dropFirst()) {
case let words where words.count == 2 && words[0] == "--get": exit(get(words[1]) ? 0 : 1)
case let words where words.count == 1: exit(walk(words[0]) ? 0 : 1)
default:
    complain("usage: tour BASE_URL | --get URL")
    exit(2)
}
