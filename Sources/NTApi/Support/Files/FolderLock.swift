import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Keeps a folder for one process, by a lock on a file in it.
///
/// A lock of the process (fcntl), not of the descriptor (flock): a forked child would share the latter, and keep the folder
/// locked after its parent is gone. The system says who has it, and lets go of it however the process ends. Two things such
/// a lock does not do, so the process itself keeps a list: it does not keep out the process that has it, and it is lost
/// when any descriptor of the file is closed.
final class FolderLock: Sendable {
    private struct File: Hashable {
        let device: UInt64
        let number: UInt64
    }

    /// What this process has locked. A forked child has none of it.
    private struct Held {
        var generation = Fork.generation
        var files: Set<File> = []
    }

    private static let held = Lock(Held(), survivesFork: true)

    private struct State {
        var descriptor: Int32?
    }

    private let file: File
    private let generation = Fork.generation
    private let state: Lock<State>

    /// - Throws: `invalid request` that names the process that has it.
    init(_ path: String) throws(APIError) {
        let (descriptor, file) = try Self.held.withLock { held throws(APIError) in
            if held.generation != Fork.generation { held = Held() }
            if let file = Self.file({ stat(path, &$0) }), held.files.contains(file) {
                throw Self.taken(path, "this process has it open already: close the client that has it, or use that")
            }
            let (descriptor, file) = try Self.lock(path)
            held.files.insert(file)
            return (descriptor, file)
        }
        self.file = file
        state = Lock(State(descriptor: descriptor))
    }

    deinit { unlock() }

    /// Whether this process has it.
    var isHeld: Bool { generation == Fork.generation && state.withLock { $0.descriptor != nil } }

    func unlock() {
        guard let descriptor = state.withLock({ $0.descriptor.take() }) else { return }
        Self.held.withLock { held in
            // A child that closes what it inherited takes nothing from its parent.
            if generation == held.generation, generation == Fork.generation { held.files.remove(file) }
            close(descriptor)
        }
    }

    private static func lock(_ path: String) throws(APIError) -> (Int32, File) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .file("open", path, errno) }
        var holder: pid_t = 0
        let status = ntapi_system_lock_file(descriptor, &holder)
        guard status == 0, let file = file({ fstat(descriptor, &$0) }) else {
            let problem = status == 0 ? errno : status
            close(descriptor)
            guard problem == EACCES || problem == EAGAIN else { throw .file("lock", path, problem) }
            let name = holder == 0 ? "another process" : "process \(holder)"
            throw taken(path, "\(name) has it open: only one at a time can")
        }
        return (descriptor, file)
    }

    private static func taken(_ path: String, _ reason: String) -> APIError {
        .invalidRequest("the folder \(path.dropLast(5)) is locked; \(reason)")
    }

    private static func file(_ ask: (inout stat) -> Int32) -> File? {
        var status = stat()
        guard ask(&status) == 0 else { return nil }
        return File(
            device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(truncatingIfNeeded: status.st_ino))
    }
}
