#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where programs keep what must outlive them and belongs to this machine (XDG Base Directory Specification).
enum StateFolder {
    /// `$XDG_STATE_HOME/ntapi`, or `~/.local/state/ntapi`.
    ///
    /// - Parameter variable: looks up the environment.
    /// - Throws: `invalid request` when neither says where that is.
    static func path(_ variable: (String) -> String? = StateFolder.variable) throws(APIError) -> String {
        // The specification has relative paths ignored.
        if let state = variable("XDG_STATE_HOME"), state.utf8.first == UInt8(ascii: "/") { return state + "/ntapi" }
        if let home = variable("HOME"), home.utf8.first == UInt8(ascii: "/") { return home + "/.local/state/ntapi" }
        throw .invalidRequest(
            "no folder to keep background sessions in: set XDG_STATE_HOME or HOME to an absolute path")
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
