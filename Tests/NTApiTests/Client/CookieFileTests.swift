import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Cookies on disk. Two storages in one folder behave like those of two processes.
@Suite struct CookieFileTests {
    private let folder: String

    init() throws {
        folder = "\(try TestServers.url("tmp"))/cookies-\(UInt64.random(in: 0 ... .max))/program"
    }

    private func storage() throws -> CookieStorage { try #require(CookieStorage(folder: folder)?.refreshed) }

    private func cookie(_ name: String, _ value: String = "1", expires: Double? = wallClockSeconds() + 1000) -> Cookie {
        Cookie(name: name, value: value, domain: "h.test", expires: expires?.rounded(.down))
    }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return stat(path, &status) == 0 ? UInt32(status.st_mode) & 0o777 : 0
    }

    private var files: [String] {
        String(decoding: shell("ls -A \(folder) 2>/dev/null"), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func areWrittenAndRead() throws {
        let one = try storage()
        #expect(files.isEmpty)
        try one.set(cookie("a"))
        try one.set(cookie("session", expires: nil))
        try one.save()
        #expect(files == ["cookies.lock", "cookies.txt"])
        #expect(mode("\(folder)/cookies.txt") == 0o600 && mode(folder) == 0o700)
        let other = try storage()
        #expect(other.cookies == [cookie("a")].map { one.cookies.first { $0.name == "a" } ?? $0 })
        // curl reads it, too.
        let shown = shell(
            "curl -s -b \(folder)/cookies.txt -o /dev/null -w '%{cookie}' 2>/dev/null; cat \(folder)/cookies.txt")
        #expect(String(decoding: shown, as: UTF8.self).hasPrefix("# Netscape HTTP Cookie File"))
    }

    @Test func areWrittenByThemselves() async throws {
        let one = try storage()
        let watch = try FolderWatch(folder)
        try one.set(cookie("a"))
        #expect(await onThread { watch.wait(for: "cookies.txt") })
        #expect(try storage().cookies.map(\.name) == ["a"])
    }

    @Test func processesDoNotUndoEachOthersChanges() throws {
        let (one, other) = (try storage(), try storage())
        try one.set(cookie("one"))
        try other.set(cookie("other"))
        try one.save()
        try other.save()
        #expect(other.cookies.map(\.name).sorted() == ["one", "other"])
        one.delete(name: "one")
        try one.save()
        #expect(one.cookies.map(\.name) == ["other"])
        try other.set(cookie("third"))
        try other.save()
        #expect(other.cookies.map(\.name).sorted() == ["other", "third"])
        #expect(try storage().cookies.map(\.name).sorted() == ["other", "third"])
        other.removeAll()
        try other.save()
        #expect(try storage().cookies == [])
    }

    @Test func whatIsNoCookieIsLeftOut() throws {
        _ = shell("mkdir -p \(folder)")
        let good = cookie("good").line
        let bad = ["", "garbage", "\u{0}\u{1}", "a\tb", String(repeating: "x\t", count: 100)]
        try SystemFile.replace(
            "\(folder)/cookies.txt",
            with: Array((bad + [good, "\u{FF}"] + bad).joined(separator: "\n").utf8) + [0xFF, 10])
        #expect(try storage().cookies.map(\.name) == ["good"])
    }

    @Test func aFolderThatCannotBeMadeIsNoCrash() throws {
        let one = try #require(CookieStorage(folder: "/proc/nowhere/at/all"))
        try one.set(cookie("a"))
        // Each save fails, because the change is still not on disk.
        for _ in 0..<2 {
            #expect(thrown { try one.save() }?.message.containsSubstring("the cookies were not written") == true)
        }
        #expect(one.cookies.count == 1)
    }

    // MARK: Merging

    private func table(_ cookies: [Cookie]) -> CookieMerge.Cookies {
        Dictionary(cookies.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
    }

    @Test func whatWasChangedHereWins() {
        let base = table([cookie("a", "0"), cookie("b", "0"), cookie("c", "0"), cookie("d", "0")])
        let ours = table([cookie("a", "ours"), cookie("b", "0"), cookie("d", "0"), cookie("new")])
        let file = table([cookie("a", "theirs"), cookie("b", "theirs"), cookie("c", "theirs"), cookie("more")])
        let merge = CookieMerge(base: base, ours: ours, file: file, now: 0)
        #expect(
            merge.merged.values.map { "\($0.name)=\($0.value)" }.sorted() == ["a=ours", "b=theirs", "more=1", "new=1"])
        #expect(merge.toSet.map(\.name).sorted() == ["b", "more"] && merge.toDelete.map(\.name) == ["d"])
    }

    @Test func onesOfTheSessionAreNotWritten() {
        let base = table([cookie("a")])
        let ours = table([cookie("a", "session", expires: nil), cookie("b", "old", expires: 5)])
        let merge = CookieMerge(base: base, ours: ours, file: table([cookie("a"), cookie("c", expires: 5)]), now: 10)
        #expect(merge.merged.isEmpty && merge.toSet.isEmpty && merge.toDelete.isEmpty)
    }

    @Test func whatOthersHaveRenewedStays() {
        let base = table([cookie("a", "1", expires: 5), cookie("b", "1", expires: 100)])
        let file = table([cookie("a", "2", expires: 100), cookie("b", "2", expires: 100)])
        // Here, cookie a has expired and cookie b has become a session cookie.
        let merge = CookieMerge(base: base, ours: table([cookie("b", "0", expires: nil)]), file: file, now: 10)
        #expect(merge.merged == file && merge.toSet.map(\.value) == ["2", "2"] && merge.toDelete.isEmpty)
    }

    /// Both set and delete cookies. After both have saved and read again, they are equal.
    @Test(arguments: [SeededGenerator.ofThisRun, 1]) func bothEndWithTheSame(_ seed: UInt64) throws {
        var random = SeededGenerator(seed)
        let storages = [try storage(), try storage()]
        var last: [String: String?] = [:]
        for step in 0..<60 {
            let storage = storages[Int.random(in: 0...1, using: &random)]
            let name = "c\(Int.random(in: 0..<6, using: &random))"
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                storage.delete(name: name)
                try storage.save()
                last[name] = .some(nil)
            default:
                try storage.set(cookie(name, "\(step)"))
                try storage.save()
                last[name] = "\(step)"
            }
            // A change also reads what the other storage has written. So each sees the other's changes before its next
            // one.
            try storages[0].set(cookie("tick", "\(step)"))
            try storages[0].save()
            try storages[1].set(cookie("tock", "\(step)"))
            try storages[1].save()
            try storages[0].set(cookie("tick", "\(step)."))
            try storages[0].save()
            for storage in storages {
                let found = Dictionary(storage.cookies.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
                for (name, value) in last { #expect(found[name] == value, "seed \(seed) step \(step)") }
            }
        }
    }
}

extension CookieStorage {
    /// The storage after it has read its file, as a client does.
    fileprivate var refreshed: CookieStorage {
        refresh()
        return self
    }
}
