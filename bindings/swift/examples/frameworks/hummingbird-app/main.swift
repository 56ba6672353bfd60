// A web server of Hummingbird that asks an API. All its requests share one client, which is closed when the server has
// ended.
//
//     swift run hummingbird-app URL-OF-THE-API PORT

import Hummingbird
import NTApi
import ServiceLifecycle

struct Weather: Codable, ResponseEncodable {
    let name: String
}

/// Closes the client when the server has ended: services end in reverse order.
struct ClientService: Service {
    let client: APIClient

    func run() async throws {
        try? await gracefulShutdown()
        client.close()
    }
}

/// An error of the API is no error of this server.
struct BadGateway<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as APIError {
            throw HTTPError(.badGateway, message: error.message)
        }
    }
}

func router(_ client: APIClient) -> Router<BasicRequestContext> {
    let router = Router()
    router.add(middleware: BadGateway())
    router.get("weather/:city") { _, context -> Weather in
        let city = try context.parameters.require("city")
        return try await client.get("data/2.5/weather", args: [.url("q", city)], as: Weather.self)
    }
    // If the browser hangs up, the task is cancelled, and so is its request to the API.
    router.get("report/:city") { request, context -> Weather in
        let city = try context.parameters.require("city")
        return try await request.body.consumeWithCancellationOnInboundClose { _ in
            try await client.get("data/2.5/report", args: [.url("q", city), .timeout(600)], as: Weather.self)
        }
    }
    return router
}

let client = APIClient(baseURL: CommandLine.arguments[1], args: [.url("appid", "demo")])
let app = Application(
    router: router(client),
    configuration: .init(address: .hostname("127.0.0.1", port: Int(CommandLine.arguments[2]) ?? 8080)),
    services: [ClientService(client: client)])
try await app.runService()
