import Testing

@testable import NTApi

/// Typed services against the weather server, whose errors come with a status of 200, and the fault server.
@Suite struct ServiceTests {
    private struct City: Decodable, Equatable {
        enum CodingKeys: String, CodingKey {
            case id, name
            case temperature = "main.temp"
            case sky = "weather[0].description"
            case updated = "dt"
            case rain = "rain.3h"
        }

        let id: Int
        let name: String
        let temperature: Double
        let sky: String
        let updated: APIDate
        let rain: Double?
    }

    private struct FindCities: APIService {
        typealias Response = [City]

        let name: String
        var count: Int?

        var command: String { "data/2.5/find" }
        var parameters: [APIArg] { [.url("q", name), .url("cnt", count), .url("units", "metric")] }
        var responsePath: String { "list" }
        var decoding: DecodingOptions { DecodingOptions(keys: .paths, dates: [.seconds]) }

        func mapServiceError(_ response: APIResponse) -> APIError? {
            guard let code = response.json?["cod"]?.string, code != "200" else { return nil }
            return APIError(code: ErrorCode(code), message: response.json?["message"]?.string)
        }
    }

    private static func weather() throws -> TestClient { try .of("weather", args: [.url("appid", "x")]) }

    @Test func aCallReturnsWhatTheServiceDeclares() async throws {
        let cities = try await Self.weather().call(FindCities(name: "London", count: 2))
        #expect(cities.map(\.id) == [2_643_743, 6_058_560] && cities[0].temperature == 8.2)
        #expect(cities[0].updated == APIDate(iso8601: "2023-11-14T22:13:20Z") && cities[0].rain == nil)
    }

    @Test func errorsOfEachDomainComeInOneType() async throws {
        func error(_ client: APIClient, _ service: some APIService, _ args: [APIArg] = []) async -> APIError? {
            do throws(APIError) {
                _ = try await client.call(service, args: args)
                return nil
            } catch {
                return error
            }
        }
        let service = await error(try Self.weather(), FindCities(name: "Nowhereville"))
        #expect(service?.domain == .service && service?.code == ErrorCode("404") && service?.httpStatus == 200)
        #expect(service?.message == "city not found")
        let http = await error(try TestClient.of("weather"), FindCities(name: "London"))
        #expect(http?.domain == .http && http?.httpStatus == 401)
        let network = await error(TestClient(at: "http://127.0.0.1:1"), FindCities(name: "London"))
        #expect(network?.domain == .network)
        let json = await error(try TestClient.of("fault"), Echo<[City]>())
        #expect(json?.domain == .json && json?.code == .unexpectedJSON && json?.httpStatus == 200)
        #expect(json?.message.containsSubstring("array expected, object found") == true)
        let request = await error(try Self.weather(), FindCities(name: "London"), [.header("a b", "c")])
        #expect(request?.domain == .request)
    }

    @Test func aCallbackRunsWhereItIsAskedTo() async throws {
        let client = try Self.weather()
        let calls = Log<(names: [String], isWorker: Bool)>()
        client.beginCall(FindCities(name: "Paris", count: 1), args: [.responseThread(.background)]) { result in
            calls.append((((try? result.get()) ?? []).map(\.name), WorkerPool.isWorkerThread))
        }
        let call = try #require(await calls.first(1).first)
        #expect(call.names == ["Paris"] && call.isWorker)
    }

    @Test func aCallIsPerformedAndWaitedFor() async throws {
        let cities = await onThread { try? Self.weather().performCall(FindCities(name: "Oslo")) }
        #expect(cities?.map(\.name) == ["Oslo"])
    }

    @Test func isCancelledByItsRequestAndByItsTask() async throws {
        struct Slow: APIService {
            typealias Response = NoContent
            var command: String { "slow" }
            var parameters: [APIArg] { [.url("seconds", 30)] }
        }
        let client = try Self.weather()
        let outcomes = Log<ErrorCode?>()
        let request = client.beginCall(Slow(), args: [.responseThread(.background)]) { result in
            if case .failure(let error) = result { outcomes.append(error.code) } else { outcomes.append(nil) }
        }
        request.cancel()
        #expect(await outcomes.first(1) == [.cancelled])
        let task = Task { try await client.call(Slow()) }
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? APIError)?.code == .cancelled }
    }

    // MARK: Hooks

    private struct Echo<Response: Decodable & Sendable>: APIService {
        var method: String?
        var path = ""
        var change: (@Sendable (inout HTTPRequest) -> Void)?
        var command: String { "echo" }
        var responsePath: String { path }
        func configure(_ request: inout HTTPRequest) { change?(&request) }
    }

    @Test func theRequestIsConfigured() async throws {
        let client = try TestClient.of("fault")
        #expect(try await client.call(Echo<String>(method: "DELETE", path: "method")) == "DELETE")
        let configured = Echo<String>(path: #"header["x-mine"]"#) { $0.headers.set("X-Mine", "yes") }
        #expect(try await client.call(configured) == "yes")
        let wrong = Echo<String>(path: "method") { $0.method = "A B" }
        await #expect { try await client.call(wrong) } throws: { ($0 as? APIError)?.code == .invalidRequest }
    }

    /// Every part of a request can be read and changed.
    @Test func theWholeRequestIsConfigured() async throws {
        struct Order: APIService {
            typealias Response = JSON
            let change: @Sendable (inout HTTPRequest) -> Void
            var command = "echo"
            var parameters: [APIArg] {
                [.json(["a": 1]), .timeout(5), .cachePolicy(.reloadIgnoringCache), .option("mine", "yes")]
            }
            func configure(_ request: inout HTTPRequest) { change(&request) }
        }
        let client = try TestClient.of("fault")
        let seen = Log<String>()
        let service = Order { request in
            if case .bytes(let bytes) = request.body { seen.append(String(decoding: bytes, as: UTF8.self)) }
            seen.append("\(request.method) \(request.timeouts[.idle] ?? 0) \(request.cachePolicy) \(request.priority)")
            seen.append("\(request.options["mine"] ?? "") \(request.headers["Content-Type"] ?? "")")
            request.headers["X-Mine"] = "1"
            request.headers["Accept"] = nil
            request.headers["Content-Type"] = "text/plain"
            request.body = .bytes(Array("changed".utf8))
            request.timeouts[.idle] = 7
            request.timeouts[.total] = .infinity
            request.cachePolicy = .noStore
            request.options["mine"] = nil
            request.options[.maximumRedirects] = "3"
            request.priority = 0.75
        }
        let answer = try await client.call(service)
        #expect(seen.all == [#"{"a":1}"#, "POST 5.0 reloadIgnoringCache 0.5", "yes application/json"])
        #expect(answer["body"]?.string == "changed" && answer["header"]?["content-type"]?.string == "text/plain")
        #expect(answer["header"]?["x-mine"]?.string == "1" && answer["header"]?["accept"]?.string == "*/*")
        let request = client.beginCall(service, args: [.responseThread(.background)])
        let settings = try #require(request.httpRequest?.settings)
        #expect(settings.timeouts.idle == 7 && settings.timeouts.total == nil && settings.cachePolicy == .noStore)
        #expect(settings.maximumRedirects == 3 && request.options["mine"] == nil && request.priority == 0.75)
        #expect(await onThread { request.wait(timeout: patience) } == .completed)
    }

    @Test(
        arguments: [
            { $0.timeouts[.idle] = 0 }, { $0.options[.maximumRedirects] = "many" },
            { $0.options[.rawData] = "perhaps" },
            { $0.headers["X"] = "a\r\nb" }, { $0.body = .file(path: "/no/such/file", length: 1) },
            { $0.body = .multipart([.init(name: "a\r\nb", content: .bytes([]))]) },
        ] as [@Sendable (inout HTTPRequest) -> Void]) func whatCannotBeSentIsRefused(
            _ change: @escaping @Sendable (inout HTTPRequest) -> Void
        ) async throws
    {
        let client = try TestClient.of("fault")
        await #expect { try await client.call(Echo<String>(path: "method", change: change)) } throws: {
            ($0 as? APIError)?.code == .invalidRequest
        }
    }

    /// The Cache-Control header follows the policy.
    @Test func aCachePolicySaysTheSameToTheCachesOnTheWay() async throws {
        let client = try TestClient.of("fault")
        let asked = Echo<String?>(path: #"header["cache-control"]"#) { $0.cachePolicy = .reloadRevalidating }
        #expect(try await client.call(asked) == "max-age=0")
        let taken = Echo<String?>(path: #"header["cache-control"]"#) { $0.cachePolicy = .protocol }
        #expect(try await client.call(taken, args: [.cachePolicy(.reloadIgnoringCache)]) == nil)
    }

    /// A value that replaces that of a secret header is secret, too. Otherwise it would be logged and sent elsewhere.
    @Test func whatTakesThePlaceOfASecretHeaderIsOne() throws {
        let service = Echo<String> { $0.headers["x-license"] = "s3cret2" }
        let request = try TestClient.of("fault").beginCall(
            service, args: [.header("X-License", "s3cret1").secret, .responseThread(.background)])
        let field = try #require(request.httpRequest?.headers.first { $0.value == "s3cret2" })
        #expect(field.isSecret)
        request.cancel()
    }

    @Test func nobodyNeedHearWhatACallCameTo() async throws {
        struct Count: APIService {
            typealias Response = NoContent
            let token: String
            var command: String { "count-hit" }
            var parameters: [APIArg] { [.url("token", token)] }
        }
        let client = try TestClient.of("fault")
        let token = "unheard-\(UInt64.random(in: 0...UInt64.max))"
        let request = client.beginCall(Count(token: token))
        #expect(await onThread { request.wait(timeout: patience) } == .completed)
        #expect(try await client.send("count", args: [.url("token", token)]).json?["count"]?.int == 1)
    }

    @Test func everyWayToCallTellsProgress() async throws {
        struct Upload: APIService {
            typealias Response = String
            var command: String { "echo" }
            var parameters: [APIArg] { [.data([UInt8](repeating: 0, count: 100_000))] }
            var responsePath: String { "method" }
        }
        let whole = TransferProgress(bytes: 100_000, total: 100_000)
        let client = try TestClient.of("fault")
        let sent = Log<TransferProgress>()
        let request = client.beginCall(
            Upload(), args: [.handlers(.all, on: .background)], uploadProgress: { sent.append($0) })
        #expect(await onThread { request.wait(timeout: patience) } == .completed && sent.all.last == whole)
        let (performed, received) = (Log<TransferProgress>(), Log<TransferProgress>())
        let method = await onThread {
            try? client.performCall(
                Upload(), uploadProgress: { performed.append($0) }, downloadProgress: { received.append($0) })
        }
        #expect(method == "POST" && performed.all.last == whole)
        #expect(received.all.last.map { $0.bytes == $0.total } == true)
    }

    /// The base parameters of all services of an API are declared once.
    @Test func parametersOfABaseServiceAreInherited() async throws {
        struct Search: SiteService {
            typealias Response = String
            let text: String
            var command: String { "echo" }
            var parameters: [APIArg] { [.url("q", text)] }
            var responsePath: String { "target" }
        }
        #expect(try await TestClient.of("fault").call(Search(text: "a")) == "/echo?site=swift&key=k&q=a")
    }

    @Test func whatIsNotThereIsNil() async throws {
        let client = try TestClient.of("fault")
        #expect(try await client.call(Echo<String?>(path: "no.such[3].thing")) == nil)
        await #expect { try await client.call(Echo<String>(path: "no.such")) } throws: {
            ($0 as? APIError)?.message.containsSubstring("no.such: String expected, nothing found") == true
        }
    }

    @Test func theResponseObjectIsMadeByTheService() async throws {
        struct Size: APIService {
            struct TooSmall: Error {}
            var least = 0
            var command: String { "download" }
            var parameters: [APIArg] { [.url("size", 1000), .option(.rawData)] }
            func makeResponse(_ response: APIResponse) throws -> Int {
                guard response.data.count >= least else { throw TooSmall() }
                return response.data.count
            }
        }
        let client = try TestClient.of("weather")
        #expect(try await client.call(Size()) == 1000)
        await #expect { try await client.call(Size(least: 1001)) } throws: {
            ($0 as? APIError)?.code == .generic && "\($0)".containsSubstring("TooSmall")
        }
    }

    /// The hook for completed requests and the log see a service's errors.
    @Test func anErrorOfTheServiceIsTheResponses() async throws {
        final class Client: TestClient, @unchecked Sendable {
            // Safe to share: the log is.
            let errors = Log<ErrorCode?>()
            override func mapServiceError(_ response: APIResponse) -> APIError? {
                APIError(code: ErrorCode("client's"))
            }
            override func requestCompleted(_ request: APIRequest, _ response: APIResponse) {
                errors.append(response.error?.code)
            }
        }
        struct Own: APIService {
            typealias Response = JSON
            let code: ErrorCode?
            var command: String { "echo" }
            func mapServiceError(_ response: APIResponse) -> APIError? { code.map { APIError(code: $0) } }
        }
        let client = try Client.of("fault")
        for code in [ErrorCode("own"), nil] {
            await #expect { try await client.call(Own(code: code)) } throws: {
                ($0 as? APIError)?.code == code ?? ErrorCode("client's")
            }
        }
        #expect(client.errors.all == [ErrorCode("own"), ErrorCode("client's")])
    }
    @Test func aCallTellsItsProgress() async throws {
        struct Echo: APIService {
            typealias Response = String
            var command: String { "echo" }
            var parameters: [APIArg] { [.data([UInt8](repeating: 0, count: 100_000))] }
            var responsePath: String { "method" }
        }
        let (sent, received) = (Log<TransferProgress>(), Log<TransferProgress>())
        let method = try await TestClient.of("fault").call(
            Echo(), uploadProgress: { sent.append($0) }, downloadProgress: { received.append($0) })
        #expect(method == "POST" && sent.all.last == TransferProgress(bytes: 100_000, total: 100_000))
        #expect(received.all.last.map { $0.bytes == $0.total } == true)
    }

    private struct Note: Decodable, Equatable { var id: Int }

    @Test func anAnswerWithoutABodyIsNoContentOrNil() async throws {
        let stub = Stub()
        let client = TestClient(at: "https://api.example")
        client.stub = stub
        stub.on("GET", "empty").answer(.status(204))
        stub.on("GET", "note").answer(.json(["id": 7]))
        stub.on("GET", "failed").answer(.status(500))
        _ = try await client.send("empty", as: NoContent.self)
        #expect(try await client.send("empty", as: Note?.self) == nil)
        #expect(try await client.send("note", as: Note?.self) == Note(id: 7))
        let error = await #expect(throws: APIError.self) { try await client.send("empty", as: Note.self) }
        #expect(error?.code == .unexpectedJSON)
        let failure = await #expect(throws: APIError.self) { try await client.send("failed", as: NoContent.self) }
        #expect(failure?.httpStatus == 500)
    }
}

/// A base service, and one on top of it.
private protocol KeyService: APIService {}

extension KeyService {
    var baseParameters: [APIArg] { keyParameters }
    var keyParameters: [APIArg] { [.url("key", "k")] }
}

private protocol SiteService: KeyService {}

extension SiteService {
    var baseParameters: [APIArg] { [.url("site", "swift")] + keyParameters }
}
