// A server of NIO: for each line with the name of a city it asks an API, and writes a line. The handlers of NTApi run
// on the event loop of the connection. It ends at the end of its standard input.
//
//     swift run nio-server URL-OF-THE-API

import NIOCore
import NIOExtras
import NIOPosix
import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Runs handlers on an event loop.
struct EventLoopExecutor: APIExecutor {
    let eventLoop: any EventLoop

    func execute(_ job: @escaping @Sendable () -> Void) { eventLoop.execute(job) }
}

/// The handler of one connection. Only the connection's event loop uses it.
final class WeatherHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let client: APIClient
    private var requests: [APIRequest] = []

    init(_ client: APIClient) { self.client = client }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let city = String(buffer: unwrapInboundIn(data))
        let onThisLoop = APIArg.responseThread(.executor(EventLoopExecutor(eventLoop: context.eventLoop)))
        // On another thread, `value` would trap.
        let here = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let request = client.begin("data/2.5/weather", args: [.url("q", city), onThisLoop]) { response in
            let (handler, context) = here.value
            handler.requests.removeAll { $0 === response.request }
            let line = response.error?.message ?? response.json?["name"]?.string ?? "no name"
            context.writeAndFlush(handler.wrapOutboundOut(ByteBuffer(string: "\(line)\n")), promise: nil)
        }
        requests.append(request)
    }

    func channelInactive(context: ChannelHandlerContext) {
        for request in requests { request.cancel() }
        context.fireChannelInactive()
    }
}

let client = APIClient(baseURL: CommandLine.arguments[1], args: [.url("appid", "demo")])
let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
let server = try ServerBootstrap(group: group)
    .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandlers(
                ByteToMessageHandler(LineBasedFrameDecoder()), WeatherHandler(client))
        }
    }
    .bind(host: "127.0.0.1", port: 0).wait()
print("port \(server.localAddress?.port ?? 0)")
fflush(nil)

while readLine() != nil {}
try server.close().wait()
client.close()
// The handlers need the loops, so wait for them before the loops end.
client.drain()
try group.syncShutdownGracefully()
