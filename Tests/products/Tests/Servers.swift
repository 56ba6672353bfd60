import Foundation
import NTApi

private func servers() throws -> JSON {
    struct NoServers: Error {}
    guard let table = ProcessInfo.processInfo.environment["NTAPI_TEST_SERVERS"] else { throw NoServers() }
    return try JSON(parsing: table)
}

/// An entry of the table of Tests/servers/run.py, usually a URL.
func server(_ name: String) throws -> String {
    struct NoServer: Error { let name: String }
    guard let entry = try servers()[name]?.string else { throw NoServer(name: name) }
    return entry
}

/// The text with each `{{key}}` replaced by its entry of the table, or by one of the other texts.
func filled(_ text: String, with others: [String: String]) throws -> String {
    let table = try servers().object?.map { ($0.key, $0.value.string ?? "") } ?? []
    return (table + others.map { ($0.key, $0.value) }).reduce(text) { $0.replacing("{{\($1.0)}}", with: $1.1) }
}

/// A client of one of the servers of Tests/servers/run.py.
func client(of server: String) throws -> APIClient {
    let client = APIClient(baseURL: try ProductTests.server(server))
    client.defaults["proxy"] = ""
    return client
}
