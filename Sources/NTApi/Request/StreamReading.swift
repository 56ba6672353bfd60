import Synchronization

/// Makes the request of a stream when an iteration begins.
struct StreamSequenceSource: Sendable {
    let client: APIClient
    let command: String
    let args: [APIArg]
    let format: BodyFormat

    /// Begins a request for one iteration.
    func begin() -> StreamReading {
        // A worker reads the pieces.
        let reader = StreamReader()
        var handlers = APIRequest.Handlers({ reader.finish($0) })
        handlers.setBody(.reader(reader), format)
        let request = client.request(command, args: args + [.dataThread(.background)], for: .whoAwaits, handlers)
        request.resume()
        return StreamReading(request: request, reader: reader)
    }
}

/// A streaming request and its reader. Releasing this cancels the request.
final class StreamReading: Sendable {
    let request: APIRequest
    let reader: StreamReader

    init(request: APIRequest, reader: StreamReader) {
        self.request = request
        self.reader = reader
    }

    deinit { end() }

    func end() {
        request.cancel()
        // If it is too late to cancel, only this piece holds up the request's end.
        reader.dropPiece()
    }
}

/// A loop that begins its request at the first element.
struct LazyStreamLoop {
    private let source: StreamSequenceSource
    private var loop: StreamLoop?

    init(_ source: StreamSequenceSource) { self.source = source }

    mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(APIError) -> BodyElement? {
        let loop = loop ?? StreamLoop(source.begin())
        self.loop = loop
        return try await loop.next()
    }
}

/// A loop over a stream. Leaving the loop cancels the request, even if the stream is kept.
final class StreamLoop: Sendable {
    private let reading: StreamReading
    /// Set when another loop reads the stream. Leaving this one then changes nothing.
    private let isRefused = Atomic<Bool>(false)

    init(_ reading: StreamReading) { self.reading = reading }

    deinit { if !isRefused.load(ordering: .relaxed) { reading.end() } }

    /// - Returns: nil at the end.
    func next() async throws(APIError) -> BodyElement? {
        let reading = reading
        let next = await withTaskCancellationHandler {
            await reading.reader.next()
        } onCancel: {
            reading.request.cancel()
        }
        switch next {
        case .element(let element): return element
        case .end(let response):
            try response.get()
            return nil
        case .isTaken:
            isRefused.store(true, ordering: .relaxed)
            throw .invalidRequest("another task reads this stream: use it in one task, or make a stream for each")
        }
    }
}
