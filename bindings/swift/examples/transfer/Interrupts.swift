#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Ctrl-C as a file descriptor that becomes readable.
enum Interrupts {
    // Safe to share: written once, before the signal's handler is set.
    nonisolated(unsafe) private static var ends: [Int32] = [-1, -1]
    nonisolated(unsafe) private static var writeEnd: Int32 = -1

    static var descriptor: Int32 { ends[0] }

    static func listen() {
        guard pipe(&ends) == 0 else { return }
        writeEnd = ends[1]
        signal(SIGINT) { _ in
            write(Interrupts.writeEnd, "!", 1)
            // A second Ctrl-C ends the program at once.
            signal(SIGINT, SIG_DFL)
        }
    }
}
