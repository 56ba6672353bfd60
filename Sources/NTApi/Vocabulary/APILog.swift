import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// How important a log line is.
public enum LogLevel: Int, Sendable, CustomStringConvertible {
    /// Headers and bodies, truncated, secrets redacted.
    case debug = 1
    /// One line when a request starts and one when it ends.
    case info = 2
    /// A problem that did not fail the request, or a service's own error.
    case warn = 4
    /// A request that failed.
    case error = 8

    public var description: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warn: "warn"
        case .error: "error"
        }
    }

    var flag: LogFlags { LogFlags(rawValue: rawValue) }
}

/// Which levels are logged.
public struct LogFlags: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Lines of ``LogLevel/debug``.
    public static let debug = LogFlags(rawValue: 1)
    /// Lines of ``LogLevel/info``.
    public static let info = LogFlags(rawValue: 2)
    /// Lines of ``LogLevel/warn``.
    public static let warn = LogFlags(rawValue: 4)
    /// Lines of ``LogLevel/error``.
    public static let error = LogFlags(rawValue: 8)
    /// All lines.
    public static let all: LogFlags = [.debug, .info, .warn, .error]
}

/// Where log lines go, unless a client overrides `writeLog`.
public enum APILog {
    /// Receives a line with its secrets redacted. Called on any thread except the network thread; must not block for
    /// long.
    public typealias Sink = @Sendable (_ level: LogLevel, _ message: String) -> Void

    /// Wraps the function for the generic lock. A generic type stores a bare function in another calling convention,
    /// and each `inout` access converts it back and forth. Every logged line would add two wrappers, until a call
    /// overflows the stack.
    private struct Holder {
        var sink: Sink?
    }

    private static let current = Lock(Holder(), survivesFork: true)

    /// The process's sink; nil is standard error.
    public static var sink: Sink? {
        get { current.withLock { $0.sink } }
        set {
            // Releasing the old value may run user code, so it must outlive the lock.
            let replaced = current.withLock { holder in
                defer { holder.sink = newValue }
                return holder.sink
            }
            withExtendedLifetime(replaced) {}
        }
    }

    private static let processFlags = Atomic(LogFlags([.warn, .error]).rawValue)

    /// The levels that are logged when neither the client nor the default `logFlags` sets them. Initially warnings and
    /// errors.
    ///
    /// Applies to requests made from now on.
    public static var flags: LogFlags {
        get { LogFlags(rawValue: processFlags.load(ordering: .relaxed)) }
        set { processFlags.store(newValue.intersection(.all).rawValue, ordering: .relaxed) }
    }

    /// The levels that this build can log: none in a library built without log lines.
    static var builtFlags: LogFlags {
        #if NTAPI_NO_LOGGING
            []
        #else
            .all
        #endif
    }

    /// Writes a line to the process's sink.
    public static func write(_ level: LogLevel, _ message: String) {
        guard builtFlags.contains(level.flag) else { return }
        if let sink { sink(level, message) } else { writeToStandardError(level, message) }
    }

    /// Writes a warning that belongs to no client, unless the process's flags exclude warnings.
    static func warn(_ message: String) {
        if flags.contains(.warn) { write(.warn, printableLine(message)) }
    }

    /// Sends lines to the system's log, syslog(3), which systemd's journal also reads. Replaces the sink.
    ///
    /// - Parameter name: the start of each line; nil for the program's name.
    public static func useSyslog(name: String? = nil) {
        // openlog keeps the pointer, and never says when it stops using it.
        openlog(name.flatMap { strdup($0) }, LOG_PID, LOG_USER)
        sink = { level, message in
            let priority =
                switch level {
                case .debug: LOG_DEBUG
                case .info: LOG_INFO
                case .warn: LOG_WARNING
                case .error: LOG_ERR
                }
            message.withCString { text in withVaList([text]) { vsyslog(priority, "%s", $0) } }
        }
    }

    // One write, so that lines of several threads are not mixed.
    private static func writeToStandardError(_ level: LogLevel, _ message: String) {
        var line = "ntapi \(level): \(message)\n"
        line.withUTF8 { utf8 in
            var rest = UnsafeRawBufferPointer(utf8)
            while !rest.isEmpty {
                let written = writeOnce(2, rest.baseAddress, rest.count)
                if written <= 0, errno != EINTR { return }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(max(0, written)))
            }
        }
    }

    private static func writeOnce(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        #if canImport(Glibc)
            Glibc.write(descriptor, bytes, count)
        #else
            Darwin.write(descriptor, bytes, count)
        #endif
    }
}
