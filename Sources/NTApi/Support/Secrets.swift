/// What must not be seen in a log: decided by name, unless the caller marked it.
enum Secrets {
    static let redacted = "<redacted>"

    private static let headers: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "x-auth-token",
        "x-access-token", "x-csrf-token",
    ]

    private static let words = [
        "password", "passwd", "secret", "token", "api_key", "api-key", "apikey", "appid", "authorization", "credential",
    ]

    static func isSecretHeader(_ name: String) -> Bool {
        let lowercase = name.lowercasedASCII()
        return headers.contains(lowercase) || isSecretName(lowercase)
    }

    /// Whether a query pair, form field or part of this name holds a secret.
    static func isSecretName(_ name: String) -> Bool {
        let lowercase = name.lowercasedASCII()
        return words.contains { lowercase.containsSubstring($0) }
    }
}
