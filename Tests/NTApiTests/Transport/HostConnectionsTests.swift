import Testing

@testable import NTApi

/// The connections to one server, used as libcurl would. The rules of the server are not known in advance.
@Suite struct HostConnectionsTests {
    /// A server and libcurl's pool of connections to it.
    private struct Model {
        /// How many requests at once the server allows on a connection; 1 is HTTP/1.1.
        var streams: Int
        /// The number of requests on a connection until the server sends GOAWAY.
        var requests = Int.max
        var connections: [Int: (streams: Int, requests: Int)] = [:]
        private var lastPort = 0

        init(streams: Int, requests: Int = .max) {
            self.streams = streams
            self.requests = requests
        }

        /// The port of a connection that has room.
        mutating func join() -> Int? {
            guard
                let (port, _) = connections.first(where: { $0.value.streams < streams && $0.value.requests < requests })
            else { return nil }
            connections[port]?.streams += 1
            connections[port]?.requests += 1
            return port
        }

        mutating func open() -> Int {
            lastPort += 1
            connections[lastPort] = (1, 1)
            return lastPort
        }

        mutating func leave(_ port: Int) {
            connections[port]?.streams -= 1
            // A connection that is used up closes. An idle one stays for the next request.
            if let connection = connections[port], connection.streams == 0, connection.requests >= requests {
                connections[port] = nil
            }
        }
    }

    private enum Step {
        case connecting
        case running(Int)
    }

    /// There are never more connections than allowed, each request gets through, and as many as possible run at once.
    @Test(arguments: [1, 3, 8, 100], [1, 2, 6])
    func keepsTheLimitAndUsesTheRoom(streams: Int, limit: Int) {
        for requests in [Int.max, 10] {
            let seed = SeededGenerator.ofThisRun
            var random = SeededGenerator(seed)
            var model = Model(streams: streams, requests: requests)
            var host = HostConnections()
            var seats: [Int: HostConnections.Seat] = [:]
            var steps: [Int: Step] = [:]
            var waiting = Array(0..<400)
            var most = 0
            var refusals = 0
            var rounds = 0
            while !waiting.isEmpty || !steps.isEmpty {
                rounds += 1
                guard rounds < 100_000 else {
                    Issue.record("stuck: seed \(seed)")
                    return
                }
                while let next = waiting.last, host.mayStart(running: steps.count, limit: limit, shares: true) {
                    waiting.removeLast()
                    steps[next] = .connecting
                    seats[next] = HostConnections.Seat()
                }
                guard let number = steps.keys.randomElement(using: &random), let step = steps[number],
                    var seat = seats[number]
                else { break }
                switch step {
                case .connecting:
                    if let port = model.join() ?? (host.mayOpen(&seat, limit: limit, shares: true) ? model.open() : nil)
                    {
                        host.join(&seat, .of(port), shares: true, .now())
                        steps[number] = .running(port)
                        seats[number] = seat
                    } else {
                        refusals += 1
                        host.leave(&seat)
                        steps[number] = nil
                        waiting.append(number)
                    }
                case .running(let port):
                    // The server is usually slow.
                    guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
                    host.leave(&seat)
                    model.leave(port)
                    steps[number] = nil
                    if streams == 1 { host.hear(httpVersion: 1.1) }
                }
                let open = model.connections.values.count { $0.streams > 0 }
                #expect(open <= limit && open == host.count, "seed \(seed)")
                most = max(most, steps.count)
            }
            // As many as possible have run at once. With GOAWAYs this is not certain.
            if requests == .max { #expect(most >= min(streams * limit, 100), "\(most), seed \(seed)") }
            #expect(refusals < 400, "seed \(seed)")
        }
    }

    /// The capacity of a connection that is too old or dead does not count.
    @Test func replacesAConnectionOnce() {
        var host = HostConnections(maximumAge: 10)
        var seats = (0..<4).map { _ in HostConnections.Seat() }
        let start = MonotonicTime.now()
        #expect(host.mayOpen(&seats[0], limit: 2, shares: true))
        host.join(&seats[0], .of(7), shares: true, start)
        host.join(&seats[1], .of(7), shares: true, start)
        #expect(host.pool == 0)
        host.join(&seats[2], .of(7), shares: true, start.advanced(bySeconds: 11))
        host.join(&seats[3], .of(7), shares: true, start.advanced(bySeconds: 12))
        #expect(host.pool == 1)
        // One request opens the new connection, and the others wait for it.
        #expect(host.mayStart(running: 4, limit: 2, shares: true))
        #expect(!host.mayStart(running: 5, limit: 2, shares: true))
        #expect(!host.mayStart(running: 4, limit: 1, shares: true), "the old connection still counts")
    }

    /// Each request that cannot share needs its own connection.
    @Test func countsThoseThatDoNotShare() {
        var host = HostConnections()
        host.hear(httpVersion: 2)
        var seats = (0..<3).map { _ in HostConnections.Seat() }
        #expect(host.mayOpen(&seats[0], limit: 2, shares: true))
        host.join(&seats[0], .of(1), shares: true, .now())
        #expect(host.mayStart(running: 1, limit: 2, shares: false))
        #expect(host.mayOpen(&seats[1], limit: 2, shares: false))
        #expect(!host.mayStart(running: 2, limit: 2, shares: false))
        #expect(host.mayStart(running: 2, limit: 2, shares: true), "on the first connection")
        #expect(!host.mayOpen(&seats[2], limit: 2, shares: false))
    }

    /// A host may have two addresses, and so may the server. So an equal local port does not mean the same connection.
    @Test func connectionsAreToldApartByBothEnds() {
        for other in [ConnectionEnds.of(5, from: "::1"), .of(5, to: "127.0.0.2"), .of(5, remotePort: 81)] {
            var host = HostConnections()
            var seats = [HostConnections.Seat(), HostConnections.Seat()]
            host.join(&seats[0], .of(5), shares: true, .now())
            host.join(&seats[1], other, shares: true, .now())
            #expect(host.count == 2 && !host.hasRoom(running: 2), "two connections, not two streams of one")
            #expect(seats[0].connection !== seats[1].connection)
        }
        #expect(ConnectionEnds.of(5) == .of(5))
    }
}

extension ConnectionEnds {
    fileprivate static func of(
        _ port: Int, from local: String = "127.0.0.1", to remote: String = "127.0.0.1", remotePort: Int32 = 80
    ) -> ConnectionEnds {
        remote.withCString { remote in
            local.withCString { ConnectionEnds(remote, remotePort, $0, Int32(truncatingIfNeeded: port)) }
        }
    }
}
