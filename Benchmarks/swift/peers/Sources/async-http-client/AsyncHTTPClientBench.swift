// AsyncHTTPClient, with its async interface, and Foundation's JSONDecoder.
import AsyncHTTPClient
import BenchSupport
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOSSL

@main
struct AsyncHTTPClientBench {
    static func main() async throws {
        let options = Options()
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            max(options.concurrency, options.workload == "hold" || options.workload == "cancel" ? options.count + 2 : 1)
        if let ca = options.values["ca"] {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(ca)
            configuration.tlsConfiguration = tls
            configuration.httpVersion = options.values["http"] == "2" ? .automatic : .http1Only
        }
        // Ten thousand connections at once take longer than the ten seconds that are usual.
        configuration.timeout.connect = .minutes(5)
        let client = HTTPClient(configuration: configuration)
        try await options.runAwaiting { url in
            let response = try await client.execute(HTTPClientRequest(url: url), timeout: .hours(1))
            let body = try await response.body.collect(upTo: 1 << 30)
            let status = Int(response.status.code)
            if options.isWhole {
                let page = try JSONDecoder().decode(Page.self, from: body)
                options.check(status: status, total: page.meta.total)
            } else if options.isParsed {
                let answer = try JSONDecoder().decode(Answer.self, from: body)
                options.check(status: status, total: answer.meta.total)
            } else {
                options.check(status: status, bytes: body.readableBytes)
            }
        }
        try await client.shutdown()
    }
}
