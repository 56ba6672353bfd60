import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The file descriptors of the process. Idle connections must leave some of them to the program.
enum Descriptors {
    /// The sockets of all connections.
    private static let sockets = Atomic<Int>(0)
    /// How many sockets there may be before idle connections are closed: half of the process's limit.
    private static let share = Atomic<Int>(.max)

    static func didOpenSocket() {
        sockets.wrappingAdd(1, ordering: .relaxed)
        share.store((limit ?? .max) / 2, ordering: .relaxed)
    }

    static func didCloseSocket() { sockets.wrappingSubtract(1, ordering: .relaxed) }

    /// Whether connections have more than their share.
    static var areScarce: Bool { sockets.load(ordering: .relaxed) > share.load(ordering: .relaxed) }

    /// The limit of the process; nil for none.
    private static var limit: Int? {
        var limit = rlimit()
        #if os(Linux)
            let code = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
            let code = getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        return code == 0 ? Int(exactly: limit.rlim_cur) : nil
    }

    /// What is missing, if the system's error number says that there is no descriptor.
    static func shortage(_ error: Int32) -> String? {
        switch error {
        case EMFILE:
            "the process has no file descriptor left: its limit is \(limit.map { "\($0)" } ?? "unknown") (RLIMIT_NOFILE)"
        case ENFILE: "the system has no file descriptor left (ENFILE)"
        default: nil
        }
    }

    /// The system's error number if it has no descriptors for a new connection; 0 otherwise. For failures that do not
    /// say it: the look-up of a name, and the file of certificates.
    static var lack: Int32 {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        for _ in 0..<4 {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return errno }
            taken.append(descriptor)
        }
        return 0
    }
}
