import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A sign that the network is in use, like the one beside a phone's clock.
final class Activity: Sendable {
    private let running = Mutex(0)

    func begin() { count(1) }

    func end() { count(-1) }

    private func count(_ change: Int) {
        running.withLock { running in
            let wasRunning = running > 0
            running += change
            guard isTerminal, wasRunning != (running > 0) else { return }
            print(wasRunning ? "\r" : "\r⇅", terminator: "\u{1b}[K")
            fflush(nil)
        }
    }
}
