import CCurl

/// A libcurl easy handle with what it is set to, so that its next transfer sets only what is different.
///
/// To set everything again for each request would cost a third of what libcurl itself does for it. What belongs to one
/// transfer alone (a body that is read piece by piece, a new connection) is taken back by a reset.
///
/// Of this and the other classes that belong to the loop's thread, exclusive access is not checked at run time: nobody
/// else can be in them, and it would be checked a hundred times for a request.
final class EasyHandle {
    let easy: UnsafeMutableRawPointer
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private let commons: HandleCommons
    @exclusivity(unchecked) var state = State()

    struct State: ~Copyable {
        /// The transfer it works for. libcurl's callbacks are given the handle, which stays, and find the transfer here.
        fileprivate(set) var unmanagedTransfer: Unmanaged<CurlTransfer>?
        /// Those of the loop whose handle it is.
        unowned(unsafe) var sockets: OpenSockets?
        /// Those that were opened for the transfer, since it was last ready to be sent.
        var newSockets: [Int32] = []
        fileprivate var profile: HandleProfile?
        fileprivate var url = HandleURL()
        fileprivate var headers: HeaderLines?
        fileprivate var message = HandleMessage.get
        fileprivate var customMethod: String?
        /// Of the transfer's session, and whether the handle has them at the moment.
        fileprivate var cookies: (engine: CookieEngine, areShared: Bool)?
        /// Whether other transfers may use it. libcurl takes the name in a Host header for the host of all later cookies, too, and
        /// nothing makes it forget that: neither another request nor a reset.
        fileprivate(set) var isReusable = true
        fileprivate var hearsBody = false
        /// Whether it may have TLS sessions of its own. Once it may, it keeps them.
        fileprivate var keepsSessions = false
    }

    var transfer: CurlTransfer? { state.unmanagedTransfer?.takeUnretainedValue() }

    init?(_ commons: HandleCommons) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        self.commons = commons
        commons.attach(easy)
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(easy)
        errorText.deallocate()
    }

    /// libcurl's words for what went wrong; "" when it had none.
    var errorMessage: String { String(cString: errorText) }

    func prepare(for transfer: CurlTransfer, _ sockets: OpenSockets, freshness: Freshness?) throws(APIError) {
        state.unmanagedTransfer = .passUnretained(transfer)
        errorText[0] = 0
        if !state.newSockets.isEmpty { state.newSockets = [] }
        var options = EasyOptions(easy)
        // A handle remembers the challenge of a server that it had no credentials for. To answer that one with these would tell
        // this server what is meant for another, or for nobody.
        if state.profile?.fits(transfer) != true || transfer.exchange.request.digest != nil {
            reset()
            setUp(transfer, sockets, &options)
        }
        if let engine = transfer.context?.cookies?.engine {
            keepSessions()
            engine.attach(easy)
            state.cookies = (engine, true)
        }
        state.url.set(transfer.url, &options)
        try setMessage(of: transfer, &options)
        if let freshness {
            options.set(freshness)
            state.message = .unique
        }
        do { try options.finish() } catch {
            // What it was told so far is no profile that another request would fit.
            state.message = .unique
            throw error
        }
    }

    /// Says whether the session's cookies are sent, before the request, or taken, before the response.
    func shareCookies(_ isShared: Bool) {
        guard let (engine, areShared) = state.cookies, areShared != isShared else { return }
        engine.setShared(isShared, easy)
        state.cookies = (engine, isShared)
    }

    /// Makes libcurl say what it does, for the rest of the transfer.
    func listen() {
        ntapi_easy_set_long(easy, CURLOPT_VERBOSE, 1)
        state.message = .unique
    }

    /// Makes libcurl show the body as it is received, for the rest of the transfer.
    func hearBody() {
        guard !state.hearsBody else { return }
        ntapi_easy_set_long(easy, CURLOPT_VERBOSE, 1)
        state.hearsBody = true
    }

    /// Whether libcurl decodes what is compressed.
    var decodes: Bool { state.profile?.decompresses == true }

    /// libcurl sent the request once more. It counts that for the life of a handle, or until a reset, and after five gives up.
    func wasSentAgain() { state.message = .unique }

    /// The transfer is over, and the handle is in no multi. What its options pointed to may be freed afterwards.
    func finish() {
        state.unmanagedTransfer = nil
        if state.hearsBody {
            ntapi_easy_set_long(easy, CURLOPT_VERBOSE, 0)
            state.hearsBody = false
        }
        // A reset would keep the cookies, for a request of somebody else.
        if state.cookies != nil {
            CookieEngine.detach(easy)
            state.cookies = nil
        }
        switch state.message {
        case .get: break
        case .copiedBody:
            var options = EasyOptions(easy)
            options.freeBody()
        case .head, .unique: reset()
        }
    }

    private func keepSessions() {
        guard !state.keepsSessions else { return }
        state.keepsSessions = true
        commons.detach(easy)
    }

    private func reset() {
        curl_easy_reset(easy)
        state.profile = nil
        state.url.forget()
        state.headers = nil
        state.message = .get
        state.customMethod = nil
    }

    private func setUp(_ transfer: CurlTransfer, _ sockets: OpenSockets, _ options: inout EasyOptions) {
        let this = Unmanaged.passUnretained(self).toOpaque()
        options.set(CURLOPT_ERRORBUFFER, pointer: errorText)
        options.set(CURLOPT_PRIVATE, pointer: this)
        let profile = HandleProfile(transfer)
        if profile.maySpeakTLS { keepSessions() }
        options.setConstants()
        options.setConnection(profile)
        options.setCallbacks(profile, data: this)
        options.check(followSockets(sockets))
        state.profile = profile
    }

    /// Method, headers and body.
    private func setMessage(of transfer: CurlTransfer, _ options: inout EasyOptions) throws(APIError) {
        let request = transfer.exchange.request
        if state.headers?.are(of: request) != true {
            let headers = try commons.lines(of: request, state.profile)
            state.headers = headers
            options.check(ntapi_easy_set_list(easy, CURLOPT_HTTPHEADER, headers.state.list))
            options.set(CURLOPT_USERAGENT, headers.state.userAgent)
            if headers.state.hasHost { state.isReusable = false }
        }
        let kind = HandleMessage(of: request)
        if kind == .get, state.message == .copiedBody { options.removeBody() }
        state.message = kind
        try options.setBody(request, of: transfer, data: Unmanaged.passUnretained(self).toOpaque())
        // After the body, which sets a method of its own.
        let method = try options.customMethod(of: request)
        if method != state.customMethod {
            options.set(CURLOPT_CUSTOMREQUEST, method)
            state.customMethod = method
        }
        if kind == .head { options.set(CURLOPT_NOBODY, 1) }
        if let digest = request.digest {
            options.setDigest(digest, hasBody: request.hasBody)
            // Only a reset takes credentials back, and with them what libcurl knows of the server's challenge.
            state.message = .unique
        }
    }
}

/// What a handle is set to send, as far as it matters for what comes after it.
private enum HandleMessage {
    /// No body.
    case get
    /// No body either way; as with `unique`, only a reset takes it back.
    case head
    /// A body of which libcurl has a copy.
    case copiedBody
    /// What no other transfer wants: only a reset takes it back.
    case unique

    init(of request: HTTPRequest) {
        switch request.body {
        case .none where request.method == "HEAD": self = .head
        case .none: self = request.announcesBody ? .copiedBody : .get
        case .bytes(let bytes): self = bytes.count <= EasyOptions.copiedBodySize ? .copiedBody : .unique
        case .multipart, .file, .stream: self = .unique
        }
    }
}

/// What of a handle's settings is the same for most requests of a program.
struct HandleProfile {
    let settings: TransferSettings
    let isSecure: Bool
    let decompresses: Bool
    /// For the idle clock a body's bytes are seen only by way of progress.
    let hasProgress: Bool
    /// Whether the body may have to wait for whoever takes it.
    let routesBody: Bool

    init(_ transfer: CurlTransfer) {
        let request = transfer.exchange.request
        settings = request.settings.withoutContext
        isSecure = transfer.origin.isSecure
        decompresses = Self.decompresses(request)
        hasProgress = Self.hasProgress(transfer)
        routesBody = transfer.exchange.routesBody
    }

    func fits(_ transfer: CurlTransfer) -> Bool {
        let request = transfer.exchange.request
        return isSecure == transfer.origin.isSecure && hasProgress == Self.hasProgress(transfer)
            && decompresses == Self.decompresses(request)
            && routesBody == transfer.exchange.routesBody && settings.connectsAlike(request.settings)
    }

    /// Whether the server or the proxy may be spoken to over TLS.
    var maySpeakTLS: Bool { isSecure || hasProxy }

    var hasProxy: Bool { (isSecure ? settings.proxy.https : settings.proxy.http)?.isEmpty == false }

    private static func decompresses(_ request: HTTPRequest) -> Bool {
        guard request.settings.decompresses else { return false }
        // A caller who says what to send decodes it, too; of what is sent as it is there is nothing to decode, unless the
        // server does not listen.
        return request.headers["accept-encoding"].map { $0 == "identity" } ?? true
    }

    private static func hasProgress(_ transfer: CurlTransfer) -> Bool {
        transfer.exchange.request.hasBody || transfer.exchange.reportsProgress
    }
}

extension TransferSettings {
    /// Whether libcurl is told the same of both.
    fileprivate func connectsAlike(_ other: TransferSettings) -> Bool {
        isIdentical(to: other)
            || self.httpVersion == other.httpVersion && self.allowsInvalidCertificate == other.allowsInvalidCertificate
                && self.trust == other.trust
                && self.caFile == other.caFile && self.proxy == other.proxy
                && self.session?.identity == other.session?.identity
    }
}
