/// A challenge that a server or proxy sends in `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110, 11.6.1).
public struct HTTPChallenge: Sendable, Equatable {
    /// A name and a value, without quotes and backslashes.
    public struct Parameter: Sendable, Equatable {
        /// The name, as the server wrote it. Case does not matter.
        public var name: String
        /// The value.
        public var value: String
    }

    /// "Basic", "Bearer" or "Digest", as the server wrote it. Case does not matter.
    public var scheme: String
    /// The parameters, in order.
    public var parameters: [Parameter] = []
    /// The value that some schemes send instead of parameters; nil when there is none.
    public var token68: String?

    /// The realm: which part of the server the credentials are for.
    public var realm: String? { self["realm"] }

    /// The first parameter with this name. Case does not matter.
    public subscript(name: String) -> String? {
        parameters.first { $0.name.equalsIgnoringASCIICase(name) }?.value
    }

    /// Whether the challenge is for this scheme. Case does not matter.
    public func isScheme(_ name: String) -> Bool { scheme.equalsIgnoringASCIICase(name) }
}
