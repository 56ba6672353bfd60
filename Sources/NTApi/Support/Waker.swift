#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Wakes a poller from any thread, also one that has ended: the descriptor lives as long as anybody may write to it.
final class Waker: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    init(readEnd: Int32, writeEnd: Int32) {
        self.readEnd = readEnd
        self.writeEnd = writeEnd
    }

    deinit {
        close(readEnd)
        if writeEnd != readEnd { close(writeEnd) }
    }

    func wake() {
        // Eight bytes because an eventfd takes no fewer. A pipe that is full has woken already.
        var one: UInt64 = 1
        _ = write(writeEnd, &one, MemoryLayout<UInt64>.size)
    }
}
