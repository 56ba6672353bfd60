import CCurl
import Synchronization

/// The cookies of a session in libcurl's cookie engine, which implements the rules: domains, paths, public suffixes.
///
/// It is a curl share handle that the transfers of all loops use. libcurl holds the lock only while it accesses the
/// cookies, which is quick.
final class CookieEngine: @unchecked Sendable {
    // Safe to share: the share handle has its own locks, and the easy handle is only used under the lock of the
    // cookies.
    private let share: OpaquePointer
    private let easy: UnsafeMutableRawPointer
    /// The easy handle, for the lock callback. A thread that uses this handle already holds the lock of the cookies.
    private let owner: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    /// At least the size of all cookies. While they fit into one request, nobody looks for those of a URL.
    private let size = Atomic(0)

    /// Fails when there is no memory.
    init?() {
        guard CurlGlobal.ready == CURLE_OK, let share = curl_share_init() else { return nil }
        guard let easy = curl_easy_init() else {
            curl_share_cleanup(share)
            return nil
        }
        self.share = OpaquePointer(share)
        self.easy = easy
        owner = .allocate(capacity: 1)
        owner.initialize(to: nil)
        ntapi_share_set_locks(share, lockCallback, unlockCallback, owner)
        ntapi_share_set_data(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE)
        // Loads the public suffix list once for a session, not once for each loop.
        ntapi_share_set_data(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_PSL)
        attach(easy, isShared: true)
        owner.pointee = easy
    }

    deinit {
        // No transfer uses the share any more, because each keeps this object until its end.
        Self.detach(easy)
        curl_easy_cleanup(easy)
        curl_share_cleanup(UnsafeMutableRawPointer(share))
        owner.deallocate()
    }

    // MARK: For transfers, on their thread

    /// Makes a handle use cookies, until `detach`.
    ///
    /// - Parameter isShared: whether it sends and stores the session's. Otherwise it has its own, none at first.
    func attach(_ easy: UnsafeMutableRawPointer, isShared: Bool) {
        if isShared { setShared(true, easy) }
        ntapi_easy_set_string(easy, CURLOPT_COOKIEFILE, "")
    }

    /// Copies the session's cookies to a handle that has its own. What the handle receives is not stored in the session.
    func copyCookies(to easy: UnsafeMutableRawPointer) {
        ntapi_easy_set_string(easy, CURLOPT_COOKIELIST, "ALL")
        for line in SharedMutex.cookies.withLock({ lines }) { ntapi_easy_set_string(easy, CURLOPT_COOKIELIST, line) }
    }

    /// Gives the session the cookies that a handle with its own has received.
    func takeCookies(from easy: UnsafeMutableRawPointer) {
        let received = Self.lines(easy) { String(validatingCString: $0) }
        SharedMutex.cookies.withLock { for line in received { add(line) } }
    }

    /// Lets an attached handle use the session's cookies, or its own.
    ///
    /// - Returns: false when this libcurl does not allow that during a transfer.
    @discardableResult func setShared(_ isShared: Bool, _ easy: UnsafeMutableRawPointer) -> Bool {
        ntapi_easy_set_pointer(easy, CURLOPT_SHARE, isShared ? UnsafeMutableRawPointer(share) : nil) == CURLE_OK
    }

    /// Call it before any reset. After a reset, libcurl 7.88 would leak memory.
    static func detach(_ easy: UnsafeMutableRawPointer) {
        ntapi_easy_set_string(easy, CURLOPT_COOKIEFILE, nil)
        ntapi_easy_set_pointer(easy, CURLOPT_SHARE, nil)
    }

    /// The Cookie header of a request if libcurl would leave out cookies; nil if it sends them all.
    ///
    /// libcurl sends only the first 8,190 bytes, and 150 cookies, without a word. RFC 6265, 6.1 asks for 50 cookies of
    /// 4,096 bytes for each domain.
    func longHeader(for http: HTTPRequest) -> [CChar]? {
        guard size.load(ordering: .relaxed) > Self.libcurlSends, let url = http.cookieURL else { return nil }
        // Latin-1 keeps the bytes of cookies that are not UTF-8.
        let lines = SharedMutex.cookies.withLock { Self.lines(easy) { String(latin1: $0) } }
        let all = Self.cookies(lines, wallClockSeconds())
        let total = all.reduce(0) { $0 + Self.size(of: $1) }
        size.store(total, ordering: .relaxed)
        let cookies = all.filter { $0.isFor(url) }
        guard cookies.reduce(0, { $0 + Self.size(of: $1) }) > Self.libcurlSends else { return nil }
        // RFC 6265, 5.4: longer paths first, then the oldest first. libcurl lists the oldest first, and this sort is
        // stable.
        let sorted = cookies.sorted { $0.path.utf8.count > $1.path.utf8.count }
        return sorted.map { "\($0.name)=\($0.value)" }.joined(separator: "; ").latin1Text
    }

    /// Whether a cookie would be sent with a request.
    func hasCookies(for http: HTTPRequest) -> Bool {
        guard size.load(ordering: .relaxed) > 0, let url = http.cookieURL else { return false }
        let lines = SharedMutex.cookies.withLock { Self.lines(easy) { String(latin1: $0) } }
        return Self.cookies(lines, wallClockSeconds()).contains { $0.isFor(url) }
    }

    /// A server has set cookies, with these headers.
    func received(_ headers: [String]) {
        for header in headers { grow(max(Self.leastSize, header.utf8.count)) }
    }

    private func grow(_ bytes: Int) { size.wrappingAdd(bytes, ordering: .relaxed) }

    private static let libcurlSends = 8000
    /// So counted, 150 cookies are more than libcurl sends.
    private static let leastSize = 60

    private static func size(of cookie: Cookie) -> Int {
        max(leastSize, cookie.name.utf8.count + cookie.value.utf8.count + "=; ".utf8.count)
    }

    // MARK: For any thread

    /// The cookies that have not expired.
    func cookies(_ now: Double) -> [Cookie] { Self.cookies(SharedMutex.cookies.withLock { lines }, now) }

    /// - Returns: false when libcurl does not accept the cookie.
    func set(_ cookie: Cookie) -> Bool {
        SharedMutex.cookies.withLock {
            add(cookie)
            return Self.cookies(lines, 0).contains { $0.key == cookie.key }
        }
    }

    /// Deletes the cookies that match.
    ///
    /// - Returns: whether there were any.
    func delete(where matches: (Cookie) -> Bool) -> Bool {
        SharedMutex.cookies.withLock {
            let found = Self.cookies(lines, 0).filter(matches)
            for cookie in found { remove(cookie) }
            return !found.isEmpty
        }
    }

    func removeAll() {
        SharedMutex.cookies.withLock { _ = ntapi_easy_set_string(easy, CURLOPT_COOKIELIST, "ALL") }
    }

    /// Merges the cookies with those of other processes, and takes over what those have set and deleted.
    ///
    /// Does not hold the lock meanwhile, because transfers wait for it. If a transfer sets a cookie meanwhile, the
    /// merge starts again.
    func merge(base: CookieMerge.Cookies, file: CookieMerge.Cookies, now: Double) -> CookieMerge.Cookies {
        while true {
            let before = SharedMutex.cookies.withLock { lines }
            let ours = Dictionary(Self.cookies(before, now).map { ($0.key, $0) }, uniquingKeysWith: { $1 })
            let merge = CookieMerge(base: base, ours: ours, file: file, now: now)
            if merge.toSet.isEmpty, merge.toDelete.isEmpty { return merge.merged }
            let isDone = SharedMutex.cookies.withLock {
                guard lines == before else { return false }
                for cookie in merge.toDelete { remove(cookie) }
                for cookie in merge.toSet { add(cookie) }
                return true
            }
            if isDone { return merge.merged }
        }
    }

    private static func cookies(_ lines: [String], _ now: Double) -> [Cookie] {
        lines.compactMap { Cookie(line: $0) }.filter { !$0.isExpired(now) }
    }

    // MARK: Under the lock

    // A server may have set a cookie that is not UTF-8. It is sent, but not listed or stored on disk.
    private var lines: [String] { Self.lines(easy) { String(validatingCString: $0) } }

    private static func lines(
        _ easy: UnsafeMutableRawPointer, _ text: (UnsafePointer<CChar>) -> String?
    ) -> [String] {
        var list: UnsafeMutablePointer<curl_slist>?
        guard ntapi_easy_get_list(easy, CURLINFO_COOKIELIST, &list) == CURLE_OK else { return [] }
        defer { curl_slist_free_all(list) }
        var lines: [String] = []
        var next = list
        while let line = next?.pointee {
            if let data = line.data, let text = text(data) { lines.append(text) }
            next = line.next
        }
        return lines
    }

    private func add(_ cookie: Cookie) { add(cookie.line) }

    private func add(_ line: String) {
        grow(max(Self.leastSize, line.utf8.count))
        _ = ntapi_easy_set_string(easy, CURLOPT_COOKIELIST, line)
    }

    /// libcurl cannot delete a single cookie. Replace it with an expired one, which libcurl removes the next time.
    private func remove(_ cookie: Cookie) {
        var cookie = cookie
        cookie.expires = 1
        add(cookie)
        _ = lines
    }
}

extension HTTPRequest {
    /// The URL whose cookies are sent. As in libcurl, a Host header names the host.
    fileprivate var cookieURL: URLParts? {
        guard let host = headers["Host"] else { return try? URLParts(url) }
        guard let parts = try? URLParts(url) else { return nil }
        return try? URLParts("\(parts.scheme)://\(host)\(parts.path)")
    }
}

extension String {
    /// Each byte as the character with its number.
    fileprivate init(latin1 text: UnsafePointer<CChar>) {
        self.init()
        var next = text
        while next.pointee != 0 {
            unicodeScalars.append(Unicode.Scalar(UInt8(bitPattern: next.pointee)))
            next += 1
        }
    }

    fileprivate var latin1Text: [CChar] { unicodeScalars.map { CChar(truncatingIfNeeded: $0.value) } + [0] }
}

// libcurl passes the handle that it locks for. The engine's own handle is only used by a thread that holds the lock.
private func lockCallback(
    easy: UnsafeMutableRawPointer?, data: curl_lock_data, access: curl_lock_access, owner: UnsafeMutableRawPointer?
) { mutex(for: easy, data, owner)?.lock() }

private func unlockCallback(easy: UnsafeMutableRawPointer?, data: curl_lock_data, owner: UnsafeMutableRawPointer?) {
    mutex(for: easy, data, owner)?.unlock()
}

private func mutex(
    for easy: UnsafeMutableRawPointer?, _ data: curl_lock_data, _ owner: UnsafeMutableRawPointer?
) -> SharedMutex? {
    switch data {
    case CURL_LOCK_DATA_COOKIE:
        let engine = owner?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self).pointee
        return easy != nil && easy == engine ? nil : .cookies
    case CURL_LOCK_DATA_PSL: return .publicSuffixes
    default: return .curlShares
    }
}
