#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Processor time, wall time and memory of this process from when it is made.
public struct Meters: Sendable {
    private let cpu = cpuSeconds()
    private let wall = wallSeconds()
    private var extra: [(name: String, value: Int)] = []

    public init() { add("idle_rss_kb", memoryKB("VmRSS")) }

    /// Adds a number to the report.
    public mutating func add(_ name: String, _ value: Int) { extra.append((name, value)) }

    /// Prints the report: one line of JSON.
    public func report(_ done: Int) {
        let figures = extra.map { ",\"\($0.name)\":\($0.value)" }.joined()
        print(
            "{\"requests\":\(done),\"ok\":\(done),\"cpu_seconds\":\(cpuSeconds() - cpu)"
                + ",\"wall_seconds\":\(wallSeconds() - wall),\"max_rss_kb\":\(memoryKB("VmHWM"))\(figures)}")
    }
}

/// Memory of this process in KB, from a line of /proc/self/status: `VmRSS` or `VmHWM`.
public func memoryKB(_ name: String) -> Int {
    guard let file = fopen("/proc/self/status", "r") else { fail("no /proc") }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, 256, file) != nil {
        let text = line.withUnsafeBufferPointer { String(decoding: $0.map { UInt8(bitPattern: $0) }, as: UTF8.self) }
        guard text.hasPrefix(name + ":") else { continue }
        return Int(text.filter { $0.isNumber && $0.isASCII }) ?? -1
    }
    fail("no \(name)")
}

// The kernel's sum for the process, from which getrusage makes its two parts.
private func cpuSeconds() -> Double { seconds(CLOCK_PROCESS_CPUTIME_ID) }

private func wallSeconds() -> Double { seconds(CLOCK_MONOTONIC) }

private func seconds(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
