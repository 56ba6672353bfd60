/// The program's answers that hold for a whole session.
final class SessionAnswers: Sendable {
    private struct State {
        var credentials: [ProtectionSpace: Credential] = [:]
        var certificates: [Origin: String] = [:]
    }

    private let state = Lock(State(), sharing: .clients)

    subscript(space: ProtectionSpace) -> Credential? {
        get { state.withLock { $0.credentials[space] } }
        set { state.withLock { $0.credentials[space] = newValue } }
    }

    /// The certificate that is trusted for a server, in PEM.
    subscript(certificateOf origin: Origin) -> String? {
        get { state.withLock { $0.certificates[origin] } }
        set { state.withLock { $0.certificates[origin] = newValue } }
    }
}
