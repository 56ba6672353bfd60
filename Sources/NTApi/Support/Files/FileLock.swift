import CNTApiSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An open file that is reserved for one user at a time, in this process and in others.
///
/// The lock belongs to the open file (F_OFD_SETLK, or flock where the system has no such lock), not to the process. So
/// the program may open and close the same file, to show what is there: a lock of the process (F_SETLK) would vanish.
///
/// A child inherits the open file, and would keep it locked after its parent was killed. So each child closes it, in the
/// handler of the fork: as soon as it runs, which may be after its parent has returned from `fork`.
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
        /// Another process has locked it.
        case heldElsewhere
    }

    private struct File: Hashable {
        let device: UInt64
        let number: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            number = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    /// The descriptors of the files that this process has locked. A fork waits for this lock, so nothing is done under it
    /// that may wait for a disk or a server.
    private static let held = Lock(leaf: [File: Int32](), survivesFork: true)

    private let file: File
    private let generation = Fork.generation
    /// Negative after `unlock`.
    private let open: Atomic<Int32>

    /// Opens and locks a regular file.
    ///
    /// - Parameter flags: for `open`; they must allow writing. Symbolic links are not followed.
    init(_ path: String, _ flags: Int32 = O_RDWR | O_CREAT, mode: mode_t = 0o600) throws(Problem) {
        // O_NONBLOCK: if the file is a pipe, do not wait for a reader.
        let descriptor = Self.systemOpen(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode)
        guard descriptor >= 0 else { throw .open(errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .notAFile
        }
        let file = File(status)
        let isFree = Self.held.withLock { held in
            guard held[file] == nil else { return false }
            held[file] = descriptor
            return true
        }
        guard isFree else {
            close(descriptor)
            throw .heldHere
        }
        let number = ntapi_system_lock_file(descriptor)
        guard number == 0 else {
            Self.held.withLock { $0[file] = nil }
            close(descriptor)
            throw number == EACCES || number == EAGAIN ? .heldElsewhere : .lock(number)
        }
        self.file = file
        open = Atomic(descriptor)
    }

    deinit { unlock() }

    /// Called in each child before anything else: closes what it has inherited.
    static func closeInChild() {
        held.withLock { held in
            guard !held.isEmpty else { return }
            for descriptor in held.values { close(descriptor) }
            held = [:]
        }
    }

    /// The open file; negative after `unlock`.
    var descriptor: Int32 { open.load(ordering: .acquiring) }

    /// Whether this process has the lock.
    var isHeld: Bool { generation == Fork.generation && descriptor >= 0 }

    /// Waits until the file system has what was written. A network file system may report a full disk only when a file is
    /// closed, so this closes a copy of the descriptor.
    ///
    /// - Returns: 0, or the system's error number.
    func flush() -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return ntapi_system_sync(descriptor) }
        return close(copy) == 0 ? 0 : errno
    }

    /// Closes the file.
    func unlock() {
        let descriptor = open.exchange(-1, ordering: .acquiringAndReleasing)
        // In a child it is closed, and the number may be another file's.
        guard descriptor >= 0, generation == Fork.generation else { return }
        Self.held.withLock { $0[file] = nil }
        // A child that is forked now still has the file. It must not keep the lock.
        ntapi_system_unlock_file(descriptor)
        close(descriptor)
    }

    private static func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
        #if canImport(Glibc)
            Glibc.open(path, flags, mode)
        #else
            Darwin.open(path, flags, mode)
        #endif
    }
}
