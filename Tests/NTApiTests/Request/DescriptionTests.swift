import Testing

@testable import NTApi

/// What `print` shows of a client, its requests and their responses.
@Suite struct DescriptionTests {
    private final class Weather: APIClient, @unchecked Sendable {}

    @Test func aClient() {
        let client = Weather(baseURL: "https://ann:pw@h.example/v1?appid=k3y")
        #expect("\(client)" == "Weather #\(client.number) https://<redacted>@h.example/v1?appid=<redacted>")
        let session = APIClient(configuration: .ephemeral)
        #expect("\(session)" == "APIClient #\(session.number) (ephemeral session)")
    }

    @Test func aRequest() {
        let client = APIClient(baseURL: "https://h.example")
        let args: [APIArg] = [.url("q", "x"), .url("token", "s3cret"), .url("ssn", "756").secret]
        let request = client.request("find", args: args)
        let line = "#\(client.number).1 GET https://h.example/find?q=x&token=<redacted>&ssn=<redacted>"
        #expect("\(request)" == "\(line) (suspended)")
        request.cancel()
        #expect("\(request)" == "\(line) (cancelled)")
        let none = client.request("find?token=s3cret", args: [.timeout(-1)])
        #expect("\(none)" == "#\(client.number).2 the command \"find?token=<redacted>\" (suspended)")
    }

    @Test func aResponse() async throws {
        let client = try TestClient.of("httpbin")
        let url = try TestServers.url("httpbin")
        let whole = await client.response("bytes/5", args: [.url("token", "s3cret"), .option(.rawData)])
        let line = "#\(client.number).1 GET \(url)/bytes/5?token=<redacted>: 200, 5 bytes, "
        #expect("\(whole)".hasPrefix(line) && "\(whole)".hasSuffix(" ms"), "\(whole)")
        let missing = await client.response("status/404", args: [.url("token", "s3cret")])
        let asked = "GET \(url)/status/404?token=<redacted>"
        #expect("\(missing)" == "#\(client.number).2 \(asked): HTTP error: HTTP 404 Not Found for \(asked)")
    }

    /// The message of the program's own error may quote a URL.
    @Test func secretsInTheMessageOfAnError() async throws {
        final class Client: TestClient, @unchecked Sendable {
            override func mapError(_ error: APIError, _ response: APIResponse) -> APIError {
                APIError(code: .generic, message: "nothing at \(response.url)")
            }
        }
        let response = await (try Client.of("httpbin")).response(
            "status/404", args: [.url("ssn", "756-18-2043").secret])
        #expect(
            "\(response)".hasSuffix("/status/404?ssn=<redacted>") && !"\(response)".contains("756-18-2043"),
            "\(response)")
    }

    @Test func options() {
        var options = APIOptions()
        options[.rawData] = ""
        options[.maximumRedirects] = "2"
        options["access_token"] = "s3cret"
        #expect("\(options)" == "raw_data, maximum_redirects=2, access_token=<redacted>")
        var dumped = ""
        dump(options, to: &dumped)
        #expect(!dumped.contains("s3cret"))
    }

    @Test func args() {
        let args: [APIArg] = [.url("q", "x"), .bearer("s3cret"), .timeout(5)]
        #expect("\(args)" == #"[url("q", "x"), bearer(<redacted>), timeout(5.0)]"#)
    }
}
