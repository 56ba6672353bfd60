#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Records all clients of a process to the HAR file that the environment variable `NTAPI_HAR` names.
///
/// The file is written when a client is closed, and when the process exits. Memory is bounded: see `limits`.
final class EnvironmentRecorder: Sendable {
    static let limits = Recorder.Limits(body: 1 << 20, bodies: 64 << 20, exchanges: 10_000)

    private static let file: String? = {
        guard let file = getenv("NTAPI_HAR"), file.pointee != 0 else { return nil }
        return String(cString: file)
    }()
    private static let current = Lock<EnvironmentRecorder?>(leaf: nil, survivesFork: true)
    private static let exitJob: Void = ExitJobs.add { EnvironmentRecorder.ifAny?.save(always: true) }

    private let recorder: Recorder
    private let generation = Fork.generation
    /// How many exchanges were in the file when it was written last.
    private let saved = Lock(0)

    private init(_ path: String) { recorder = Recorder(path, isHAR: true, Self.limits) }

    /// This process's; nil without the variable, and in a child that has not used the library yet.
    static var ifAny: EnvironmentRecorder? {
        guard file != nil, let found = current.withLock({ $0 }), found.generation == Fork.generation else { return nil }
        return found
    }

    /// Begins to record if the variable is set. Called before a process makes its first request.
    static func start() {
        guard let file else { return }
        let new = EnvironmentRecorder(path(file, process: getpid(), isChild: Fork.generation > 0))
        let (isNew, inherited) = current.withLock { current -> (Bool, EnvironmentRecorder?) in
            guard current?.generation != new.generation else { return (false, nil) }
            defer { current = new }
            return (true, current)
        }
        guard isNew else { return }
        if let inherited {
            inherited.recorder.recordsAllClients = false
            Fork.leak(inherited)
        }
        _ = exitJob
        new.recorder.recordsAllClients = true
    }

    /// The path for a process: `%p` is its number. A forked child whose path has none gets a file beside its parent's.
    static func path(_ file: String, process: Int32, isChild: Bool) -> String {
        guard !file.containsSubstring("%p") else {
            return file.components(between: "%p").joined(separator: "\(process)")
        }
        guard isChild else { return file }
        let name = file.lowercasedASCII().hasSuffix(".har") ? file.dropLast(4) : file[...]
        return "\(name).\(process)\(file.dropFirst(name.count))"
    }

    /// Writes the file if there is something new. A failure is logged, because no caller could handle it.
    func save(always: Bool = false) {
        let count = recorder.count
        let isNew = saved.withLock { saved in
            defer { saved = count }
            return saved != count
        }
        guard isNew || always else { return }
        do {
            try recorder.save()
        } catch {
            APILog.write(.error, "NTAPI_HAR: \(error.message)")
        }
    }
}
