import CCurl

/// How new the connection must be. After a timeout, older connections to the host are not trusted.
struct Freshness {
    /// Whether the transfer must open a connection.
    var opensConnection: Bool
    /// From which age in seconds an idle connection is not used.
    var maximumAge: Int
}

/// Sets the options of a handle and remembers the first error.
struct EasyOptions {
    let easy: UnsafeMutableRawPointer
    private var refusal: (code: CURLcode, option: UInt32)?

    /// The size of libcurl's buffers for reading and writing, in bytes. With the default of 16 KB, large bodies take a
    /// quarter longer.
    private static let bufferSize = 65536

    static let outOfMemory = APIError(domain: .request, code: .generic, message: "out of memory")

    /// libcurl before 8.0 breaks an HTTP/2 connection without TLS when it uses it again (curl pull request 10643).
    static let cannotReuseClearHTTP2 = (ntapi_version()?.pointee.version_num ?? 0) < 0x08_00_00

    /// If the first header line begins with a blank, libcurl before 8.3 appends it to the last header of the handle's
    /// previous answer, which is already freed (curl #11101, #11620). With CURLOPT_HEADER, libcurl first shows each
    /// line to the write callback, and there such an answer is refused.
    static let readsFreedHeader = (ntapi_version()?.pointee.version_num ?? 0) < 0x08_03_00

    /// libcurl before 8.1 never frees what it holds back for a paused transfer that is removed, if other transfers use
    /// its connection: up to 130 KB each.
    static let losesHeldBack = (ntapi_version()?.pointee.version_num ?? 0) < 0x08_01_00

    /// If an HTTP/2 server answers before it has the whole body, and the body fills the stream's window, libcurl 7.88
    /// loses the answer, or waits for ever. 8.12 does not.
    static let losesEarlyAnswers = (ntapi_version()?.pointee.version_num ?? 0) < 0x08_0c_00

    /// Whether libcurl can be told to leave a body encoded when its head is complete. From 8.5 on it decides at the line
    /// Content-Encoding.
    static let decidesLate = (ntapi_version()?.pointee.version_num ?? 0) < 0x08_05_00

    /// libcurl before 8.13 decodes all that a paused transfer has received, and fails above 64 MB.
    static let decodesWhilePaused = (ntapi_version()?.pointee.version_num ?? 0) < 0x08_0d_00

    init(_ easy: UnsafeMutableRawPointer) { self.easy = easy }

    mutating func check(_ code: CURLcode, _ option: CURLoption = CURLoption(rawValue: 0)) {
        if code != CURLE_OK, refusal == nil { refusal = (code, option.rawValue) }
    }

    mutating func set(_ option: CURLoption, _ value: Int) { check(ntapi_easy_set_long(easy, option, value), option) }

    mutating func set(_ option: CURLoption, _ value: String?) {
        check(ntapi_easy_set_string(easy, option, value), option)
    }

    mutating func set(_ option: CURLoption, offset: Int64) {
        check(ntapi_easy_set_offset(easy, option, curl_off_t(offset)), option)
    }

    mutating func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
        check(ntapi_easy_set_pointer(easy, option, pointer), option)
    }

    mutating func set(_ freshness: Freshness) {
        if freshness.opensConnection { set(CURLOPT_FRESH_CONNECT, 1) }
        set(CURLOPT_MAXLIFETIME_CONN, freshness.maximumAge)
    }

    func finish() throws(APIError) {
        guard let refusal else { return }
        let reason = String(cString: curl_easy_strerror(refusal.code))
        throw APIError(
            domain: .request, code: refusal.code == CURLE_OUT_OF_MEMORY ? .generic : .invalidRequest,
            message: "libcurl refused a setting of the request: \(reason) (option \(refusal.option))",
            transportCode: Int(refusal.code.rawValue))
    }

    /// Sets the options that are the same for every request.
    mutating func setConstants() {
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        if Self.readsFreedHeader { set(CURLOPT_HEADER, 1) }
        set(CURLOPT_PATH_AS_IS, 1)
        // A slow name look-up must not block the loop when its transfer is removed.
        set(CURLOPT_QUICK_EXIT, 1)
        // Our own clocks decide, so libcurl's limit of 300 s is raised to 24 days, the most that fits everywhere.
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(Int32.max))
        set(CURLOPT_MAXLIFETIME_CONN, 600)
        // Ignore the result. libcurl 7.88 refuses to resize a buffer that a handle already has, for example after a
        // transfer that made no connection. The buffer then has this size already.
        ntapi_easy_set_long(easy, CURLOPT_BUFFERSIZE, Self.bufferSize)
        ntapi_easy_set_long(easy, CURLOPT_UPLOAD_BUFFERSIZE, Self.bufferSize)
    }

    mutating func setConnection(_ profile: HandleProfile) {
        if profile.transfer.decompresses { set(CURLOPT_ACCEPT_ENCODING, "") }
        // Always set both. Otherwise libcurl reads the environment, which the host program may be changing.
        set(CURLOPT_PROXY, profile.transfer.proxy ?? "")
        set(CURLOPT_NOPROXY, "")
        let version: Int
        switch profile.settings.httpVersion {
        case .negotiated:
            version = Int(profile.transfer.staysWithHTTP1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS)
        case .http10: version = Int(CURL_HTTP_VERSION_1_0)
        case .http11: version = Int(CURL_HTTP_VERSION_1_1)
        // Without TLS the version cannot be negotiated: the upgrade of RFC 7540 was removed (RFC 9113, 3.1).
        case .http2:
            version = Int(profile.transfer.isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
        }
        set(CURLOPT_HTTP_VERSION, version)
        if profile.settings.httpVersion == .http2, !profile.transfer.isSecure, Self.cannotReuseClearHTTP2 {
            set(CURLOPT_FRESH_CONNECT, 1)
            set(CURLOPT_FORBID_REUSE, 1)
        }
        let identity = profile.settings.identity
        // The proxy may use https even if the server does not.
        let minimum = Int(identity?.tlsMinimum == .tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2)
        set(CURLOPT_SSLVERSION, minimum)
        set(CURLOPT_PROXY_SSLVERSION, minimum)
        if let identity { setIdentity(identity) }
        if profile.settings.allowsInvalidCertificate {
            set(CURLOPT_SSL_VERIFYPEER, 0)
            set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        if profile.settings.trust != .verified { setUnverified() }
        guard profile.maySpeakTLS else { return forgetCertificates() }
        if let store = profile.settings.caFile.map(CertificateStore.init(file:)) ?? CertificateStore.system {
            // Both: instead of libcurl's own store, not in addition to it.
            set(CURLOPT_CAINFO, store.file)
            set(CURLOPT_PROXY_CAINFO, store.file)
            set(CURLOPT_CAPATH, store.folder)
            set(CURLOPT_PROXY_CAPATH, store.folder)
        }
    }

    /// Without TLS the system's certificates are not needed, but libcurl copies their paths for each connection. Ignore
    /// the result: a libcurl whose TLS library has no certificate folder refuses, and has no path to copy.
    private func forgetCertificates() {
        for option in [CURLOPT_CAINFO, CURLOPT_CAPATH, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH] {
            ntapi_easy_set_string(easy, option, nil)
        }
    }

    /// For a certificate that the program inspects or has accepted: a connection that nobody used before or uses later.
    private mutating func setUnverified() {
        set(CURLOPT_SSL_VERIFYPEER, 0)
        set(CURLOPT_SSL_VERIFYHOST, 0)
        set(CURLOPT_CERTINFO, 1)
        // A handshake that resumes a session has no certificates.
        set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        set(CURLOPT_FRESH_CONNECT, 1)
        set(CURLOPT_FORBID_REUSE, 1)
    }

    private mutating func setIdentity(_ identity: ConnectionIdentity) {
        if let certificate = identity.clientCertificate { set(CURLOPT_SSLCERT, certificate) }
        if let key = identity.clientKey { set(CURLOPT_SSLKEY, key) }
        // Always set it. Otherwise OpenSSL asks for the password on the terminal.
        if identity.clientCertificate != nil { set(CURLOPT_KEYPASSWD, identity.clientKeyPassword ?? "") }
        if let pins = identity.pinnedKeys { set(CURLOPT_PINNEDPUBLICKEY, pins) }
        if let interface = identity.networkInterface { set(CURLOPT_INTERFACE, interface) }
        if let proxy = identity.proxy {
            set(CURLOPT_PROXYUSERNAME, proxy.user)
            set(CURLOPT_PROXYPASSWORD, proxy.password)
        }
    }

    /// Each exchange has a connection of its own. Unix sockets have no addresses by which two of them could be told
    /// apart, so nothing can show that one is fit for another request.
    mutating func setUnixSocket(_ path: String) {
        set(CURLOPT_UNIX_SOCKET_PATH, path)
        set(CURLOPT_FRESH_CONNECT, 1)
        set(CURLOPT_FORBID_REUSE, 1)
    }

    /// - Parameter data: the `EasyHandle`, for every callback.
    mutating func setCallbacks(_ profile: HandleProfile, data: UnsafeMutableRawPointer) {
        check(ntapi_easy_set_header(easy, headerCallback, data))
        check(ntapi_easy_set_write(easy, writeCallback, data))
        check(ntapi_easy_set_prereq(easy, prereqCallback, data))
        // Also for a handle without a log. Another transfer on the same connection may have one, and without the
        // callback libcurl prints to standard error, including Authorization.
        check(ntapi_easy_set_debug(easy, debugCallback, data))
        if profile.transfer.hasProgress { check(ntapi_easy_set_progress(easy, progressCallback, data)) }
    }

    /// The method to set, if libcurl does not derive it from the other options.
    func customMethod(of request: HTTPRequest) throws(APIError) -> String? {
        guard !request.method.isEmpty, request.method.utf8.allSatisfy(\.isTokenCharacter) else {
            throw .invalidRequest("method '\(request.method)' is not a token (RFC 9110, 9.1)")
        }
        if request.hasBody { return request.method }
        // libcurl's HEAD has no body. If the request has one, we end the transfer when the head is complete.
        return request.method == "GET" || request.method == "HEAD" ? nil : request.method
    }
}

extension HTTPRequest {
    var hasBody: Bool {
        if case .none = body { return false }
        return true
    }

    /// Whether its body is longer than the window that a new HTTP/2 stream has (RFC 9113, 6.9.2).
    var mayFillWindow: Bool {
        switch body {
        case .none: false
        case .multipart: true
        default: body.knownLength.map { $0 > 65535 } ?? true
        }
    }

    /// Whether the head states the length of the body. For some methods a server expects an explicit zero (RFC 9110,
    /// 8.6).
    var announcesBody: Bool {
        switch method {
        case "POST", "PUT", "PATCH": true
        default: hasBody
        }
    }
}
