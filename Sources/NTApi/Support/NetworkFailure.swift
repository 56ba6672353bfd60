/// What kind of failure of the network an error is about; see ``APIError/failure``.
public enum NetworkFailure: String, Sendable, CaseIterable {
    /// The host's name was not found.
    case nameLookup = "name_lookup"
    /// Nobody listens at the address.
    case refused
    /// No connection for another reason: no route to the host, or this machine is offline.
    case unreachable
    /// The proxy's name was not found, or the proxy refused.
    case proxy
    /// The TLS handshake failed, or the certificate was not accepted.
    case tls
    /// The connection broke before the answer was whole: by the other side's reset, or while the request was sent.
    case reset
    /// The server closed the connection without an answer.
    case noAnswer = "no_answer"
    /// The server closed the connection in the middle of the answer.
    case cutShort = "cut_short"
    /// The answer is not HTTP, or breaks its rules.
    case notHTTP = "not_http"
    /// The body cannot be decompressed, or is not all that was compressed.
    case decoding
    /// Anything else.
    case other
}
