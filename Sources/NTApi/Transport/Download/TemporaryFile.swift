#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file of a download without a destination: removed with this object, or when the process exits, unless it was released.
final class TemporaryFile: Sendable {
    let path: String
    private let generation = Fork.generation

    /// Those that are there. A forked child removes none of its parent's.
    private struct Known {
        var generation = Fork.generation
        var paths: Set<String> = []
        var isArranged = false
    }

    private static let known = Lock(Known(), survivesFork: true)

    /// Takes over a file, which is there.
    init(_ path: String) {
        self.path = path
        let isFirst = Self.known.withLock { known in
            if known.generation != generation { known = Known(isArranged: known.isArranged) }
            known.paths.insert(path)
            defer { known.isArranged = true }
            return !known.isArranged
        }
        if isFirst { ExitJobs.add { Self.removeAll() } }
    }

    deinit {
        guard generation == Fork.generation, release() else { return }
        // One that the program has moved elsewhere is not there any more.
        unlink(path)
    }

    /// It stays: somebody else will look after it.
    ///
    /// - Returns: false when it was released before, or removed.
    @discardableResult func release() -> Bool { Self.known.withLock { $0.paths.remove(path) != nil } }

    private static func removeAll() {
        let paths = known.withLock { known in
            defer { known.paths = [] }
            return known.generation == Fork.generation ? known.paths : []
        }
        for path in paths { unlink(path) }
    }

    /// A new name in the folder for temporary files, which nobody else comes to.
    static func newPath() -> String {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let name = "ntapi-\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp"
        return folder.utf8.first == UInt8(ascii: "/") ? "\(folder)/\(name)" : "/tmp/\(name)"
    }
}
