// URLSession of swift-corelibs-foundation, with its async interface, and JSONDecoder.
import BenchSupport
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@main
struct URLSessionBench {
    static func main() async throws {
        let options = Options()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost =
            options.workload == "hold" || options.workload == "cancel" ? options.count + 2 : options.concurrency
        configuration.timeoutIntervalForRequest = 3600
        let session = URLSession(configuration: configuration)
        try await options.runAwaiting { text in
            guard let url = URL(string: text) else { fail("not a URL: \(text)") }
            let (body, response) = try await session.data(from: url)
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            if options.isWhole {
                let page = try JSONDecoder().decode(Page.self, from: body)
                options.check(status: status, total: page.meta.total)
            } else if options.isParsed {
                let answer = try JSONDecoder().decode(Answer.self, from: body)
                options.check(status: status, total: answer.meta.total)
            } else {
                options.check(status: status, bytes: body.count)
            }
        }
    }
}
