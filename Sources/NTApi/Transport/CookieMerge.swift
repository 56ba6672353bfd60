/// Brings together the cookies of this process and those in the file, where other processes write theirs: pure decisions.
///
/// What this process has changed since it last saw the file wins; all else is as the file says.
struct CookieMerge {
    typealias Cookies = [Cookie.Key: Cookie]

    /// What the file should have.
    private(set) var merged: Cookies
    /// What others have set, for this process to take over.
    private(set) var toSet: [Cookie] = []
    /// What others have deleted.
    private(set) var toDelete: [Cookie] = []

    /// - Parameters:
    ///   - base: the file as this process last saw it.
    ///   - ours: the cookies of this process, those included that end with the session.
    ///   - file: the file as it is now.
    ///   - now: seconds since 1970.
    init(base: Cookies, ours: Cookies, file: Cookies, now: Double) {
        let kept = ours.filter { $0.value.expires != nil && !$0.value.isExpired(now) }
        merged = file.filter { !$0.value.isExpired(now) }
        for (key, cookie) in kept where base[key] != cookie { merged[key] = cookie }
        for key in base.keys where kept[key] == nil { merged[key] = nil }
        for (key, cookie) in merged where ours[key] != cookie { toSet.append(cookie) }
        for (key, cookie) in kept where merged[key] == nil { toDelete.append(cookie) }
        // One that ends with the session is newer than whatever the file says of it.
        for (key, cookie) in ours where cookie.expires == nil {
            merged[key] = nil
            toSet.removeAll { $0.key == key }
        }
    }
}
