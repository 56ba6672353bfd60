import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Shows how far a transfer is: on one line that is drawn again and again, or without a terminal as a new line each
/// second.
struct Display {
    /// The last values that the request's progress handler got.
    var progress = TransferProgress(bytes: 0, total: nil)
    private var meter = Meter()
    private var drawnAt = -Double.infinity
    private let isTerminal = isatty(STDOUT_FILENO) != 0

    var isPaused = false {
        didSet {
            meter = Meter()
            drawnAt = -.infinity
        }
    }

    mutating func draw() {
        let time = now()
        // Bytes of an earlier run say nothing about the current speed.
        if progress.bytes > 0, !isPaused { meter.add(progress.bytes, at: time) }
        guard time - drawnAt >= (isTerminal ? 0.1 : 1) else { return }
        drawnAt = time
        // Goes back to the start of the line, and clears the rest of a longer one.
        print(isTerminal ? "\r\(line)\u{1b}[K" : line, terminator: isTerminal ? "" : "\n")
        fflush(nil)
    }

    func end(_ text: String) { print(isTerminal ? "\r\(text)\u{1b}[K" : text) }

    private var line: String {
        var words = [size(progress.bytes)]
        if let total = progress.total, let fraction = progress.fraction {
            let percent = Int(fraction * 100)
            let done = String(repeating: "#", count: percent / 5)
            let bar = isTerminal ? "[\(done)\(String(repeating: " ", count: 20 - done.count))] " : ""
            words = ["\(bar)\(aligned(percent, to: 3)) %", "\(size(progress.bytes)) of \(size(total))"]
        }
        if isPaused {
            words.append("paused, Enter goes on")
        } else if let rate = meter.rate {
            words.append("\(size(Int64(rate)))/s")
            if let total = progress.total { words.append("\(duration(Double(total - progress.bytes) / rate)) left") }
        }
        return words.joined(separator: "  ")
    }
}

/// The speed in the last few seconds.
struct Meter {
    private static let window = 5.0
    private var samples: [(time: Double, bytes: Int64)] = []

    mutating func add(_ bytes: Int64, at time: Double) {
        if let last = samples.last, time - last.time < 0.1 { return }
        samples.append((time, bytes))
        samples.removeAll { time - $0.time > Self.window }
    }

    /// Bytes per second; nil while it is too early to know, and when nothing moves.
    var rate: Double? {
        guard let first = samples.first, let last = samples.last, last.bytes > first.bytes else { return nil }
        return Double(last.bytes - first.bytes) / (last.time - first.time)
    }
}

/// Seconds of a clock that never jumps.
func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// A number of bytes for people.
func size(_ bytes: Int64) -> String {
    var (number, units) = (Double(bytes), ["B", "kB", "MB", "GB"][...])
    while number >= 999.95, units.count > 1 {
        number /= 1000
        units = units.dropFirst()
    }
    return units.first == "B" ? "\(bytes) B" : "\((number * 10).rounded() / 10) \(units.first ?? "")"
}

func duration(_ seconds: Double) -> String {
    let seconds = Int(min(seconds, 359_999).rounded())
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
    let tail = "\(seconds % 60)"
    let padded = tail.count < 2 ? "0\(tail)" : tail
    return hours > 0 ? "\(hours):\(minutes < 10 ? "0" : "")\(minutes):\(padded)" : "\(minutes):\(padded)"
}

private func aligned(_ number: Int, to width: Int) -> String {
    String(repeating: " ", count: max(0, width - "\(number)".count)) + "\(number)"
}
