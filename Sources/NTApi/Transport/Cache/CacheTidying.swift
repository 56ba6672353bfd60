/// Which files of a cache go, so that the rest fits: a pure decision.
struct CacheTidying: Sendable {
    /// Names of files, in the order in which they are to go.
    private(set) var gone: [String] = []
    /// How many bytes are left.
    private(set) var usage: Int64 = 0

    /// A body without a record, or a file without its name, may be one that another process is about to finish.
    private static let patience = 600.0

    /// - Parameters:
    ///   - files: all that there are.
    ///   - now: seconds since 1970.
    init(_ files: [CacheFolder.File], capacity: Int64, now: Double) {
        var groups: [String: Group] = [:]
        for file in files {
            if file.name.hasSuffix(CacheFileName.temporaryEnding) {
                // The time of a file that seems to come from the future is a mistake.
                if abs(now - file.used) > Self.patience { gone.append(file.name) } else { usage += file.size }
                continue
            }
            groups[CacheFileName.digest(file.name), default: Group()].add(file)
        }
        usage += groups.values.reduce(0) { $0 + $1.size }
        for (digest, group) in groups where group.recordUsed == nil && abs(now - group.newest) > Self.patience {
            drop(group)
            groups[digest] = nil
        }
        guard usage > capacity else { return }
        // Some room, so that the next response does not need all of this again.
        let wanted = capacity - capacity / 10
        for group in groups.values.sorted(by: { ($0.used, $0.size) < ($1.used, $1.size) }) where usage > wanted {
            drop(group)
        }
    }

    private mutating func drop(_ group: Group) {
        // The record first: what it tells of must be there.
        gone += group.names.sorted {
            $0.hasSuffix(CacheFileName.recordEnding) && !$1.hasSuffix(CacheFileName.recordEnding)
        }
        usage -= group.size
    }

    /// What belongs to one URL: it goes together.
    private struct Group {
        var names: [String] = []
        var size: Int64 = 0
        /// When its record was used last; nil without one.
        var recordUsed: Double?
        var newest = 0.0

        var used: Double { recordUsed ?? newest }

        mutating func add(_ file: CacheFolder.File) {
            names.append(file.name)
            size += file.size
            newest = max(newest, file.used)
            if file.name.hasSuffix(CacheFileName.recordEnding) { recordUsed = file.used }
        }
    }
}
