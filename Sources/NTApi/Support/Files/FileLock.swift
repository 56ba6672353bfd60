import CNTApiSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An open file that is reserved for one user at a time, in this process and in others.
///
/// The lock belongs to the process (fcntl), not to the descriptor (flock). A forked child would share a flock, and
/// would keep the file locked after its parent has released it or was killed. The system says who has the lock, and
/// releases it however the process ends.
///
/// Such a lock has two gaps: it does not exclude the process that has it, and it is lost when the process closes any
/// descriptor of the file. So the process also keeps a list, and does not open a file that is in it.
final class FileLock: Sendable {
    /// Why a file could not be opened and locked.
    enum Problem: Error {
        /// The system refused, with an errno.
        case open(Int32)
        case lock(Int32)
        /// It is a folder, a pipe or a device.
        case notAFile
        /// This process has locked it.
        case heldHere
        /// Another process has locked it; 0 when it is unknown which one.
        case heldBy(pid_t)
    }

    private struct File: Hashable {
        let device: UInt64
        let number: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            number = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    /// The files that this process has locked, with further descriptors that must stay open as long. A forked child
    /// inherits no lock.
    private struct Held {
        var generation = Fork.generation
        var files: [File: [Int32]] = [:]
    }

    private static let held = Lock(leaf: Held(), survivesFork: true)

    private let file: File
    private let generation = Fork.generation
    /// Negative after `unlock`.
    private let open: Atomic<Int32>

    /// Opens and locks a regular file.
    ///
    /// - Parameter flags: for `open`; they must allow writing. Symbolic links are not followed.
    init(_ path: String, _ flags: Int32 = O_RDWR | O_CREAT, mode: mode_t = 0o600) throws(Problem) {
        let (descriptor, file) = try Self.held.withLock { held throws(Problem) in
            if held.generation != Fork.generation { held = Held() }
            var status = stat()
            if lstat(path, &status) == 0, held.files[File(status)] != nil { throw Problem.heldHere }
            return try Self.take(path, flags, mode, &held)
        }
        self.file = file
        open = Atomic(descriptor)
    }

    deinit { unlock() }

    private static func take(
        _ path: String, _ flags: Int32, _ mode: mode_t, _ held: inout Held
    ) throws(Problem) -> (Int32, File) {
        // O_NONBLOCK: if the file is a pipe, do not wait for a reader.
        let descriptor = systemOpen(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode)
        guard descriptor >= 0 else { throw .open(errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .notAFile
        }
        let file = File(status)
        guard held.files[file] == nil else {
            // It got this name a moment ago. Closing it now would release the lock.
            held.files[file]?.append(descriptor)
            throw .heldHere
        }
        var holder: pid_t = 0
        let number = ntapi_system_lock_file(descriptor, &holder)
        guard number == 0 else {
            close(descriptor)
            throw number == EACCES || number == EAGAIN ? .heldBy(holder) : .lock(number)
        }
        held.files[file] = []
        return (descriptor, file)
    }

    /// The open file; negative after `unlock`.
    var descriptor: Int32 { open.load(ordering: .acquiring) }

    /// Whether this process has the lock.
    var isHeld: Bool { generation == Fork.generation && descriptor >= 0 }

    /// Closes the file.
    ///
    /// - Returns: 0, or the errno of `close`: a network file system may report a full disk only then.
    @discardableResult func unlock() -> Int32 {
        let descriptor = open.exchange(-1, ordering: .acquiringAndReleasing)
        guard descriptor >= 0 else { return 0 }
        return Self.held.withLock { held in
            // A child that closes an inherited file does not affect its parent's list.
            if generation == held.generation, generation == Fork.generation {
                for further in held.files.removeValue(forKey: file) ?? [] { close(further) }
            }
            return close(descriptor) == 0 ? 0 : errno
        }
    }

    private static func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
        #if canImport(Glibc)
            Glibc.open(path, flags, mode)
        #else
            Darwin.open(path, flags, mode)
        #endif
    }
}
