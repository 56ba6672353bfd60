import CCurl

/// Notes whether the server ends a TLS connection with close_notify. Only for a body that ends with its connection:
/// without that alert somebody may have cut it short (RFC 9112, 9.8).
///
/// libcurl 7.88 with OpenSSL 3 reports both ends alike.
final class TLSEnd: @unchecked Sendable {
    // Safe to share: it is used only on the loop's thread, also by OpenSSL's callback.
    private let ssl: UnsafeMutableRawPointer
    private var hasNotice = false

    /// By their connections: the callback gets nothing else.
    private static let watched = Lock<[UnsafeMutableRawPointer: TLSEndReference]>([:], survivesFork: true)
    private static let setCallback = ntapi_ssl_find_set_callback()

    /// Begins to watch the connection of a transfer. Nil when it cannot be watched: it has no TLS, or another library
    /// than OpenSSL.
    init?(_ easy: UnsafeMutableRawPointer) {
        guard let setCallback = Self.setCallback, let ssl = ntapi_easy_ssl(easy) else { return nil }
        self.ssl = ssl
        // The connection of an earlier one may have had the same address. It is gone.
        Self.watched.withLock { $0[ssl] = TLSEndReference(end: self) }
        setCallback(ssl, infoCallback)
    }

    // The connection may be gone, so its callback stays. It finds nothing.
    deinit {
        let identity = ObjectIdentifier(self)
        Self.watched.withLock { if $0[ssl]?.identity == identity { $0[ssl] = nil } }
    }

    /// Whether the connection has ended without the alert, if it has ended.
    var isTorn: Bool { !hasNotice }

    fileprivate static func noticed(_ ssl: UnsafeMutableRawPointer) {
        watched.withLock { $0[ssl]?.end }?.hasNotice = true
    }
}

private struct TLSEndReference {
    weak var end: TLSEnd?
    let identity: ObjectIdentifier

    init(end: TLSEnd) {
        self.end = end
        identity = ObjectIdentifier(end)
    }
}

/// OpenSSL calls it for each step of the connection.
private func infoCallback(ssl: UnsafeRawPointer?, event: Int32, value: Int32) {
    // SSL_CB_READ_ALERT, and the alert close_notify.
    guard let ssl, event & 0x4004 == 0x4004, value & 0xff == 0 else { return }
    TLSEnd.noticed(UnsafeMutableRawPointer(mutating: ssl))
}
