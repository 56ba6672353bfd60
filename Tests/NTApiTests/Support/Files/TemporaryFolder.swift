@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A folder for one test. It is removed with its content when its last reference goes.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("\(environment("TMPDIR") ?? "/tmp")/ntapi-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw APIError.file("make a folder", "in /tmp", errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { _ = shell("rm -rf '\(path)'") }

    func write(_ name: String, _ content: [UInt8]) {
        guard let file = fopen("\(path)/\(name)", "w") else { return }
        fwrite(content, 1, content.count, file)
        fclose(file)
    }

    func read(_ name: String) -> [UInt8]? {
        guard let file = fopen("\(path)/\(name)", "r") else { return nil }
        defer { fclose(file) }
        var content: [UInt8] = []
        while case let byte = fgetc(file), byte != EOF { content.append(UInt8(truncatingIfNeeded: byte)) }
        return content
    }

    /// Names of the files and folders in it, with their modes: "700 a", "600 a/b".
    var modes: [String] {
        String(decoding: shell("cd '\(path)' && find . -mindepth 1 -printf '%m %P\\n' | sort -k2"), as: UTF8.self)
            .split(separator: "\n").map { String($0) }
    }
}
