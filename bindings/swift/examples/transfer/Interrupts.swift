#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Ctrl-C as a descriptor that becomes readable.
enum Interrupts {
    // Safe to share: written before the signal's handler is set, and by nobody afterwards.
    nonisolated(unsafe) private static var ends: [Int32] = [-1, -1]
    nonisolated(unsafe) private static var writeEnd: Int32 = -1

    static var descriptor: Int32 { ends[0] }

    static func listen() {
        guard pipe(&ends) == 0 else { return }
        writeEnd = ends[1]
        signal(SIGINT) { _ in
            write(Interrupts.writeEnd, "!", 1)
            // A second one ends the program at once.
            signal(SIGINT, SIG_DFL)
        }
    }
}
