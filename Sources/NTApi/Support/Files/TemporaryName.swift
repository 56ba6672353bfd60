#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The names that the library gives to temporary files of downloads, and recognizes again. No two files have the same.
enum TemporaryName {
    /// A unique path for the temporary file of a download with this destination.
    static func part(of destination: String) -> String {
        let (folder, name) = FileName.split(destination)
        // A file name may have 255 bytes. The text only helps people to recognize the file.
        let start = String(decoding: name.utf8.prefix(200), as: UTF8.self)
        return "\(folder)/.\(start).\(unique()).part"
    }

    /// Whether `part` could have made the path.
    static func isPart(_ path: String, of destination: String) -> Bool {
        let (folder, name) = FileName.split(path)
        let (home, end) = FileName.split(destination)
        let start = ".\(String(decoding: end.utf8.prefix(200), as: UTF8.self))."
        guard folder == home, name.hasASCIIPrefix(start), name.hasSuffix(".part") else { return false }
        return isUnique(name.utf8.dropFirst(start.utf8.count).dropLast(".part".utf8.count))
    }

    /// A unique path, in the folder for temporary files, for the complete file of a download without a destination.
    static func complete() -> String {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let name = "ntapi-\(unique()).tmp"
        return folder.utf8.first == UInt8(ascii: "/") ? "\(folder)/\(name)" : "/tmp/\(name)"
    }

    /// Whether `complete` could have made the path, in any folder.
    static func isComplete(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        guard name.hasPrefix("ntapi-"), name.hasSuffix(".tmp") else { return false }
        return isUnique(name.utf8.dropFirst("ntapi-".utf8.count).dropLast(".tmp".utf8.count))
    }

    private static func unique() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }

    private static func isUnique(_ text: Substring.UTF8View) -> Bool {
        // The largest number has 13 digits.
        (1...13).contains(text.count)
            && text.allSatisfy { $0.isASCIIDigit || ("a"..."z").contains(Unicode.Scalar($0)) }
    }
}
