import Testing

@testable import NTApi

/// A client with a stub and a clock that stands still.
struct InterceptedStub {
    let stub = Stub()
    let clock = ManualClock()

    func client(_ interceptors: [Interceptor], _ args: [APIArg] = []) -> TestClient {
        let client = TestClient(at: "https://api.example/v1", args: args)
        client.stub = stub
        client.clock = clock
        client.interceptors = interceptors
        return client
    }

    /// A client with this cache.
    func session(_ cache: HTTPCache, _ interceptors: [Interceptor]) -> APIClient {
        var configuration = SessionConfiguration.ephemeral
        configuration.cache = cache
        let client = APIClient(baseURL: "https://api.example/v1", configuration: configuration)
        client.logFlags = []
        client.stub = stub
        client.interceptors = interceptors
        return client
    }

    var sent: [String] { stub.requests.map { "\($0.method) \($0.url.split(separator: "/").last ?? "")" } }

    func redirect(_ status: Int, to location: String) -> StubAnswer { .status(status, headers: ["Location": location]) }

    func events(_ number: Int) -> StubAnswer {
        .text("id: \(number)\nretry: 0\ndata: \(number)\n\n", headers: ["Content-Type": "text/event-stream"])
    }
}

extension Interceptor {
    /// Passes everything unchanged and records it: "name 1 first" on the way in, "name 1 200" on the way out.
    static func noting(_ scope: Scope, _ name: String, in log: Log<String>) -> Interceptor {
        Interceptor(scope) { call in
            log.append("\(name) \(call.number) \(call.reason)")
            let response = try await call.next()
            log.append("\(name) \(call.number) \(response.error?.code.name ?? "\(response.status)")")
            return response
        }
    }

    /// Adds a word to a header.
    static func adding(_ scope: Scope, _ word: String, to name: String = "X-Way") -> Interceptor {
        Interceptor(scope) { call in
            var request = call.request
            request.headers.set(name, [request.headers[name], word].compactMap { $0 }.joined(separator: " "))
            return try await call.next(request)
        }
    }

    /// Answers without the network.
    static func answering(_ scope: Scope, _ response: HTTPResponse) -> Interceptor {
        Interceptor(scope) { _ in response }
    }
}

extension HTTPResponse {
    static func json(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: HTTPHeaders([("Content-Type", "application/json")]),
            body: ResponseData(text.utf8))
    }

    var text: String { String(decoding: body, as: UTF8.self) }
}

/// Waits until the task is cancelled.
func untilCancelled() async {
    let signal = Signal()
    await withTaskCancellationHandler {
        await signal.wait()
    } onCancel: {
        signal.set()
    }
}

extension APIClient {
    /// Begins a request; the test waits for its response later.
    func beginLogged(_ command: String, _ args: [APIArg] = []) -> (request: APIRequest, responses: Log<APIResponse>) {
        let responses = Log<APIResponse>()
        let request = begin(command, args: args + [.responseThread(.background)]) { responses.append($0) }
        return (request, responses)
    }
}
