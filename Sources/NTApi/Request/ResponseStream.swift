/// The body of a response, piece by piece, with its head: see ``APIClient/stream(_:args:)``.
///
/// It can be iterated once.
public struct ResponseStream: AsyncSequence, Sendable, RedactedMirror {
    private let reading: StreamReading

    init(_ reading: StreamReading) { self.reading = reading }

    /// The request. Its ``APIRequest/response`` has the error and metrics once the stream has ended.
    public var request: APIRequest { reading.request }

    /// The HTTP status.
    public var status: Int { request.receivedStatus ?? request.response?.status ?? 0 }

    /// The header lines of the response.
    public var headers: HTTPHeaders {
        request.receivedStatus == nil ? request.response?.headers ?? HTTPHeaders() : request.receivedHeaders
    }

    /// The text of the status line after the status, such as "Not Found"; "" when the server sent none, as over HTTP/2.
    public var reasonPhrase: String { headers.reason }

    /// Ends the request. A waiting iteration fails with `request cancelled`.
    public func cancel() { request.cancel() }

    /// The loop over the pieces.
    public func makeAsyncIterator() -> Iterator { Iterator(reading: reading, loop: StreamLoop(reading)) }

    /// Returns the pieces, one after the other.
    public struct Iterator: AsyncIteratorProtocol, RedactedMirror {
        private let reading: StreamReading
        private let loop: StreamLoop

        fileprivate init(reading: StreamReading, loop: StreamLoop) {
            self.reading = reading
            self.loop = loop
        }

        /// The next piece; nil at the end.
        ///
        /// - Throws: the error of the response.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(APIError)
            -> ResponseData?
        {
            guard case .bytes(let data) = try await loop.next() else { return nil }
            return data
        }

        /// The next piece; nil at the end.
        public mutating func next() async throws(APIError) -> ResponseData? { try await next(isolation: nil) }
    }
}

/// The JSON values of a body with one value in each line: see ``APIClient/lines(_:args:)``.
public struct JSONLines: AsyncSequence, Sendable, RedactedMirror {
    let source: StreamSequenceSource

    /// Begins a request at the first element. Each iteration has its own.
    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// Returns the values, one after the other.
    public struct Iterator: AsyncIteratorProtocol, RedactedMirror {
        private var loop: LazyStreamLoop

        fileprivate init(source: StreamSequenceSource) { loop = LazyStreamLoop(source) }

        /// The next value; nil at the end.
        ///
        /// - Throws: the error of the response.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(APIError) -> JSON? {
            guard case .json(let value) = try await loop.next() else { return nil }
            return value
        }

        /// The next value; nil at the end.
        public mutating func next() async throws(APIError) -> JSON? { try await next(isolation: nil) }
    }
}

/// Server-sent events, over as many connections as needed: see ``APIClient/events(_:args:)``.
public struct ServerSentEvents: AsyncSequence, Sendable, RedactedMirror {
    let source: StreamSequenceSource

    /// Begins a request at the first element. Each iteration has its own.
    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// Returns the events, one after the other.
    public struct Iterator: AsyncIteratorProtocol, RedactedMirror {
        private var loop: LazyStreamLoop

        fileprivate init(source: StreamSequenceSource) { loop = LazyStreamLoop(source) }

        /// The next event; nil at the end.
        ///
        /// - Throws: the error of the last connection.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(APIError)
            -> ServerSentEvent?
        {
            guard case .event(let event) = try await loop.next() else { return nil }
            return event
        }

        /// The next event; nil at the end.
        public mutating func next() async throws(APIError) -> ServerSentEvent? { try await next(isolation: nil) }
    }
}
