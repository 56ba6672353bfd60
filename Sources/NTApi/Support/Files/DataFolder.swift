#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where a program stores its data: in a folder with its name below XDG_DATA_HOME, or below XDG_CACHE_HOME for data
/// that can be fetched again.
enum DataFolder {
    enum Kind {
        case data
        case cache

        fileprivate var variable: String { self == .data ? "XDG_DATA_HOME" : "XDG_CACHE_HOME" }
        fileprivate var belowHome: String { self == .data ? ".local/share" : ".cache" }
    }

    /// - Parameter name: the program's name; nil for the name of its file.
    /// - Returns: nil when the user has no home directory.
    static func path(of name: String?, _ kind: Kind = .data) -> String? {
        home(kind).map { "\($0)/ntapi/\(name ?? programName)" }
    }

    /// Whether a folder can have this name.
    static func isName(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 200
            && !name.utf8.contains { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "/") }
    }

    /// The XDG Base Directory Specification says to ignore relative paths.
    private static func home(_ kind: Kind) -> String? {
        if let path = variable(kind.variable), path.hasPrefix("/") { return path }
        if let path = variable("HOME"), path.hasPrefix("/") { return "\(path)/\(kind.belowHome)" }
        guard let user = getpwuid(getuid())?.pointee.pw_dir else { return nil }
        let path = String(cString: user)
        return path.hasPrefix("/") ? "\(path)/\(kind.belowHome)" : nil
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    private static let programName: String = {
        #if os(Linux)
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = readlink("/proc/self/exe", &buffer, buffer.count)
            var path = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
            // The system adds this if the file was replaced while the program runs.
            if path.hasSuffix(" (deleted)") { path = String(path.dropLast(10)) }
        #else
            let path = getprogname().map { String(cString: $0) } ?? ""
        #endif
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        return isName(name) ? name : "program"
    }()
}

/// Where programs store state of this machine that must survive them (XDG Base Directory Specification).
enum StateFolder {
    /// `$XDG_STATE_HOME/ntapi`, or `~/.local/state/ntapi`.
    ///
    /// - Parameter variable: looks up an environment variable.
    /// - Throws: `invalid request` when neither variable is set.
    static func path(_ variable: (String) -> String? = StateFolder.variable) throws(APIError) -> String {
        // The specification says to ignore relative paths.
        if let state = variable("XDG_STATE_HOME"), state.utf8.first == UInt8(ascii: "/") { return state + "/ntapi" }
        if let home = variable("HOME"), home.utf8.first == UInt8(ascii: "/") { return home + "/.local/state/ntapi" }
        throw .invalidRequest(
            "there is no folder for background sessions: set XDG_STATE_HOME or HOME to an absolute path")
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
