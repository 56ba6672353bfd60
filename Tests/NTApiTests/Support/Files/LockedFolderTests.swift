import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct LockedFolderTests {
    @Test func aFileIsWrittenReplacedAndRemoved() throws {
        let temporary = try TemporaryFolder()
        let folder = try LockedFolder(temporary.path + "/a/b")
        #expect(try folder.content(of: "x") == nil)
        let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        for content in [[], Array("one".utf8), large, Array("two".utf8)] {
            try folder.store(content, as: "x")
            #expect(try folder.content(of: "x") == content)
        }
        try folder.rename("x", to: "y")
        #expect(try folder.names().sorted() == ["lock", "y"])
        try folder.remove("y")
        try folder.remove("y")
        #expect(try folder.names() == ["lock"])
    }

    @Test func isForTheUserAlone() throws {
        let temporary = try TemporaryFolder()
        let folder = try LockedFolder(temporary.path + "/a/b")
        try folder.store([1], as: "x")
        #expect(temporary.modes == ["700 a", "700 a/b", "600 a/b/lock", "600 a/b/x"])
    }

    @Test func whatWasNotFinishedIsCleanedUp() throws {
        let temporary = try TemporaryFolder()
        temporary.write("5.json.new", [1])
        let folder = try LockedFolder(temporary.path)
        #expect(try folder.names() == ["lock"])
    }

    @Test func isOpenOnlyOnceInAProcess() throws {
        let temporary = try TemporaryFolder()
        let first = try LockedFolder(temporary.path)
        let error = try #require(thrown { _ = try LockedFolder(temporary.path + "/.") })
        #expect(error.code == .invalidRequest && error.message.containsSubstring("it is already open in this process"))
        // The attempt has not released the lock: other processes are still excluded.
        #expect(isLocked(temporary.path))
        first.unlock()
        first.unlock()
        #expect(!isLocked(temporary.path))
        let second = try LockedFolder(temporary.path)
        // To unlock the first once more does not unlock the second.
        first.unlock()
        #expect(isLocked(temporary.path) && thrown { try first.store([1], as: "x") }?.code == .invalidRequest)
        try second.store([1], as: "x")
    }

    @Test func isFreeWhenNobodyRefersToIt() throws {
        let temporary = try TemporaryFolder()
        for _ in 0..<100 { try LockedFolder(temporary.path).store([1], as: "x") }
        #expect(!isLocked(temporary.path))
    }

    @Test func theProcessThatHasItIsNamed() throws {
        let temporary = try TemporaryFolder()
        temporary.write("lock", [])
        // Locks the file as the library does. Prints a line when it has the lock, and keeps the lock until its input
        // ends.
        let script = """
            import fcntl, os, sys
            file = open(sys.argv[1], "w")
            fcntl.lockf(file, fcntl.LOCK_EX)
            print(os.getpid(), file=file, flush=True)
            print("locked", flush=True)
            sys.stdin.read()
            """
        let other = try ChildProcess(["python3", "-c", script, temporary.path + "/lock"])
        #expect(other.readLine() == "locked")
        let number = other.identifier
        let error = try #require(thrown { _ = try LockedFolder(temporary.path) })
        #expect(error.code == .invalidRequest && error.message.containsSubstring("process \(number) has it open"))
        other.closeInput()
        #expect(other.wait() == 0)
        _ = try LockedFolder(temporary.path)
    }

    @Test func theFileNamesTheProcess() throws {
        let temporary = try TemporaryFolder()
        let folder = try LockedFolder(temporary.path)
        #expect(temporary.read("lock") == Array("\(getpid())\n".utf8))
        withExtendedLifetime(folder) {}
    }

    @Test(arguments: ["", "a/b", "a\u{0}b", "/a\u{0}b"]) func aFolderHasAnAbsolutePath(_ path: String) throws {
        #expect(thrown { _ = try LockedFolder(path) }?.code == .invalidRequest)
    }

    @Test func whatTheSystemRefusesIsNamed() throws {
        let temporary = try TemporaryFolder()
        temporary.write("file", [])
        let error = try #require(thrown { _ = try LockedFolder(temporary.path + "/file/a/b") })
        #expect(error.code == .generic && error.message.containsSubstring("\(temporary.path)/file/a"))
        let folder = try LockedFolder(temporary.path + "/folder")
        try folder.store([1], as: "x")
        // A folder has the name that the file needs.
        mkdir(temporary.path + "/folder/x.new", 0o700)
        let refusal = try #require(thrown { try folder.store([2], as: "x") })
        #expect(refusal.message.containsSubstring("/folder/x.new: "), "\(refusal.message)")
        #expect(try folder.content(of: "x") == [1])
    }

    /// Whether another process would have to wait.
    private func isLocked(_ path: String) -> Bool {
        let script = "import fcntl,sys\nf=open(sys.argv[1],'r+')\nfcntl.lockf(f,fcntl.LOCK_EX|fcntl.LOCK_NB)"
        return shell("python3 -c \"\(script)\" '\(path)/lock' 2>/dev/null && echo free").isEmpty
    }
}
