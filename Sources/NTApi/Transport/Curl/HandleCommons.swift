import CCurl

/// What the handles of a loop have in common, so that each of thousands need not have its own. On the loop's thread only.
final class HandleCommons {
    /// One store for TLS sessions, for all handles that have none: each would else make its own, of 920 bytes, with its first
    /// transfer. A handle that is to speak TLS leaves it before.
    private let share: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private var lines: HeaderLines?

    init() {
        share = curl_share_init()
        if let share { ntapi_share_set_data(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) }
    }

    // The handles have left it: each keeps it for as long.
    deinit { if let share { curl_share_cleanup(share) } }

    /// - Parameter easy: a handle that has made no transfer yet, or libcurl would lose the store that it has.
    func attach(_ easy: UnsafeMutableRawPointer) { ntapi_easy_set_pointer(easy, CURLOPT_SHARE, share) }

    func detach(_ easy: UnsafeMutableRawPointer) { ntapi_easy_set_pointer(easy, CURLOPT_SHARE, nil) }

    /// The header lines of a request, which nearly always are those of the one before.
    func lines(of request: HTTPRequest, _ profile: HandleProfile?) throws(APIError) -> HeaderLines {
        let tellsProxy = profile?.hasProxy ?? true
        let decompresses = profile?.decompresses ?? false
        if let lines, lines.tellsProxy == tellsProxy, lines.decompresses == decompresses, lines.are(of: request) {
            return lines
        }
        let lines = try HeaderLines(of: request, tellsProxy: tellsProxy, decompresses: decompresses)
        self.lines = lines
        return lines
    }
}
