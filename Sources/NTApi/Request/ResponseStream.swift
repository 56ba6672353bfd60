/// The body of a response, piece by piece, with its head at hand: see ``APIClient/stream(_:args:)``.
///
/// It can be iterated once.
public struct ResponseStream: AsyncSequence, Sendable {
    private let reading: StreamReading

    init(_ reading: StreamReading) { self.reading = reading }

    /// The request, whose ``APIRequest/response`` has error and metrics once the stream has ended.
    public var request: APIRequest { reading.request }

    /// The HTTP status.
    public var status: Int { request.receivedStatus ?? request.response?.status ?? 0 }

    public var headers: HTTPHeaders {
        request.receivedStatus == nil ? request.response?.headers ?? HTTPHeaders() : request.receivedHeaders
    }

    /// Ends the request; an iteration that waits fails with `request cancelled`.
    public func cancel() { request.cancel() }

    public func makeAsyncIterator() -> Iterator { Iterator(reading: reading, loop: StreamLoop(reading)) }

    public struct Iterator: AsyncIteratorProtocol {
        private let reading: StreamReading
        private let loop: StreamLoop

        fileprivate init(reading: StreamReading, loop: StreamLoop) {
            self.reading = reading
            self.loop = loop
        }

        /// - Throws: what went wrong with the response.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(APIError)
            -> ResponseData?
        {
            guard case .bytes(let data) = try await loop.next() else { return nil }
            return data
        }

        public mutating func next() async throws(APIError) -> ResponseData? { try await next(isolation: nil) }
    }
}

/// The JSON values of a body that has one in each line: see ``APIClient/lines(_:args:)``.
public struct JSONLines: AsyncSequence, Sendable {
    let source: StreamSequenceSource

    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    public struct Iterator: AsyncIteratorProtocol {
        private var loop: LazyStreamLoop

        fileprivate init(source: StreamSequenceSource) { loop = LazyStreamLoop(source) }

        /// - Throws: what went wrong with the response.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(APIError) -> JSON? {
            guard case .json(let value) = try await loop.next() else { return nil }
            return value
        }

        public mutating func next() async throws(APIError) -> JSON? { try await next(isolation: nil) }
    }
}

/// Server-sent events, over as many connections as it takes: see ``APIClient/events(_:args:)``.
public struct ServerSentEvents: AsyncSequence, Sendable {
    let source: StreamSequenceSource

    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    public struct Iterator: AsyncIteratorProtocol {
        private var loop: LazyStreamLoop

        fileprivate init(source: StreamSequenceSource) { loop = LazyStreamLoop(source) }

        /// - Throws: what went wrong with the last connection.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(APIError)
            -> ServerSentEvent?
        {
            guard case .event(let event) = try await loop.next() else { return nil }
            return event
        }

        public mutating func next() async throws(APIError) -> ServerSentEvent? { try await next(isolation: nil) }
    }
}
