import CCurl

/// The cookies of a session in libcurl's cookie engine, which keeps its rules: domains, paths, the public suffixes.
///
/// A curl share handle, which the transfers of all loops use. libcurl holds the lock only while it looks at the cookies; nothing
/// under it takes long.
final class CookieEngine: @unchecked Sendable {
    // Safe to share: the share has its locks; the easy handle is used under the lock of the cookies alone.
    private let share: OpaquePointer
    private let easy: UnsafeMutableRawPointer
    /// The easy handle, for the lock callback: whoever uses it holds the lock of the cookies already.
    private let owner: UnsafeMutablePointer<UnsafeMutableRawPointer?>

    /// Nil when there is no memory.
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
        // Loaded once for a session, and not by each loop.
        ntapi_share_set_data(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_PSL)
        attach(easy)
        owner.pointee = easy
    }

    deinit {
        // No transfer has a part in the share any more: each keeps this object until it is over.
        Self.detach(easy)
        curl_easy_cleanup(easy)
        curl_share_cleanup(UnsafeMutableRawPointer(share))
        owner.deallocate()
    }

    // MARK: For transfers, on their thread

    /// Lets a handle send and take the cookies, until `detach`.
    func attach(_ easy: UnsafeMutableRawPointer) {
        setShared(true, easy)
        ntapi_easy_set_string(easy, CURLOPT_COOKIEFILE, "")
    }

    /// Withholds the cookies from a handle that is attached for a while, or gives them back to it.
    func setShared(_ isShared: Bool, _ easy: UnsafeMutableRawPointer) {
        ntapi_easy_set_pointer(easy, CURLOPT_SHARE, isShared ? UnsafeMutableRawPointer(share) : nil)
    }

    /// Before any reset, which would leave libcurl 7.88 with memory that it forgets.
    static func detach(_ easy: UnsafeMutableRawPointer) {
        ntapi_easy_set_string(easy, CURLOPT_COOKIEFILE, nil)
        ntapi_easy_set_pointer(easy, CURLOPT_SHARE, nil)
    }

    // MARK: For any thread

    /// Those that are valid.
    func cookies(_ now: Double) -> [Cookie] { Self.cookies(SharedMutex.cookies.withLock { lines }, now) }

    /// - Returns: false when libcurl does not accept the cookie.
    func set(_ cookie: Cookie) -> Bool {
        SharedMutex.cookies.withLock {
            add(cookie)
            return Self.cookies(lines, 0).contains { $0.key == cookie.key }
        }
    }

    /// Deletes those that match; the others stay.
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

    /// Merges with what others have written, and takes over what they have set and deleted.
    ///
    /// Works without the lock, because transfers wait for it. If one of them sets a cookie meanwhile, it starts again.
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

    // With the lock.

    private var lines: [String] {
        var list: UnsafeMutablePointer<curl_slist>?
        guard ntapi_easy_get_list(easy, CURLINFO_COOKIELIST, &list) == CURLE_OK else { return [] }
        defer { curl_slist_free_all(list) }
        var lines: [String] = []
        var next = list
        while let line = next?.pointee {
            // A server may have set what is not UTF-8: such a cookie is sent, but not listed or kept.
            if let data = line.data, let text = String(validatingCString: data) { lines.append(text) }
            next = line.next
        }
        return lines
    }

    private func add(_ cookie: Cookie) { _ = ntapi_easy_set_string(easy, CURLOPT_COOKIELIST, cookie.line) }

    /// libcurl has no call for it: a cookie that has expired takes its place, and is removed at the next look.
    private func remove(_ cookie: Cookie) {
        var cookie = cookie
        cookie.expires = 1
        add(cookie)
        _ = lines
    }
}

// libcurl says which handle it locks for. The engine's own is used only by who holds the lock.
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
