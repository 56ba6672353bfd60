import CCurl

/// Easy handles that wait for their next transfer: making one costs more than resetting it. On the network thread only.
///
/// A reset keeps cookies; the engine never switches libcurl's cookie engine on, so that there are none to keep.
struct HandlePool {
    private static let capacity = 64
    private var handles: [UnsafeMutableRawPointer] = []

    mutating func take() -> UnsafeMutableRawPointer? { handles.popLast() ?? curl_easy_init() }

    /// Takes back a handle that is in no multi. What its options pointed to may be freed afterwards.
    mutating func giveBack(_ easy: UnsafeMutableRawPointer) {
        guard handles.count < Self.capacity else { return curl_easy_cleanup(easy) }
        curl_easy_reset(easy)
        handles.append(easy)
    }

    mutating func removeAll() {
        for easy in handles { curl_easy_cleanup(easy) }
        handles = []
    }
}
