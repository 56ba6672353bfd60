import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension CurlFailure {
    /// What kind of failure of the network libcurl's code and words stand for.
    var kind: NetworkFailure {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: .nameLookup
        case CURLE_COULDNT_CONNECT: systemError == ECONNREFUSED ? .refused : .unreachable
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: .proxy
        case CURLE_GOT_NOTHING: .noAnswer
        case CURLE_PARTIAL_FILE: .cutShort
        // libcurl 7.88 says so of malformed chunks, too.
        case CURLE_RECV_ERROR where text.containsSubstring("proxy") || text.containsSubstring("CONNECT"): .proxy
        case CURLE_RECV_ERROR where text.containsSubstring("chunk"): .notHTTP
        // On one idle connection after another the server has closed it in answer to the request.
        case CURLE_SEND_ERROR where text.containsSubstring("Connection died"): .noAnswer
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND, CURLE_HTTP2_STREAM: .reset
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLcode(rawValue: 100): .notHTTP
        case CURLE_OUT_OF_MEMORY: .notHTTP
        // Without a failure of our own, only libcurl's decoder refuses to hand a body over.
        case CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR: .decoding
        default: .other
        }
    }
}
