/// What a request took. Times in seconds, of the last exchange; sizes in bytes, of bodies.
public struct ResponseMetrics: Sendable {
    /// Until the name was resolved.
    public internal(set) var nameLookup = 0.0
    /// Until the connection was there.
    public internal(set) var connect = 0.0
    /// Until the TLS handshake was done; 0 without TLS.
    public internal(set) var tls = 0.0
    /// Until the first byte of the response.
    public internal(set) var firstByte = 0.0
    /// The whole exchange, without the time it was queued.
    public internal(set) var total = 0.0
    /// Waiting for a free connection, and for its turn under a rate limit, over all exchanges.
    public internal(set) var queued = 0.0
    /// Redirects followed.
    public internal(set) var redirects = 0
    /// Attempts beyond the first: by a retry policy, after a challenge, with another token, or of a stream that goes on.
    public internal(set) var retries = 0
    public internal(set) var bytesSent: Int64 = 0
    /// As they came over the wire, before decompression.
    public internal(set) var bytesReceived: Int64 = 0
    /// After decompression.
    public internal(set) var bytesDecoded: Int64 = 0
    /// 1.0, 1.1, 2 or 3; 0 when there was no answer.
    public internal(set) var httpVersion = 0.0
    public internal(set) var connectionReused = false
    /// Where the response came from.
    public internal(set) var source = ResponseSource.network
    /// Whether the body came from the cache.
    public var fromCache: Bool { source != .network }

    mutating func add(_ exchange: ExchangeMetrics) {
        nameLookup = exchange.nameLookup
        connect = exchange.connect
        tls = exchange.tls
        firstByte = exchange.firstByte
        total = exchange.total
        bytesSent = exchange.bytesSent
        bytesReceived = exchange.bytesReceived
        bytesDecoded = exchange.bytesDecoded
        connectionReused = exchange.connectionReused
        source = exchange.source
    }
}

/// One exchange of a request: a redirect, a challenge or an attempt beyond the first makes another one. An answer from the
/// cache counts as one.
public struct TransactionMetrics: Sendable, CustomStringConvertible {
    public let method: String
    public let url: String
    /// 0 when there was no answer.
    public let status: Int
    /// Seconds since 1970-01-01 00:00 UTC.
    public let startTime: Double
    /// Why it failed; nil when there was a whole answer, whatever its status.
    public let error: APIError?
    /// Of this exchange alone: `redirects` and `retries` are 0.
    public let metrics: ResponseMetrics

    /// Method, URL and status, secrets redacted.
    public var description: String { "\(method) \(Secrets.redactURL(url)) \(status)" }
}
