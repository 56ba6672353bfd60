// The cache that a session makes for itself, by its settings. Those that cannot be used are told of when a request is made.
extension HTTPCache {
    private struct Known: Hashable {
        let folder: String
        let memoryCapacity: Int
        let diskCapacity: Int
        /// A forked child has one of its own.
        let generation: Int
    }

    // They live as long as the process, so that clients may come and go, and share what is in memory.
    private static let known = Lock<[Known: HTTPCache]>([:], survivesFork: true)

    static func memoryCapacity(_ defaults: Defaults) -> Int {
        defaults["cacheMemoryCapacity"]?.int ?? standardMemoryCapacity
    }

    /// The cache of a default session: that of the program.
    static func onDisk(_ defaults: Defaults) -> HTTPCache {
        let memoryCapacity = max(0, memoryCapacity(defaults))
        let diskCapacity = max(0, defaults["cacheDiskCapacity"]?.int ?? standardDiskCapacity)
        guard diskCapacity > 0 else { return HTTPCache(memoryCapacity: memoryCapacity) }
        guard let folder = defaults["cacheFolder"]?.string ?? folder(defaults["applicationName"]?.string) else {
            APILog.warn("the user has no home directory: the cache is kept in memory only")
            return HTTPCache(memoryCapacity: memoryCapacity)
        }
        let name = Known(
            folder: folder, memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, generation: Fork.generation)
        if let cache = known.withLock({ $0[name] }) { return cache }
        guard let made = try? HTTPCache(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, folder: folder)
        else { return HTTPCache(memoryCapacity: memoryCapacity) }
        let first = known.withLock { known in
            let first = known[name]
            if first == nil { known[name] = made }
            return first
        }
        return first ?? made
    }

    private static func folder(_ name: String?) -> String? {
        DataFolder.path(of: name.flatMap { DataFolder.isName($0) ? $0 : nil }, .cache).map { "\($0)/responses" }
    }
}

extension SettingsReader {
    /// The cache that requests use; nil when they use none.
    func cache(_ cache: HTTPCache?) throws(APIError) -> HTTPCache? {
        _ = try count("cacheMemoryCapacity", from: 0)
        _ = try count("cacheDiskCapacity", from: 0)
        if let folder = try text("cacheFolder"), folder.utf8.first != UInt8(ascii: "/") {
            throw problem("cacheFolder", JSON(folder), "the absolute path of a folder")
        }
        return try isOn("usesCache") ?? true ? cache : nil
    }
}
