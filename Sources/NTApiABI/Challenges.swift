import CNTApi
import NTApi

/// A challenge as C sees it, with the memory of its texts.
final class LentChallenge: @unchecked Sendable {
    // Safe to share: constant, and so is the memory.
    private let texts: [UnsafeMutablePointer<CChar>]
    private let certificates: UnsafeMutableBufferPointer<UnsafePointer<CChar>?>
    private let space: UnsafeMutablePointer<ntapi_protection_space>
    private let challenge: UnsafeMutablePointer<ntapi_challenge>

    var pointer: UnsafePointer<ntapi_challenge> { UnsafePointer(challenge) }

    init(_ challenge: AuthenticationChallenge) {
        var texts: [UnsafeMutablePointer<CChar>] = []
        func lend(_ text: String?) -> UnsafePointer<CChar>? {
            guard let text else { return nil }
            texts.append(newText(text))
            return texts.last.map { UnsafePointer($0) }
        }
        certificates = .allocate(capacity: challenge.certificates.count)
        _ = certificates.initialize(from: challenge.certificates.map(lend))
        space = .allocate(capacity: 1)
        space.initialize(to: ntapi_protection_space())
        if let given = challenge.protectionSpace {
            space.pointee.size = MemoryLayout<ntapi_protection_space>.size
            space.pointee.scheme = lend(given.scheme)
            space.pointee.host = lend(given.host)
            space.pointee.port = CInt(clamping: given.port)
            space.pointee.realm = lend(given.realm)
            space.pointee.authentication =
                given.authenticationScheme == .digest ? NTAPI_AUTHENTICATION_DIGEST : NTAPI_AUTHENTICATION_BASIC
            space.pointee.is_proxy = given.isProxy
        }
        var made = ntapi_challenge()
        made.size = MemoryLayout<ntapi_challenge>.size
        made.kind = challenge.kind.c
        made.host = lend(challenge.host)
        made.port = CInt(clamping: challenge.port)
        made.scheme = lend(challenge.scheme.isEmpty ? nil : challenge.scheme)
        made.realm = lend(challenge.realm)
        made.failures = CInt(clamping: challenge.failures)
        made.reason = lend(challenge.reason)
        made.certificates = UnsafePointer(certificates.baseAddress)
        made.certificate_count = certificates.count
        made.space = challenge.protectionSpace == nil ? nil : UnsafePointer(space)
        self.challenge = .allocate(capacity: 1)
        self.challenge.initialize(to: made)
        self.texts = texts
    }

    deinit {
        challenge.deallocate()
        space.deallocate()
        certificates.deallocate()
        for text in texts { text.deallocate() }
    }
}

extension AuthenticationChallenge.Kind {
    fileprivate var c: ntapi_challenge_kind {
        switch self {
        case .server: NTAPI_CHALLENGE_KIND_SERVER
        case .proxy: NTAPI_CHALLENGE_KIND_PROXY
        case .certificate: NTAPI_CHALLENGE_KIND_CERTIFICATE
        }
    }
}

extension ProtectionSpace {
    /// The space that C describes.
    ///
    /// - Throws: for NULL, and for a space that no server can have.
    init(c space: UnsafePointer<ntapi_protection_space>?) throws(APIError) {
        guard let space else { throw .invalidArgument("space is NULL") }
        let given = try ntapi_protection_space(c: space)
        let realm = String(c: given.realm)
        guard let scheme = String(c: given.scheme), let host = String(c: given.host),
            given.realm == nil || realm != nil
        else { throw .invalidArgument("scheme or host of the space is NULL, or scheme, host or realm is not UTF-8") }
        guard let authentication = AuthenticationScheme(c: given.authentication) else {
            throw .invalidArgument("\(given.authentication.rawValue) is no ntapi_authentication")
        }
        self.init(
            scheme: scheme, host: host, port: Int(given.port), realm: realm, authenticationScheme: authentication,
            isProxy: given.is_proxy)
        if let mistake { throw .invalidArgument(mistake) }
    }
}

extension ProtectionSpace.AuthenticationScheme {
    fileprivate init?(c scheme: ntapi_authentication) {
        switch scheme {
        case NTAPI_AUTHENTICATION_BASIC: self = .basic
        case NTAPI_AUTHENTICATION_DIGEST: self = .digest
        default: return nil
        }
    }
}
