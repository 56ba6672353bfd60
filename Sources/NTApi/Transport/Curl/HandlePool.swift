import CCurl

/// Easy handles for the next transfers: making one costs more than setting one up. Used only on the network thread.
struct HandlePool {
    private static let capacity = 128
    private var handles: [EasyHandle] = []
    private let shared = SharedEasyState()

    mutating func take() -> EasyHandle? { handles.popLast() ?? EasyHandle(shared) }

    /// Takes back a handle that is in no multi.
    ///
    /// - Parameter isClean: whether its transfer has left nothing in it. Otherwise the handle is thrown away.
    mutating func giveBack(_ handle: EasyHandle, isClean: Bool) {
        handle.finish()
        if isClean, handles.count < Self.capacity, handle.state.isReusable { handles.append(handle) }
    }

    mutating func removeAll() { handles = [] }
}

/// What the easy handles of a loop share, so that each of thousands does not need its own. Used only on the loop's
/// thread.
final class SharedEasyState {
    /// An empty store of TLS sessions for all handles without TLS. Otherwise each would allocate its own, of 920 bytes,
    /// with its first transfer. A handle that needs TLS leaves it first.
    private let share: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private var lines: HeaderLines?

    init() {
        share = curl_share_init()
        if let share { ntapi_share_set_data(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) }
    }

    // No handle uses it any more, because each keeps this object.
    deinit { if let share { curl_share_cleanup(share) } }

    /// - Parameter easy: a handle that has made no transfer yet. libcurl would leak the store that it already has.
    func attach(_ easy: UnsafeMutableRawPointer) { ntapi_easy_set_pointer(easy, CURLOPT_SHARE, share) }

    func detach(_ easy: UnsafeMutableRawPointer) { ntapi_easy_set_pointer(easy, CURLOPT_SHARE, nil) }

    /// The header lines of a request; nearly always the same as those of the request before.
    func lines(of source: HeaderLines.Source) throws(APIError) -> HeaderLines {
        if let lines, lines.are(from: source) { return lines }
        let lines = try HeaderLines(source)
        self.lines = lines
        return lines
    }
}
