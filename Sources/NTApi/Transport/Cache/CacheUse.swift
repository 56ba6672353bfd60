/// How the exchanges of a client use a cache.
struct CacheUse: Sendable {
    let cache: HTTPCache
    /// What the client is to a server that others are not: they are not answered with what was said to it.
    let partition: String

    init(_ cache: HTTPCache, _ settings: TransferSettings.Values) {
        self.cache = cache
        guard let identity = settings.session?.identity else {
            partition = settings.caFile ?? ""
            return
        }
        let parts = [
            settings.caFile, identity.clientCertificate, identity.clientKey, identity.pinnedKeys,
            identity.networkInterface, identity.proxyURL, identity.proxy?.user,
        ]
        partition = parts.contains { $0 != nil } ? parts.map { $0 ?? "" }.joined(separator: "\n") : ""
    }
}
