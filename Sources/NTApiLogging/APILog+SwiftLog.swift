public import NTApi

#if SwiftLog
    public import Logging

    extension APILog {
        /// Sends lines to a logger of swift-log. From now on its level decides which lines are logged. Replaces the
        /// sink.
        ///
        /// The level is read once: set ``NTApi/APILog/flags`` later to log more or less. Clients with their own flags keep them.
        public static func useLogger(_ logger: Logger = Logger(label: "ntapi")) {
            flags = LogFlags(logger.logLevel)
            sink = { level, message in
                logger.log(level: Logger.Level(level), "\(message)", source: "NTApi")
            }
        }
    }

    extension Logger.Level {
        /// The level of a log line, for a client with its own logger, which overrides `writeLog`.
        public init(_ level: LogLevel) {
            self =
                switch level {
                case .debug: .debug
                case .info: .info
                case .warn: .warning
                case .error: .error
                }
        }
    }

    extension LogFlags {
        /// The levels that a logger with this level logs.
        public init(_ level: Logger.Level) {
            let levels: [(LogLevel, LogFlags)] = [(.debug, .debug), (.info, .info), (.warn, .warn), (.error, .error)]
            self = levels.reduce([]) { Logger.Level($1.0) >= level ? $0.union($1.1) : $0 }
        }
    }
#else
    extension APILog {
        /// Needs the package's trait SwiftLog.
        @available(*, unavailable, message: "depend on the package with traits: [\"SwiftLog\"]")
        public static func useLogger(_ logger: Any) {}
    }
#endif
