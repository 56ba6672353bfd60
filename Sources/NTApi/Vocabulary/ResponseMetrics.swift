/// Times, sizes and counts of a request. Times are in seconds, of the last exchange; sizes are in bytes, of bodies.
public struct ResponseMetrics: Sendable {
    /// Until the name was resolved.
    public internal(set) var nameLookup = 0.0
    /// Until the connection was established.
    public internal(set) var connect = 0.0
    /// Until the TLS handshake was done; 0 without TLS.
    public internal(set) var tls = 0.0
    /// Until the first byte of the response.
    public internal(set) var firstByte = 0.0
    /// The whole exchange, without the time in the queue.
    public internal(set) var total = 0.0
    /// Waiting for a free connection and for the rate limit, over all exchanges.
    public internal(set) var queued = 0.0
    /// Redirects followed.
    public internal(set) var redirects = 0
    /// Further attempts: by a retry policy, after a challenge, with another token, or of a stream that reconnects.
    public internal(set) var retries = 0
    /// Body bytes sent.
    public internal(set) var bytesSent: Int64 = 0
    /// Body bytes received, before decompression.
    public internal(set) var bytesReceived: Int64 = 0
    /// Body bytes after decompression.
    public internal(set) var bytesDecoded: Int64 = 0
    /// 1.0, 1.1, 2 or 3; 0 when there was no answer.
    public internal(set) var httpVersion = 0.0
    /// Whether the exchange used a connection that was already open.
    public internal(set) var connectionReused = false
    /// Where the response came from.
    public internal(set) var source = ResponseSource.network
    /// Whether the body came from the cache.
    public var fromCache: Bool { source != .network }
}

/// Where a response came from.
public enum ResponseSource: String, Sendable, CaseIterable {
    /// From the server.
    case network
    /// From the cache, without asking the server.
    case cache
    /// From the cache, after the server has confirmed it (304).
    case validatedCache = "validated_cache"
}

/// One exchange of a request. Each redirect, challenge or retry adds one. An answer from the cache counts as one.
public struct TransactionMetrics: Sendable, RedactedMirror {
    /// The method that was sent.
    public let method: String
    /// The URL that was sent, not redacted.
    public let url: String
    /// The HTTP status; 0 when there was no answer.
    public let status: Int
    /// Seconds since 1970-01-01 00:00 UTC.
    public let startTime: Double
    /// Why it failed; nil when there was a complete answer, whatever its status.
    public let error: APIError?
    /// The metrics of this exchange only: `redirects` and `retries` are 0.
    public let metrics: ResponseMetrics

    /// Method, URL and status, secrets redacted.
    public var description: String { printable("\(method) \(Secrets.redactURL(url)) \(status)") }
}
