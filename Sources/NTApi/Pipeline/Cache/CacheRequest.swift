/// How a request uses the cache, as far as the request itself decides.
struct CacheRequest: Sendable {
    enum Role: Sendable, Equatable {
        /// It bypasses the cache.
        case none
        /// It may change what is stored (RFC 9111, 4.4).
        case invalidates
        /// It may be answered from the cache, and its answer may be stored.
        case usual
        /// It may be answered from the cache. The server's answer goes only to the caller and is not stored.
        case conditional(CacheCondition)
    }

    let http: HTTPRequest
    let control: CacheControl
    let role: Role
    /// Whether the store that processes share keeps secrets.
    let keepsSecrets: Bool

    init(_ http: HTTPRequest, keepsSecrets: Bool = false) {
        self.http = http
        self.keepsSecrets = keepsSecrets
        control = CacheControl(http.headers)
        role = Self.role(of: http, control)
    }

    /// - Parameter use: the cache that is asked.
    init(_ http: HTTPRequest, _ use: CacheUse) {
        self.init(http, keepsSecrets: use.cache.keepsSecrets)
    }

    var policy: CachePolicy { http.settings.cachePolicy }
    var isHead: Bool { http.method == "HEAD" }

    /// Whether the server may be asked at all.
    var mayLoad: Bool { policy != .returnCachedDontLoad && !control.onlyIfCached }

    /// Whether a stored response may be the answer.
    var mayBeAnswered: Bool {
        switch role {
        case .usual, .conditional: true
        case .none, .invalidates: false
        }
    }

    /// The caller's own condition, when the cache may evaluate it.
    var condition: CacheCondition? {
        guard case .conditional(let condition) = role else { return nil }
        return condition
    }

    private static func role(of http: HTTPRequest, _ control: CacheControl) -> Role {
        guard http.method == "GET" || http.method == "HEAD" else {
            return HTTPMethod.isSafe(http.method) ? .none : .invalidates
        }
        // An answer from a server with an unchecked certificate must not be shared.
        guard http.body.isNone, !control.noStore, http.settings.cachePolicy != .noStore,
            !http.settings.allowsInvalidCertificate, http.settings.trust == .verified
        else { return .none }
        var isConditional = false
        for field in http.headers {
            let name = field.name.lowercasedASCII()
            if passesBy(name) { return .none }
            isConditional = isConditional || CacheCondition.names.contains(name)
        }
        guard isConditional else { return .usual }
        return CacheCondition(http).map { .conditional($0) } ?? .none
    }

    /// Headers that bypass the cache: conditions that only the origin can evaluate, and Host, which means that the URL
    /// does not name the server.
    private static func passesBy(_ name: String) -> Bool {
        ["if-match", "if-unmodified-since", "host"].contains(name)
    }
}

// Selection of a stored response (RFC 9111, 4.1).
extension CacheRequest {
    /// The request headers that the response depends on; nil when no later request can match.
    func selectors(for head: ResponseHead) -> [CachedResponse.Selector]? {
        var names: Set<String> = []
        for line in head.headers.all("Vary") {
            names.formUnion(line.split(separator: ",").map { String($0.trimmed).lowercasedASCII() })
        }
        names.remove("")
        guard !names.contains("*") else { return nil }
        var selectors = [CachedResponse.Selector(name: "", digest: credential)]
        for name in names.sorted() {
            guard case .known(let digest) = value(of: name) else { return nil }
            selectors.append(.init(name: name, digest: digest))
        }
        return selectors
    }

    /// The variant that answers this request. If several match, the newest, which comes first.
    func select(_ variants: [CachedResponse]) -> CachedResponse? {
        guard !variants.isEmpty else { return nil }
        let credential = credential
        return variants.first { variant in
            variant.selectors.allSatisfy { selector in
                if selector.name.isEmpty { return selector.digest == credential }
                guard case .known(let digest) = value(of: selector.name) else { return false }
                return digest == selector.digest
            }
        }
    }

    private enum Value {
        case known(String?)
        /// A header that another layer adds later.
        case unknown
    }

    private func value(of name: String) -> Value {
        let lines = http.headers.all(name)
        guard lines.isEmpty else {
            return .known(SHA256.hex(normalized(lines, name)))
        }
        switch name {
        case "accept-encoding": return .known(http.settings.decompresses ? "all" : nil)
        case "cookie": return http.settings.context?.cookies?.sends == true ? .unknown : .known(nil)
        default: return .known(nil)
        }
    }

    /// The lines of a header in a normal form (RFC 9111, 4.1): without white space around list elements, without empty
    /// elements, and in lower case where case does not matter.
    private func normalized(_ lines: [String], _ name: String) -> String {
        if lines.count == 1, let token = http.token, token.isThat(name, lines[0]) { return token.owner }
        let line = lines.joined(separator: ",")
        // Commas inside quotes do not separate elements.
        guard !line.utf8.contains(UInt8(ascii: "\"")) else {
            return lines.map { $0.split(separator: " ").joined(separator: " ") }.joined(separator: ", ")
        }
        let elements = line.split(separator: ",").map { element in
            element.split { $0 == " " || $0 == "\t" }.joined(separator: " ").split(separator: ";")
                .map { String($0.trimmed) }.joined(separator: ";")
        }
        let text = elements.filter { !$0.isEmpty }.joined(separator: ",")
        return Self.hasNoCase.contains(name) ? text.lowercasedASCII() : text
    }

    private static let hasNoCase: Set<String> = ["accept-charset", "accept-encoding", "accept-language"]

    /// A digest of the secrets in the head, which identify the user. Another user does not get the response.
    ///
    /// Tokens of one authenticator belong to the same user, also after a refresh.
    var credential: String? {
        var secrets = http.headers.filter { $0.isSecret && !$0.name.equalsIgnoringASCIICase("proxy-authorization") }
            .map { field in
                let name = field.name.lowercasedASCII()
                let token = http.token.flatMap { $0.isThat(name, field.value) ? $0.owner : nil }
                return "\(name): \(token ?? field.value)"
            }
        if let digest = http.digest { secrets.append("\(digest.user):\(digest.password)") }
        return secrets.isEmpty ? nil : SHA256.hex(secrets.sorted().joined(separator: "\n"))
    }
}
