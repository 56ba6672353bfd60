import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The token that signs requests: a request token, and later an access token.
struct Token: Sendable {
    var token = ""
    var secret = ""

    /// The application's key and secret at the service.
    static let key = variable("BYTECLUB_KEY") ?? "byteclub"
    static let keySecret = variable("BYTECLUB_SECRET") ?? "club secret"

    /// The simplest kind of signature, PLAINTEXT (RFC 5849, 3.4.4).
    var header: String {
        let signature = "\(encoded(Self.keySecret))&\(encoded(secret))"
        var fields = [
            ("oauth_version", "1.0"), ("oauth_signature_method", "PLAINTEXT"), ("oauth_consumer_key", Self.key),
        ]
        if !token.isEmpty { fields.append(("oauth_token", token)) }
        fields.append(("oauth_signature", signature))
        return "OAuth " + fields.map { "\($0)=\"\(encoded($1))\"" }.joined(separator: ", ")
    }
}

/// Encodes everything except the unreserved characters as %XX.
func encoded(_ text: String) -> String {
    text.utf8.map { byte in
        let character = Character(Unicode.Scalar(byte))
        if byte < 128, character.isLetter || character.isNumber || "-._~".contains(character) {
            return String(character)
        }
        return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
    }.joined()
}

/// The answer is a form: `oauth_token=…&oauth_token_secret=…`, with letters and digits.
protocol TokenService: APIService where Response == Token {}

extension TokenService {
    var method: String? { "POST" }
    var parameters: [APIArg] { [.option(.rawData)] }

    func makeResponse(_ response: APIResponse) throws -> Token {
        var token = Token()
        for pair in response.text.split(separator: "&") {
            let words = pair.split(separator: "=").map(String.init)
            if words.count == 2, words[0] == "oauth_token" { token.token = words[1] }
            if words.count == 2, words[0] == "oauth_token_secret" { token.secret = words[1] }
        }
        guard !token.token.isEmpty, !token.secret.isEmpty else {
            throw APIError(code: ErrorCode("no token"), message: "this is no service of OAuth 1.0: is the URL right?")
        }
        return token
    }
}

/// The first step: gets a token that the user must allow.
struct RequestToken: TokenService {
    var command: String { "1/oauth/request_token" }
}

/// The third step: exchanges the allowed token for one that all calls can use.
///
/// Asks until the user has answered, for up to five minutes. The idempotency key says that it is the same request each
/// time.
struct AccessToken: TokenService {
    var command: String { "1/oauth/access_token" }
    var parameters: [APIArg] { [.option(.rawData), .retry(.untilAllowed), .timeout(300, .total), .idempotencyKey()] }
}

extension RetryPolicy {
    /// The service answers 401 until the user has decided.
    static let untilAllowed = RetryPolicy(attempts: 1000, base: 1, cap: 1, statuses: [401])
}

/// The second step: the user allows the token in a browser. Without a display, users open the page themselves.
func openBrowser(_ page: String) {
    guard variable("DISPLAY") != nil || variable("WAYLAND_DISPLAY") != nil else { return }
    // Passed in a variable, so that the shell does not interpret any character.
    setenv("BYTECLUB_PAGE", page, 1)
    _ = system("xdg-open \"$BYTECLUB_PAGE\" </dev/null >/dev/null 2>&1 &")
}

/// The text for errors that only a log-in has.
func loginExplanation(of error: APIError) -> String? {
    switch error.httpStatus {
    case 401, 403: "the service does not let Byte Club in: \(error.message)"
    case 404: "this is no file storage: is the URL right?"
    default: nil
    }
}
