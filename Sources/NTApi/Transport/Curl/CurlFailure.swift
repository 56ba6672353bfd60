import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What is known about a failed transfer, to make an error from it.
struct CurlFailure {
    var code: CURLcode
    /// libcurl's error message for this transfer; may be empty.
    var text: String
    /// The system's error number for the failed connection; 0 when there is none.
    var systemError: Int32
    var host: String
    var port: Int
    var method: String
    /// Whether the request may have reached the server.
    var wasConnected: Bool
    var isIdempotent: Bool
    /// The mobile interface that the connection would have used, although the client forbids it.
    var cellularInterface: String?

    /// The error for the caller. Only here libcurl's codes become errors of the library.
    var error: APIError {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT: return unreachable
        case CURLE_COULDNT_RESOLVE_PROXY: return make(.network, "the proxy's name was not found", retry: true)
        case CURLE_PROXY: return make(.network, "the proxy refused the connection", retry: !wasConnected)
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return make(
                .tls, "the server's public key is not one of the pinned keys",
                advice: "somebody may intercept the connection, or the server has a new key: see pinnedPublicKeys")
        case CURLE_SSL_CERTPROBLEM: return badClientCertificate
        // libcurl 8.23, for a client key that cannot be read.
        case CURLE_BAD_FUNCTION_ARGUMENT where text.containsSubstring("private key"),
            CURLE_NOT_BUILT_IN where text.containsSubstring("private key"):
            return badClientCertificate
        case CURLE_INTERFACE_FAILED:
            return make(.network, "the network interface cannot be used", advice: "check networkInterface")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            return make(.tls, "the server's certificate was not accepted", advice: certificateAdvice)
        case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE:
            if let shortage = Descriptors.shortage(Descriptors.lack) { return make(.network, shortage, retry: true) }
            return make(
                .tls, "the file of trusted certificates cannot be used",
                advice: "check caFile, or the environment's SSL_CERT_FILE")
        case CURLE_SSL_CONNECT_ERROR where isAnsweredInPlain:
            return make(.tls, "the server does not speak TLS at this port", advice: "try http:// in place of https://")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_SHUTDOWN_FAILED, CURLE_USE_SSL_FAILED, CURLE_SSL_CLIENTCERT:
            return make(.tls, "the TLS handshake failed", advice: "the server must speak TLS 1.2 or newer")
        case CURLE_UNSUPPORTED_PROTOCOL:
            // libcurl's code for an answer without a status line, which looks like HTTP/0.9.
            return wasConnected
                ? make(.network, "the server did not answer with HTTP")
                : make(.invalidRequest, "the protocol is not supported", domain: .request)
        case CURLE_URL_MALFORMAT: return make(.invalidRequest, "the URL is not valid", domain: .request)
        case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM:
            return make(.network, "the server did not answer with valid HTTP", retry: code != CURLE_WEIRD_SERVER_REPLY)
        case CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR: return make(.network, decodingProblem)
        case CURLE_GOT_NOTHING: return broken("closed the connection without an answer")
        case CURLE_PARTIAL_FILE: return broken("closed the connection in the middle of the body")
        case CURLE_RECV_ERROR: return broken("broke the connection before the answer was complete")
        case CURLE_SEND_ERROR: return broken("broke the connection while the request was sent")
        case CURLE_SEND_FAIL_REWIND:
            return broken("broke the connection, and the body cannot be sent again from its start")
        case CURLE_UPLOAD_FAILED:
            return make(
                .invalidRequest, "the body cannot be sent", domain: .request,
                advice: "HTTP/1.0 needs a body whose length is known")
        case CURLE_OUT_OF_MEMORY where wasConnected:
            // libcurl 7.88 also uses this code for a header line longer than 100 KB.
            return make(.network, "out of memory, or a header line of the answer is too long")
        case CURLE_OUT_OF_MEMORY: return make(.generic, "out of memory", domain: .request)
        // After the connection is established, this code means that libcurl cannot parse the answer.
        case CURLE_BAD_FUNCTION_ARGUMENT where wasConnected:
            return make(.network, "the server did not answer with valid HTTP")
        case CURLE_BAD_FUNCTION_ARGUMENT, CURLE_UNKNOWN_OPTION, CURLE_NOT_BUILT_IN:
            return make(.generic, "the installed libcurl cannot do this", domain: .request)
        case CURLE_OPERATION_TIMEDOUT: return make(.timeout, "libcurl gave up waiting", retry: !wasConnected)
        // CURLE_TOO_LARGE of libcurl 8.6: one header line, or all of them together.
        case CURLcode(rawValue: 100): return make(.network, "endless headers: the answer's headers are too large")
        default: return make(.network, "the transfer failed")
        }
    }

    /// Whether the first bytes of the server were none of TLS, in the words of OpenSSL and of GnuTLS.
    private var isAnsweredInPlain: Bool {
        ["wrong version number", "packet length too long", "unexpected TLS packet"]
            .contains { text.containsSubstring($0) }
    }

    private var badClientCertificate: APIError {
        make(
            .tls, "the client certificate cannot be used",
            advice: "check the PEM files of clientCertificate and clientKey, and clientKeyPassword")
    }

    private var unreachable: APIError {
        if let cellularInterface {
            let what = "the connection would use the mobile interface \(cellularInterface)"
            return make(.noInternet, what, advice: "allowsCellularAccess is false", retry: true)
        }
        let isResolver = code == CURLE_COULDNT_RESOLVE_HOST
        if let shortage = Descriptors.shortage(isResolver ? Descriptors.lack : systemError) {
            return make(.network, "no connection: \(shortage)", retry: true)
        }
        let hasNoRoute = systemError == ENETUNREACH
        if hasNoRoute || (!Network.isLoopback(host) && !Network.hasInterface) {
            return make(.noInternet, "this machine has no network", retry: true)
        }
        return make(.network, isResolver ? "the host's name was not found" : "no connection", retry: true)
    }

    private func broken(_ what: String) -> APIError {
        let doubt = "it is unknown whether it acted on the \(method)"
        return make(.network, "the server \(what)", advice: wasConnected && !isIdempotent ? doubt : nil, retry: true)
    }

    // libcurl's gzip decoder reports bytes after the first member as a write error.
    private var decodingProblem: String {
        let isBehind = code == CURLE_WRITE_ERROR
        return "the body cannot be decompressed\(isBehind ? ": something follows the end of what was compressed" : "")"
    }

    private var certificateAdvice: String {
        text.containsSubstring("subject name")
            ? "the certificate is for another host name"
            : text.containsSubstring("expired")
                ? "the certificate has expired"
                : "to trust its issuer, set caFile"
    }

    /// - Parameter retry: whether trying again may help. Ignored when the server may have acted on the request.
    private func make(
        _ errorCode: ErrorCode, _ what: String, domain: APIError.Domain = .network, advice: String? = nil,
        retry: Bool = false
    ) -> APIError {
        // libcurl's text may quote the proxy's URL, with its password.
        let isOfProxy = code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_PROXY
        let known = String(cString: curl_easy_strerror(code))
        let reason = text.isEmpty || isOfProxy ? known : Secrets.redactURLs(in: text)
        let advice = advice.map { "; \($0)" } ?? ""
        var error = APIError(
            domain: domain, code: errorCode, message: "\(host):\(port): \(what) (\(reason))\(advice)",
            transportCode: Int(code.rawValue), isRetryable: retry && (isIdempotent || !wasConnected))
        if domain == .network, errorCode != .timeout { error.failure = errorCode == .tls ? .tls : kind }
        return error
    }
}

extension CurlFailure {
    /// The kind of network failure, from libcurl's code and message.
    var kind: NetworkFailure {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: .nameLookup
        // Since libcurl 8.20 a tunnel that the proxy refuses is one, too.
        case CURLE_COULDNT_CONNECT where text.containsSubstring("CONNECT"): .proxy
        case CURLE_COULDNT_CONNECT: systemError == ECONNREFUSED ? .refused : .unreachable
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: .proxy
        case CURLE_GOT_NOTHING: .noAnswer
        case CURLE_PARTIAL_FILE: .cutShort
        // libcurl 7.88 also uses this code for malformed chunks.
        case CURLE_RECV_ERROR where text.containsSubstring("proxy") || text.containsSubstring("CONNECT"): .proxy
        case CURLE_RECV_ERROR where text.containsSubstring("chunk"): .notHTTP
        // The server closed one idle connection after another while the request was sent.
        case CURLE_SEND_ERROR where text.containsSubstring("Connection died"): .noAnswer
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND, CURLE_HTTP2_STREAM: .reset
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLcode(rawValue: 100): .notHTTP
        case CURLE_OUT_OF_MEMORY: .notHTTP
        // If the failure is not ours, only libcurl's decoder can have refused the body.
        case CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR: .decoding
        default: .other
        }
    }
}

/// The state of the machine's network, to distinguish "the server is down" from "this machine is offline".
enum Network {
    static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host.hasASCIIPrefix("127.") || host == "[::1]"
    }

    /// Whether an interface other than loopback is up and has an address.
    static var hasInterface: Bool {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return true }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next?.pointee {
            let isUp = entry.ifa_flags & UInt32(IFF_UP) != 0
            let isLoopback = entry.ifa_flags & UInt32(IFF_LOOPBACK) != 0
            if isUp, !isLoopback, let address = entry.ifa_addr {
                let family = Int32(address.pointee.sa_family)
                if family == AF_INET || family == AF_INET6 { return true }
            }
            next = entry.ifa_next
        }
        return false
    }
}
