import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct FileLockTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.path + "/f" }

    /// Each part of the library that locks a file.
    private enum User: CaseIterable {
        case download, continuedDownload, backgroundSession, cookies, credentials

        /// Takes the lock, calls the body, and releases it again.
        func use(_ folder: String, _ body: () -> Void) throws {
            switch self {
            case .download:
                let file = try DownloadFile(for: folder + "/f")
                body()
                file.discard()
            case .continuedDownload:
                let file = try DownloadFile(for: folder + "/f", continuing: folder + "/.f.1.part", at: 0)
                body()
                file.keep()
            case .backgroundSession:
                let store = try BackgroundStore("photos", root: folder)
                body()
                store.close()
            case .cookies: try CookieFile(folder: folder).withLock { () throws(SystemError) in body() }
            case .credentials: _ = try CredentialFile(path: folder + "/credentials").change { _ in body() }
            }
        }
    }

    // Under ThreadSanitizer, a child that is forked while threads run may wait for a lock forever. The fork tests in C
    // are also left out there.
    #if THREAD_SANITIZER
        private static let mayFork = false
    #else
        private static let mayFork = true
    #endif

    /// A child inherits each descriptor. If it outlives the use of the file, the file must still be free when the
    /// parent is done.
    @Test(.enabled(if: mayFork), arguments: User.allCases) private func aChildThatLivesOnHoldsNothing(_ user: User)
        throws
    {
        var child: pid_t = 0
        var locked: [String] = []
        try user.use(folder.path) {
            child = Self.forkedChild()
            locked = self.locked
        }
        // With -1, `kill` would signal every process.
        try #require(child > 0)
        defer {
            kill(child, SIGKILL)
            waitpid(child, nil, 0)
        }
        #expect(kill(child, 0) == 0)
        // The parent had the lock while it used the file. Now nobody has it.
        #expect(locked.count == 1, "\(locked)")
        #expect(self.locked.isEmpty)
        var isUsed = false
        try user.use(folder.path) { isUsed = true }
        #expect(isUsed)
    }

    /// A program may look at the file, or copy it. A process-owned lock would end with that.
    @Test(arguments: User.allCases) private func theProgramMayOpenAndCloseTheFile(_ user: User) throws {
        var locked: [String] = []
        try user.use(folder.path) {
            for name in self.locked {
                for flags in [O_RDONLY, O_RDWR] { close(open(folder.path + "/" + name, flags)) }
            }
            locked = self.locked
        }
        #expect(locked.count == 1, "\(locked)")
        #expect(self.locked.isEmpty)
    }

    @Test(arguments: User.allCases) private func threadsExcludeEachOther(_ user: User) async throws {
        let folder = folder.path
        let inside = Lock(0)
        let most = Lock(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    await onThread {
                        for _ in 0..<20 {
                            // Downloads and sessions do not wait for the lock.
                            try? user.use(folder) {
                                let count = inside.withLock { count in
                                    count += 1
                                    return count
                                }
                                most.withLock { $0 = max($0, count) }
                                sched_yield()
                                inside.withLock { $0 -= 1 }
                            }
                        }
                    }
                }
            }
        }
        // Each new download has its own file.
        if user != .download { #expect(most.withLock { $0 } == 1) }
        #expect(locked.isEmpty)
    }

    @Test func aSecondAttemptDoesNotReleaseTheLock() throws {
        let lock = try FileLock(path)
        #expect(throws: FileLock.Problem.self) { try FileLock(path) }
        // The same file under another name.
        #expect(link(path, path + "2") == 0)
        #expect(throws: FileLock.Problem.self) { try FileLock(path + "2") }
        #expect(locked.count == 2)
        #expect(lock.isHeld && lock.flush() == 0)
        lock.unlock()
        lock.unlock()
        #expect(!lock.isHeld)
        #expect(locked.isEmpty)
        let again = try FileLock(path + "2")
        #expect(again.isHeld)
    }

    @Test(arguments: ["folder", "pipe", "link", "null"]) func onlyARegularFileIsLocked(_ kind: String) throws {
        switch kind {
        case "folder": #expect(mkdir(path, 0o700) == 0)
        case "pipe": #expect(mkfifo(path, 0o600) == 0)
        case "link":
            folder.write("other", [1])
            #expect(symlink(folder.path + "/other", path) == 0)
        default: #expect(symlink("/dev/null", path) == 0)
        }
        #expect(throws: FileLock.Problem.self) { try FileLock(path) }
        #expect(throws: FileLock.Problem.self) { try FileLock(path, O_WRONLY) }
        #expect(throws: SystemError.self) { try SystemFile.withLock(path, patience: 2) { () throws(SystemError) in } }
    }

    /// The files in the folder that another process cannot lock, with `lockf` or with `flock`.
    private var locked: [String] {
        let script = """
            import fcntl, os, sys
            for folder, _, names in os.walk(sys.argv[1]):
                for name in names:
                    with open(os.path.join(folder, name), "r+") as file:
                        try:
                            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        except OSError:
                            print(name)
            """
        let text = String(decoding: shell("python3 -c '\(script)' '\(folder.path)'"), as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }

    /// Forks a child that lives until it is killed. It only sleeps, because it has none of the threads of this process.
    private static func forkedChild() -> pid_t {
        // Swift does not offer fork.
        typealias Fork = @convention(c) () -> pid_t
        guard let address = dlsym(dlopen(nil, RTLD_NOW), "fork") else { return -1 }
        var (ends, byte): ([CInt], UInt8) = ([-1, -1], 0)
        guard pipe(&ends) == 0 else { return -1 }
        let child = unsafeBitCast(address, to: Fork.self)()
        if child == 0 {
            alarm(UInt32(patience))
            write(ends[1], &byte, 1)
            while true { pause() }
        }
        close(ends[1])
        defer { close(ends[0]) }
        // When the child has written, it has closed what it had inherited.
        var end = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        if child > 0, poll(&end, 1, CInt(patience * 1000)) == 1, read(ends[0], &byte, 1) == 1 { return child }
        Issue.record("the child did not run")
        return child
    }
}
