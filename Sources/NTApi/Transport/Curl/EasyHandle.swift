import CCurl

/// A libcurl easy handle and the options that it has, so that its next transfer sets only those that differ.
///
/// Setting every option again for each request would cost a third of what libcurl itself needs for it. Options of one
/// transfer only (a body that is read piece by piece, a new connection) are removed by a reset.
///
/// This class and others that belong to the loop's thread have their variables in one `state`, whose exclusive access
/// is not checked at run time. No other thread uses it, and there would be a hundred checks for each request.
final class EasyHandle {
    let easy: UnsafeMutableRawPointer
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private let shared: SharedEasyState
    @exclusivity(unchecked) var state = State()

    struct State: ~Copyable {
        /// The transfer of this handle. libcurl's callbacks get the handle, which stays, and find the transfer here.
        fileprivate(set) var unmanagedTransfer: Unmanaged<CurlTransfer>?
        /// The sockets of its loop.
        unowned(unsafe) var sockets: OpenSockets?
        /// The sockets that were opened for the transfer since it was last ready to be sent.
        var newSockets: [Int32] = []
        fileprivate var profile: HandleProfile?
        /// Those of the request for which the profile was made.
        fileprivate var settings: TransferSettings?
        fileprivate var url = HandleURL()
        fileprivate var headers: HeaderLines?
        fileprivate var resolve: CurlList?
        fileprivate var connectTo: CurlList?
        fileprivate var message = HandleMessage.get
        fileprivate var customMethod: String?
        /// The cookies of the transfer's session, and whether the handle uses them now.
        fileprivate var cookies: (engine: CookieEngine, areShared: Bool)?
        /// Whether it has a Cookie header with them, which is longer than what libcurl would send.
        fileprivate var sendsLongHeader = false
        /// Whether it keeps the cookies that it receives, because it cannot use the session's.
        fileprivate var collectsCookies = false
        /// Whether other transfers may use the handle. After a Host header, libcurl uses that name for the cookies of
        /// all later requests, even after a reset.
        fileprivate(set) var isReusable = true
        fileprivate var hearsBody = false
        fileprivate var leavesEncoded = false
        /// Whether it may have TLS sessions of its own. Once it may, this does not change.
        fileprivate var keepsSessions = false
    }

    var transfer: CurlTransfer? { state.unmanagedTransfer?.takeUnretainedValue() }

    init?(_ shared: SharedEasyState) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        self.shared = shared
        shared.attach(easy)
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(easy)
        errorText.deallocate()
    }

    /// libcurl's error message; "" when there was none.
    var errorMessage: String { String(cString: errorText) }

    func prepare(for transfer: CurlTransfer, _ sockets: OpenSockets, freshness: Freshness?) throws(APIError) {
        state.unmanagedTransfer = .passUnretained(transfer)
        errorText[0] = 0
        if !state.newSockets.isEmpty { state.newSockets = [] }
        var options = EasyOptions(easy)
        if !fits(transfer) {
            reset()
            try setUp(transfer, sockets, &options)
        }
        var cookieSize = 0
        // For each transfer: libcurl reads the list once, into the pool of that transfer.
        if let list = state.resolve { options.check(ntapi_easy_set_list(easy, CURLOPT_RESOLVE, list.first)) }
        if let use = transfer.context?.cookies, use.accepts || transfer.sendsCookies {
            keepSessions()
            if transfer.sendsCookies, let header = use.engine.longHeader(for: transfer.exchange.request) {
                state.sendsLongHeader = true
                cookieSize = header.count
                options.check(ntapi_easy_set_string(easy, CURLOPT_COOKIE, header), CURLOPT_COOKIE)
            }
            let areShared = use.accepts && transfer.sendsCookies && !state.sendsLongHeader
            use.engine.attach(easy, isShared: areShared)
            state.cookies = (use.engine, areShared)
        }
        state.url.set(transfer.url, &options)
        try setMessage(of: transfer, cookieSize: cookieSize, &options)
        if let freshness {
            options.set(freshness)
            state.message = .unique
        }
        do { try options.finish() } catch {
            // Only some of the options are set, so the handle fits no other request.
            state.message = .unique
            throw error
        }
    }

    // Not every libcurl lets a transfer join or leave a share. So a transfer that sends the session's cookies and
    // accepts none has a copy of them from the beginning. One that sends none and accepts some may have to give the
    // session what it has received at its end.

    /// Before each request: libcurl may send several for one transfer.
    func prepareCookies(sends: Bool, accepts: Bool) {
        let sends = sends && !state.sendsLongHeader
        if sends, !accepts { state.cookies?.engine.copyCookies(to: easy) } else { shareCookies(sends) }
    }

    /// When an answer begins. Only one whose request sends no cookies was without them until now.
    func acceptCookies() { state.collectsCookies = !shareCookies(true) }

    /// - Returns: false when this libcurl refuses.
    @discardableResult private func shareCookies(_ isShared: Bool) -> Bool {
        guard let (engine, areShared) = state.cookies, areShared != isShared else { return true }
        guard engine.setShared(isShared, easy) else { return false }
        state.cookies = (engine, isShared)
        return true
    }

    /// Turns on libcurl's log for the rest of the transfer.
    func listen() {
        ntapi_easy_set_long(easy, CURLOPT_VERBOSE, 1)
        state.message = .unique
    }

    /// Makes libcurl report the body as it comes over the wire, for the rest of the transfer.
    func hearBody() {
        guard !state.hearsBody else { return }
        ntapi_easy_set_long(easy, CURLOPT_VERBOSE, 1)
        state.hearsBody = true
    }

    /// Makes libcurl deliver the body of the present answer as it comes, or decode it. Unless `EasyOptions.decidesLate`,
    /// a coding that it does not know stays an error.
    func leaveEncoded(_ isLeft: Bool) {
        guard isLeft != state.leavesEncoded else { return }
        state.leavesEncoded = isLeft
        ntapi_easy_set_long(easy, CURLOPT_HTTP_CONTENT_DECODING, isLeft ? 0 : 1)
    }

    /// Whether libcurl decompresses the body.
    var decodes: Bool { state.profile?.transfer.decompresses == true }

    /// Nobody uses the transfer's connection after it.
    func closeConnection() {
        ntapi_easy_set_long(easy, CURLOPT_FORBID_REUSE, 1)
        state.message = .unique
    }

    /// libcurl sent the request again. It counts these until a reset, and gives up after five.
    func wasSentAgain() { state.message = .unique }

    /// Frees what libcurl holds back for a paused transfer, which is over but still in its multi.
    func freeHeldBack() {
        guard EasyOptions.losesHeldBack else { return }
        // libcurl now delivers it, and frees it because the callbacks of no transfer refuse it.
        state.unmanagedTransfer = nil
        curl_easy_pause(easy, CURLPAUSE_CONT)
    }

    /// Called when the transfer is over and the handle has left its multi. Afterwards the memory that its options refer
    /// to may be freed.
    func finish() {
        state.unmanagedTransfer = nil
        if state.hearsBody {
            ntapi_easy_set_long(easy, CURLOPT_VERBOSE, 0)
            state.hearsBody = false
        }
        leaveEncoded(false)
        // A reset would not remove the cookies, and another client's request would send them.
        if let (engine, _) = state.cookies {
            if state.collectsCookies { engine.takeCookies(from: easy) }
            state.collectsCookies = false
            CookieEngine.detach(easy)
            state.cookies = nil
            if state.sendsLongHeader { ntapi_easy_set_string(easy, CURLOPT_COOKIE, nil) }
            state.sendsLongHeader = false
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
        shared.detach(easy)
    }

    private func reset() {
        // A reset would leave a list that libcurl has not read.
        if state.resolve != nil { ntapi_easy_set_list(easy, CURLOPT_RESOLVE, nil) }
        curl_easy_reset(easy)
        state.profile = nil
        state.settings = nil
        state.url.forget()
        state.headers = nil
        state.resolve = nil
        state.connectTo = nil
        state.message = .get
        state.customMethod = nil
    }

    /// Whether it is set up for such a transfer.
    private func fits(_ transfer: CurlTransfer) -> Bool {
        guard let profile = state.profile, profile.transfer == HandleProfile.Transfer(transfer) else { return false }
        let settings = transfer.exchange.request.settings
        // Nearly always. Comparing all would cost more.
        if state.settings?.isIdentical(to: settings) == true { return true }
        return profile.settings == HandleProfile.Settings(settings)
    }

    private func setUp(_ transfer: CurlTransfer, _ sockets: OpenSockets, _ options: inout EasyOptions) throws(APIError)
    {
        let settings = transfer.exchange.request.settings
        let profile = HandleProfile(transfer: .init(transfer), settings: .init(settings))
        let this = Unmanaged.passUnretained(self).toOpaque()
        options.set(CURLOPT_ERRORBUFFER, pointer: errorText)
        options.set(CURLOPT_PRIVATE, pointer: this)
        if profile.maySpeakTLS { keepSessions() }
        options.setConstants()
        options.setConnection(profile)
        if let route = profile.settings.identity?.route { try setRoute(route, &options) }
        options.setCallbacks(profile, data: this)
        options.check(followSockets(sockets))
        state.profile = profile
        state.settings = settings.withoutContext
    }

    private func setRoute(_ route: ConnectionRoute, _ options: inout EasyOptions) throws(APIError) {
        if let path = route.unixSocket { options.setUnixSocket(path) }
        if let url = route.dnsOverHTTPS { options.set(CURLOPT_DOH_URL, url) }
        if !route.resolve.isEmpty { state.resolve = try CurlList(route.resolve) }
        guard !route.connectTo.isEmpty else { return }
        let list = try CurlList(route.connectTo)
        state.connectTo = list
        options.check(ntapi_easy_set_list(easy, CURLOPT_CONNECT_TO, list.first))
    }

    /// The most bytes of a URL and headers. libcurl refuses more than 1,048,576, with the lines that it adds, and calls
    /// that a lack of memory.
    private static let maximumHeadSize = 1_000_000

    private func checkSize(of transfer: CurlTransfer, cookieSize: Int) throws(APIError) {
        let (target, headers) = (transfer.url.utf8.count, (state.headers?.state.byteCount ?? 0) + cookieSize)
        var (together, body) = (target + headers, 0)
        // A small body is sent with the head.
        if case .bytes(let bytes) = transfer.message.body, bytes.count <= EasyOptions.copiedBodySize {
            body = bytes.count
            together += body
        }
        guard together > Self.maximumHeadSize else { return }
        throw .invalidRequest(
            "the URL has \(target) bytes and the headers have \(headers)\(body > 0 ? ", the body \(body)" : ""): together "
                + "they may have \(Self.maximumHeadSize)")
    }

    /// Sets method, headers and body.
    private func setMessage(
        of transfer: CurlTransfer, cookieSize: Int, _ options: inout EasyOptions
    ) throws(APIError) {
        let request = transfer.message
        let source = HeaderLines.Source(
            request, tellsProxy: state.profile?.hasProxy ?? true, transfer.acceptedEncodings,
            authorization: transfer.state.digest?.authorization)
        if state.headers?.are(from: source) != true {
            let headers = try shared.lines(of: source)
            state.headers = headers
            options.check(ntapi_easy_set_list(easy, CURLOPT_HTTPHEADER, headers.list.first))
            options.set(CURLOPT_USERAGENT, headers.state.userAgent)
            if headers.state.hasHost { state.isReusable = false }
        }
        try checkSize(of: transfer, cookieSize: cookieSize)
        let kind = HandleMessage(of: request)
        if kind == .get, state.message == .copiedBody { options.removeBody() }
        state.message = kind
        try options.setBody(request, of: transfer, data: Unmanaged.passUnretained(self).toOpaque())
        // The body sets a method, so this comes after it.
        let method = try options.customMethod(of: request)
        if method != state.customMethod {
            options.set(CURLOPT_CUSTOMREQUEST, method)
            state.customMethod = method
        }
        if kind == .head { options.set(CURLOPT_NOBODY, 1) }
    }
}

/// What kind of request a handle is set up for. It decides what must be removed afterwards.
private enum HandleMessage {
    /// No body.
    case get
    /// A HEAD request. Only a reset removes this.
    case head
    /// A body that libcurl has copied.
    case copiedBody
    /// Options that no other transfer wants. Only a reset removes them.
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

/// What a handle is set up with: the same for most requests of a program. `EasyOptions` gets the profile alone, so
/// nothing can be set that is not compared.
struct HandleProfile: Equatable {
    /// What a transfer decides.
    struct Transfer: Equatable {
        let isSecure: Bool
        /// The URL of the proxy; nil for none.
        let proxy: String?
        /// Whether libcurl decompresses the body. One that goes elsewhere than into memory is decompressed by
        /// `Inflater`.
        let decompresses: Bool
        /// Also for requests with a body: only the progress callback tells the idle clock about sent bytes. And for
        /// tunnels: only there a proxy's endless answer can be stopped.
        let hasProgress: Bool
        /// Whether HTTP/2 is not negotiated.
        let staysWithHTTP1: Bool

        init(_ transfer: CurlTransfer) {
            let request = transfer.exchange.request
            isSecure = transfer.origin.isSecure
            proxy = transfer.proxy
            decompresses = request.settings.decompresses && !transfer.exchange.routesBody
            hasProgress = request.hasBody || transfer.exchange.reportsProgress || transfer.tunnels
            staysWithHTTP1 = transfer.staysWithHTTP1
        }
    }

    /// What the settings of its request decide.
    struct Settings: Equatable {
        let httpVersion: HTTPVersion
        let allowsInvalidCertificate: Bool
        let trust: CertificateTrust
        let caFile: String?
        let identity: ConnectionIdentity?

        init(_ settings: TransferSettings) {
            httpVersion = settings.httpVersion
            allowsInvalidCertificate = settings.allowsInvalidCertificate
            trust = settings.trust
            caFile = settings.caFile
            identity = settings.session?.identity
        }
    }

    let transfer: Transfer
    let settings: Settings

    /// Whether the connection to the server, to the proxy or to the server that resolves names may use TLS.
    var maySpeakTLS: Bool {
        transfer.isSecure || hasProxy || settings.identity?.route.dnsOverHTTPS != nil
    }

    var hasProxy: Bool { transfer.proxy != nil }
}
