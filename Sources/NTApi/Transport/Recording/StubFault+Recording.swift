extension StubFault {
    private static let recorded: [(name: String, fault: StubFault)] = [
        ("connection_lost", .connectionLost), ("no_connection", .noConnection), ("no_internet", .noInternet),
        ("timeout", .timeout), ("unknown_host", .unknownHost), ("untrusted_certificate", .untrustedCertificate),
    ]

    static var recordedNames: [String] { recorded.map(\.name) }

    /// What a file calls it.
    init?(recorded name: String) {
        guard let known = Self.recorded.first(where: { $0.name == name }) else { return nil }
        self = known.fault
    }

    /// What a file calls what has gone wrong.
    static func recordedName(of error: APIError) -> String {
        switch (error.code, error.transportCode) {
        case (.noInternet, _): "no_internet"
        case (.timeout, _): "timeout"
        case (.tls, _): "untrusted_certificate"
        case (.network, 6): "unknown_host"
        case (.network, 7): "no_connection"
        default: "connection_lost"
        }
    }
}
