import NTApi
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

func heading(_ number: Int, _ feature: String) { print("\n\(number)  \(feature)") }

/// Draws progress on one line, again and again; into a file, only the last state.
func drawBar(_ label: String, _ progress: TransferProgress) {
    let isTerminal = isatty(STDOUT_FILENO) != 0
    let isLast = progress.bytes == progress.total
    guard isTerminal || isLast else { return }
    let percent = Int((progress.fraction ?? 0) * 100)
    let bar = String(repeating: "#", count: percent * 40 / 100).padded(to: 40)
    let line = "   \(label.padded(to: 9)) [\(bar)] \("\(percent)".aligned(to: 3)) %"
    print(isTerminal ? "\r\(line)" : line, terminator: isLast ? "\n" : "")
    fflush(nil)
}

/// Prints an error, in the same way in every step.
func text(_ error: APIError) -> String { "error \"\(error.code)\": \(error.message)" }

func milliseconds(_ seconds: Double) -> String { "\(Int((seconds * 1000).rounded())) ms" }

/// A temperature with one digit after the decimal point.
func degrees(_ celsius: Double?) -> String {
    "\(((celsius ?? 0) * 10).rounded() / 10)".aligned(to: 5) + " °C"
}

// MARK: Threads

private let threadNames = Mutex<[String: String]>([:])

/// The name that the calling thread was given. The library's threads have none.
var threadName: String {
    get { threadNames.withLock { $0[threadIdentity] } ?? "a worker thread of the library" }
    set { threadNames.withLock { $0[threadIdentity] = newValue } }
}

private var threadIdentity: String { "\(pthread_self())" }

/// Starts a thread of the system.
func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    final class Start: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    let start = Start {
        pthread_detach(pthread_self())
        threadName = name
        body()
    }
    #if canImport(Glibc)
        var thread = pthread_t()
        let entry: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
            if let argument { Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().run() }
            return nil
        }
    #else
        var thread: pthread_t?
        let entry: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { argument in
            Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().run()
            return nil
        }
    #endif
    pthread_create(&thread, nil, entry, Unmanaged.passRetained(start).toOpaque())
}

extension String {
    func padded(to length: Int) -> String { self + String(repeating: " ", count: max(0, length - count)) }

    /// Aligns a number to the right.
    func aligned(to length: Int) -> String { String(repeating: " ", count: max(0, length - count)) + self }
}
