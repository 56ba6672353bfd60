@testable import NTApi

/// A client of a test server with a configuration. It ignores proxies of the environment and trusts the test CA.
func session(
    _ server: String, _ kind: SessionConfiguration = .ephemeral, _ change: (inout SessionConfiguration) throws -> Void
) throws -> APIClient {
    var configuration = kind
    configuration.proxy = ""
    configuration.caFile = try TestServers.url("ca")
    try change(&configuration)
    let client = APIClient(baseURL: try TestServers.url(server), configuration: configuration)
    client.logFlags = []
    return client
}

extension APIClient {
    /// The request as `/echo` of the fault server received it.
    func echo(_ args: [APIArg] = []) async throws -> JSON {
        let response = await response("echo", args: args)
        return try response.get().json ?? .null
    }

    func error(_ command: String, _ args: [APIArg] = []) async -> APIError? {
        await response(command, args: args).error
    }
}
