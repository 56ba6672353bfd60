@testable import NTApi

/// A client of one of the servers' table with a configuration: no proxy of the environment, and it trusts the test CA.
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
    /// What `/echo` of the fault server was sent.
    func echo(_ args: [APIArg] = []) async throws -> JSON {
        let response = await response("echo", args: args)
        return try response.get().json ?? .null
    }

    func error(_ command: String, _ args: [APIArg] = []) async -> APIError? {
        await response(command, args: args).error
    }
}
