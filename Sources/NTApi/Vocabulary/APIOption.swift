/// The name of an option: a built-in one, or one of the program that its hooks read.
public struct APIOption: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name, such as `raw_data`.
    public let name: String

    /// The option of this name.
    public init(_ name: String) { self.name = name }

    public init(stringLiteral name: String) { self.name = name }

    /// The body is not parsed as JSON. The body of an HTTP error still is, for the service's own error.
    public static let rawData = APIOption("raw_data")
    /// Statuses from 300 are not errors. A refused redirect, too many redirects and `not cached` still are.
    public static let ignoreHTTPErrors = APIOption("ignore_http_errors")
    /// The server's certificate is not verified.
    public static let allowInvalidCertificate = APIOption("allow_invalid_certificate")
    /// The largest decoded body, in bytes.
    public static let maximumResponseSize = APIOption("maximum_response_size")
    /// How many redirects are followed; 0 follows none.
    public static let maximumRedirects = APIOption("maximum_redirects")
    /// The request does not use the client's authenticator: for the requests that fetch its credentials.
    public static let bypassAuthentication = APIOption("bypass_authentication")
    /// "1.0", "1.1" or "2"; negotiated by default.
    public static let httpVersion = APIOption("http_version")
    /// Whether a stream of server-sent events reconnects when its connection ends. By default GET does and POST does
    /// not.
    public static let reconnect = APIOption("reconnect")
    /// After how many connections in a row without an event the stream fails; never by default.
    public static let maximumFailures = APIOption("maximum_failures")

    /// One exchange with the server and nothing around it, for a library that does the rest itself.
    ///
    /// The request has the headers that the args give, and the framing of its body; none of the client's. The answer is
    /// what the server sent: no redirect is followed, nothing is decompressed or parsed, no status is an error,
    /// and no challenge is answered. Cookies, cache, retries and authenticator are not used. Timeouts, proxy,
    /// certificates, rate limit, interceptors, stub and recorder are used as always.
    public static let plainExchange = APIOption("plain_exchange")

    private static let builtIn = [
        rawData, ignoreHTTPErrors, maximumResponseSize, maximumRedirects, httpVersion, bypassAuthentication,
        allowInvalidCertificate, reconnect, maximumFailures, plainExchange,
    ].map(\.name)

    /// Throws an error for a name that is nearly a built-in one, its beginning, or short for it.
    static func check(_ name: String) throws(APIError) {
        guard !builtIn.contains(name) else { return }
        let meant = SimilarName.nearest(to: name, among: builtIn) ?? SimilarName.longer(than: name, among: builtIn)
        guard let meant else { return }
        throw .invalidRequest("there is no option \(quoted(name)): did you mean \(quoted(meant))?")
    }
}

/// The options of a request.
public struct APIOptions: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    // Most requests have no options, and few have more than two. Searching a list is faster than a table.
    private var values: [(name: String, value: String)] = []
    /// The index of each option, if there are many.
    private var places: [String: Int]?

    private static let many = 32

    init() {}

    var isEmpty: Bool { values.isEmpty }

    var all: [(name: String, value: String)] { values }

    /// The value of an option; "" if it was switched on without a value, nil if it is not set.
    public subscript(option: APIOption) -> String? {
        get { values.first { $0.name == option.name }?.value }
        set {
            if let newValue { return set(option.name, newValue) }
            places = nil
            values.removeAll { $0.name == option.name }
        }
    }

    /// The options with their values, secrets redacted.
    public var description: String {
        values.map { name, value in
            value.isEmpty ? name : "\(name)=\(Secrets.isSecretName(name) ? Secrets.redacted : value)"
        }.joined(separator: ", ")
    }

    /// `dump` shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: ["options": description]) }

    public static func == (left: APIOptions, right: APIOptions) -> Bool {
        left.values.elementsEqual(right.values) { $0 == $1 }
    }

    mutating func set(_ name: String, _ value: String) {
        if values.count >= Self.many, places == nil {
            places = values.indices.reduce(into: [:]) { $0[values[$1].name] = $1 }
        }
        if let index = places.map({ $0[name] }) ?? values.firstIndex(where: { $0.name == name }) {
            values[index].value = value
        } else {
            places?[name] = values.count
            values.append((name, value))
        }
    }

    /// Whether any option affects the transfer, not only the handling of the answer.
    var concernTransfer: Bool {
        values.contains { $0.name != APIOption.rawData.name && $0.name != APIOption.ignoreHTTPErrors.name }
    }

    /// Whether an option is on: set, and not to "false" or "0".
    func isOn(_ option: APIOption) throws(APIError) -> Bool {
        switch self[option] {
        case nil, "false", "0": return false
        case "", "true", "1": return true
        case let other?:
            throw .invalidRequest("option \(option.name) is \"\(other)\": leave out the value, or use true or false")
        }
    }

    /// Whether the body is not parsed as JSON.
    var keepBodyRaw: Bool { !values.isEmpty && ((try? isOn(.rawData)) == true || isPlain) }

    /// Whether a status from 300 is no error.
    var allowAnyStatus: Bool { !values.isEmpty && ((try? isOn(.ignoreHTTPErrors)) == true || isPlain) }

    /// Whether the request is one exchange and nothing around it.
    var isPlain: Bool { (try? isOn(.plainExchange)) == true }

    func number(_ option: APIOption) throws(APIError) -> Int64? {
        guard let text = self[option] else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw .invalidRequest("option \(option.name) is \"\(text)\": it must be a whole number, 0 or more")
        }
        return number
    }
}
