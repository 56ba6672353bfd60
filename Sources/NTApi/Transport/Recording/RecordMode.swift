#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Whether a ``Recorder`` replays its file, records, or both. The modes are those of vcrpy.
public enum RecordMode: String, Sendable, CaseIterable {
    /// A request that is in the file is answered from it. Another one fails.
    case none
    /// The same as `none`; but if there is no file, everything is recorded.
    case once
    /// A request that is in the file is answered from it. Another one is sent, and added to the file.
    case newEpisodes = "new_episodes"
    /// Every request is sent, and the file is replaced.
    case all

    /// The mode that the environment variable `NTAPI_RECORD_MODE` names: none, once, new_episodes or all. Without the
    /// variable it is `none`.
    ///
    /// - Throws: an error that lists the modes when the variable is something else.
    public static var ofEnvironment: RecordMode {
        get throws(APIError) {
            guard let variable = getenv("NTAPI_RECORD_MODE"), variable.pointee != 0 else { return .none }
            let name = String(cString: variable)
            guard let mode = RecordMode(rawValue: name) else {
                let modes = allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidRequest("NTAPI_RECORD_MODE is one of \(modes), not \(quoted(name))")
            }
            return mode
        }
    }
}

extension Recorder {
    /// Where the answers to its clients' requests come from.
    enum Answers: Sendable {
        /// Servers. The file is replaced.
        case servers
        /// The file. Nothing is recorded.
        case file(Stub)
        /// The file, and servers for what is not in it. Exchanges with servers are added to the text of the file; with
        /// nil, they alone are written.
        case fileAndServers(Stub, RecordingText?)

        /// Reads the file if the mode replays it.
        init(_ path: String, _ mode: RecordMode) throws(APIError) {
            guard mode != .all else {
                self = .servers
                return
            }
            guard let bytes = try RecordingReader.bytes(of: path) else {
                self = mode == .none ? .file(Stub(advice: Self.advice("make", path, .once))) : .servers
                return
            }
            let recording = try RecordingReader.read(bytes, of: path)
            self =
                mode == .newEpisodes
                ? .fileAndServers(Stub(recording), try RecordingText(bytes, of: path))
                : .file(Stub(recording, advice: Self.advice("add it to", path, .newEpisodes)))
        }

        /// The text to which exchanges are added; nil when the file is not added to.
        var text: RecordingText? {
            if case .fileAndServers(_, let text) = self { text } else { nil }
        }

        private static func advice(_ purpose: String, _ path: String, _ mode: RecordMode) -> String {
            "to \(purpose) the recording \(quoted(path)), run the test with NTAPI_RECORD_MODE=\(mode.rawValue), "
                + "or give the recorder this mode"
        }
    }
}
