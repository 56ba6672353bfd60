/// Finds the hooks that a subclass of ``APIClient`` overrides, so that it does not pay for the others.
///
/// Swift has no way to ask. But the metadata of a class holds a table with the address of each method, and an override
/// changes one entry. Which entry belongs to which hook is learned from probes: subclasses that override one hook each.
/// If the probes do not give one entry for each hook, the metadata is not what this file expects, and each subclass
/// counts as overriding all hooks: that is slower, but right.
enum OverriddenHooks {
    /// The hooks that this class or one of its superclasses below `APIClient` overrides.
    static func of(_ type: APIClient.Type) -> APIClient.HookKinds {
        guard type != APIClient.self else { return [] }
        guard let entries else { return .all }
        let (base, table) = (MethodTable(APIClient.self), MethodTable(type))
        return entries.reduce(into: []) { found, entry in
            if table[entry.index] != base[entry.index] { found.insert(entry.kind) }
        }
    }

    /// The entry of each hook; nil when it is not known.
    static let entries: [(kind: APIClient.HookKinds, index: Int)]? = {
        let base = MethodTable(APIClient.self)
        let probes = Probes.all.map { (kind: $0.kind, table: MethodTable($0.type)) }
        var entries: [(kind: APIClient.HookKinds, index: Int)] = []
        for index in 0..<base.count {
            let changed = probes.filter { $0.table[index] != base[index] }
            // Initializers and the like are changed in each of them.
            if changed.count == 1 { entries.append((changed[0].kind, index)) }
        }
        return entries.map(\.kind.rawValue).sorted() == Probes.all.map(\.kind.rawValue).sorted() ? entries : nil
    }()

    /// The words of a class's metadata from its address point to the end of what `APIClient` declares.
    private struct MethodTable {
        private let words: UnsafePointer<UInt>
        let count: Int

        init(_ type: APIClient.Type) {
            words = unsafeBitCast(type, to: UnsafePointer<UInt>.self)
            count = Self.size / MemoryLayout<UInt>.size
        }

        subscript(_ index: Int) -> UInt { words[index] }

        /// The bytes after the address point. The layout is that of Swift's ABI, "class metadata".
        private static let size: Int = {
            let metadata = unsafeBitCast(APIClient.self, to: UnsafeRawPointer.self)
            #if canImport(ObjectiveC)
                let sizes = 7 * MemoryLayout<UInt>.size
            #else
                let sizes = 4 * MemoryLayout<UInt>.size
            #endif
            let whole = metadata.load(fromByteOffset: sizes, as: UInt32.self)
            let before = metadata.load(fromByteOffset: sizes + 4, as: UInt32.self)
            return max(0, Int(whole) - Int(before))
        }()
    }
}

/// The probes. No object of them is ever made. Each does something else, so that no linker folds two of their methods.
private enum Probes {
    static let all: [(kind: APIClient.HookKinds, type: APIClient.Type)] = [
        (.building, BuildArgs.self), (.building, BuildRequest.self), (.requestStarted, Started.self),
        (.informationReceived, Information.self), (.uploadProgressed, UploadProgressed.self),
        (.downloadProgressed, DownloadProgressed.self), (.dataReceived, DataReceived.self),
        (.metricsCollected, Metrics.self), (.requestCompleted, Completed.self), (.parseJSON, Parse.self),
        (.mapServiceError, MapService.self), (.mapError, Map.self), (.writeLog, Write.self),
        (.sessionInvalidated, Invalidated.self),
    ]

    private class BuildArgs: APIClient, @unchecked Sendable {
        override func buildArgs(_ command: String, _ args: inout [APIArg]) { args = [.option("probe 1")] }
    }
    private class BuildRequest: APIClient, @unchecked Sendable {
        override func buildRequest(_ request: inout HTTPRequest, options: APIOptions) { request.method = "2" }
    }
    private class Started: APIClient, @unchecked Sendable {
        override func requestStarted(_ request: APIRequest) { request.taskDescription = "3" }
    }
    private class Information: APIClient, @unchecked Sendable {
        override func informationReceived(_ request: APIRequest, status: Int, headers: HTTPHeaders) {
            request.taskDescription = "4"
        }
    }
    private class UploadProgressed: APIClient, @unchecked Sendable {
        override func uploadProgressed(_ request: APIRequest, _ progress: TransferProgress) {
            request.taskDescription = "5"
        }
    }
    private class DownloadProgressed: APIClient, @unchecked Sendable {
        override func downloadProgressed(_ request: APIRequest, _ progress: TransferProgress) {
            request.taskDescription = "6"
        }
    }
    private class DataReceived: APIClient, @unchecked Sendable {
        override func dataReceived(_ request: APIRequest, _ data: ResponseData) { request.taskDescription = "7" }
    }
    private class Metrics: APIClient, @unchecked Sendable {
        override func metricsCollected(_ request: APIRequest, _ metrics: RequestMetrics) {
            request.taskDescription = "8"
        }
    }
    private class Completed: APIClient, @unchecked Sendable {
        override func requestCompleted(_ request: APIRequest, _ response: APIResponse) { request.taskDescription = "9" }
    }
    private class Parse: APIClient, @unchecked Sendable {
        override func parseJSON(_ data: ResponseData) throws -> ParsedJSON? { ParsedJSON(JSON(10)) }
    }
    private class MapService: APIClient, @unchecked Sendable {
        override func mapServiceError(_ response: APIResponse) -> APIError? { .invalidRequest("11") }
    }
    private class Map: APIClient, @unchecked Sendable {
        override func mapError(_ error: APIError, _ response: APIResponse) -> APIError { .invalidRequest("12") }
    }
    private class Write: APIClient, @unchecked Sendable {
        override func writeLog(_ level: LogLevel, _ message: String) { APILog.write(level, "13") }
    }
    private class Invalidated: APIClient, @unchecked Sendable {
        override func sessionInvalidated() { logFlags = [] }
    }
}
