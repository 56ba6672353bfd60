import Foundation
import NTApi

/// A client of one of the servers of Tests/servers/run.py.
func client(of server: String) throws -> APIClient {
    struct NoServers: Error {}
    guard let table = ProcessInfo.processInfo.environment["NTAPI_TEST_SERVERS"],
        let url = try JSON(parsing: table)[server]?.string
    else { throw NoServers() }
    let client = APIClient(baseURL: url)
    client.defaults["proxy"] = ""
    return client
}
