import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Waits until a file is moved to its place in a folder.
final class FolderWatch: Sendable {
    private let descriptor: Int32

    init(_ folder: String) throws {
        _ = shell("mkdir -p -m 700 \(folder)")
        descriptor = inotify_init1(Int32(IN_CLOEXEC))
        try #require(descriptor >= 0 && inotify_add_watch(descriptor, folder, UInt32(IN_MOVED_TO)) >= 0)
    }

    deinit { close(descriptor) }

    /// Blocks the calling thread until a file of that name has come, at most for `patience` after the last one.
    ///
    /// - Returns: whether it has come.
    func wait(for name: String) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, Int32(patience * 1000)) > 0, case let count = read(descriptor, &buffer, buffer.count),
            count > 0
        {
            // Each event has sixteen bytes, and then a name, which is padded with NULs.
            if String(decoding: buffer[..<count], as: UTF8.self).containsSubstring("\(name)\0") { return true }
        }
        return false
    }
}
