// What a client sends of its own when an arg gives the whole URL.
//
// Often a server has named that URL: the link to the next page, for example. On another origin than the client's, its
// secrets are not sent, as after a redirect. On its own, such a URL usually has the client's query pairs already.

extension APIClient {
    /// Whether a request with these args goes to another origin than the client's.
    ///
    /// - Parameter own: the client's own args.
    /// - Returns: false when the client has no base URL, and so no origin.
    func isElsewhere(_ args: [APIArg], own: [APIArg]) -> Bool {
        guard let url = args.wholeURL, let home = own.wholeURL ?? defaults["baseUrl"]?.string else { return false }
        return Origin(url: url) != Origin(url: home)
    }

    /// The client's own args for a request with these args.
    func ownArgs(_ own: [APIArg], for args: [APIArg], isElsewhere: Bool) -> [APIArg] {
        guard !own.isEmpty, let url = args.wholeURL else { return own }
        let known = Secrets.queryPairs(of: url)
        return own.filter { arg in
            if isElsewhere, arg.isForItsOrigin { return false }
            guard !known.isEmpty, case .url(let name, let value) = arg.resolved(by: defaults).kind else { return true }
            return !known.contains { $0 == (name, value) }
        }
    }
}

/// Where a client's own args belong.
struct Home {
    /// The client's own args.
    let args: [APIArg]
    /// Whether a request goes to another origin.
    var isLeft: Bool

    /// A URL of the client's origin; nil when it has none.
    func url(_ settings: ResolvedSettings) -> String? { args.wholeURL ?? settings.baseURL?.text }
}

extension HTTPRequest {
    /// Removes the headers of a client that belong to its origin, and that no arg has set.
    mutating func removeSecrets(of client: HTTPHeaders, setBy args: HTTPHeaders) {
        for field in client where (field.isSecret || HTTPHeaders.belongsToOrigin(field.name)) && args[field.name] == nil
        { headers.remove(field.name) }
    }
}

extension [APIArg] {
    mutating func markAsOfClient() { for index in indices { self[index].isOfClient = true } }

    /// Removes what is only for the client's own origin: the hook `buildArgs` has named a URL of another one.
    mutating func removeSecretsOfClient() { removeAll { $0.isOfClient && $0.isForItsOrigin } }

    /// The URL that replaces base URL and command; nil when there is none.
    fileprivate var wholeURL: String? {
        var url: String?
        for index in indices {
            // It counts before a base URL arg.
            if case .resume(let data) = self[index].kind { return data.url }
            if case .baseURL(let text) = self[index].kind { url = text }
        }
        return url
    }
}

extension APIArg {
    /// Whether it is only for the client's own origin: it has a secret or names the host, or trusts the server without
    /// proof.
    fileprivate var isForItsOrigin: Bool {
        switch kind {
        case .basicAuth, .digestAuth, .bearer: true
        case .idempotencyKey(let key): key != nil
        case .option(let name, _): name == APIOption.allowInvalidCertificate.name
        case .header(let name, _, _): isMarkedSecret || HTTPHeaders.belongsToOrigin(name)
        default: isSecret
        }
    }
}

extension Secrets {
    /// The decoded pairs of a URL's query.
    fileprivate static func queryPairs(of url: String) -> [(name: String, value: String)] {
        guard let mark = url.firstIndex(of: "?") else { return [] }
        return url[url.index(after: mark)...].prefix { $0 != "#" }.split(separator: "&").map { pair in
            let name = pair.prefix { $0 != "=" }
            return (
                PercentEncoding.decode(name, plusIsSpace: true),
                PercentEncoding.decode(pair[name.endIndex...].dropFirst(), plusIsSpace: true)
            )
        }
    }
}
