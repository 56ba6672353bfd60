#if SwiftLog
    import Logging
    import NTApi
    import NTApiLogging
    import Synchronization
    import Testing

    /// The process's log lines in swift-log. There is only one test, because the sink belongs to the process.
    @Suite struct LoggingTests {
        private final class Lines: Sendable {
            let lines = Mutex<[String]>([])
        }

        private struct Handler: LogHandler {
            let lines: Lines
            var logLevel: Logger.Level = .trace
            var metadata: Logger.Metadata = [:]

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) {
                lines.lines.withLock { $0.append("\(event.level) \(event.source) \(event.message)") }
            }
        }

        @Test func linesGoToALogger() async throws {
            let lines = Lines()
            var logger = Logger(label: "ntapi") { _ in Handler(lines: lines) }
            logger.logLevel = .info
            defer {
                APILog.sink = nil
                APILog.flags = [.warn, .error]
            }
            APILog.useLogger(logger)
            #expect(APILog.flags == [.info, .warn, .error])
            let response = await (try client(of: "httpbin")).response("status/404", args: [.url("token", "s3cret")])
            // Other tests log at the same time.
            let number = "\(response)".prefix { $0 != " " }
            let written = lines.lines.withLock { $0 }.filter { $0.contains(" \(number) ") }
            #expect(written.count == 3, "\(written)")
            #expect(written.first?.hasPrefix("info NTApi #") == true && written.first?.contains("GET http") == true)
            #expect(written.last?.hasPrefix("error NTApi #") == true)
            #expect(!written.joined().contains("s3cret"))
        }

        @Test func levelsBecomeFlags() {
            #expect(LogFlags(.trace) == .all && LogFlags(.debug) == .all)
            #expect(LogFlags(.info) == [.info, .warn, .error] && LogFlags(.notice) == [.warn, .error])
            #expect(LogFlags(.warning) == [.warn, .error] && LogFlags(.error) == [.error])
            #expect(LogFlags(.critical) == [])
        }
    }
#endif
