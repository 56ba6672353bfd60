#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Files, by way of the system's own calls.
enum SystemFile {
    /// Why a file cannot be read; nil when it can.
    static func reasonUnreadable(_ path: String) -> String? {
        access(path, R_OK) == 0 ? nil : String(cString: strerror(errno))
    }
}
