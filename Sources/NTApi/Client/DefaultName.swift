/// The names of the defaults that have a meaning.
enum DefaultName {
    static let builtIn = [
        "additionalHeaders", "allowsCellularAccess", "applicationName", "attemptTimeout", "baseUrl", "caFile",
        "cacheDiskCapacity",
        "cacheFolder", "cacheMemoryCapacity", "cachePolicy", "clientCertificate", "clientKey", "clientKeyPassword",
        "connectTimeout", "cookieAcceptPolicy", "decompression", "exitTimeout", "httpVersion", "logFlags",
        "maximumConnections", "maximumConnectionsPerHost", "maximumRedirects", "maximumResponseSize",
        "networkInterface", "networkThreads", "password", "pinnedPublicKeys", "proxy", "proxyExceptions",
        "proxyPassword", "proxyUser", "queueTimeout", "rateLimit", "requestTimeout", "resourceTimeout", "retry",
        "sendsCookies", "tlsMinimumVersion", "user", "userAgent", "usesCache",
    ]

    private static let spellings: [String: String] = {
        var spellings = ["baseURL": "baseUrl"]
        for name in builtIn {
            spellings[name] = name
            spellings[snakeCase(name)] = name
        }
        return spellings
    }()

    /// The name that the library looks up: `request_timeout` is `requestTimeout`. A name that is not built in stays as it is.
    static func canonical(_ name: String) -> String { spellings[name] ?? name }

    /// The built-in name that somebody meant who wrote another one: `requestTimout` is nearly `requestTimeout`.
    static func nearest(to name: String) -> String? {
        guard spellings[name] == nil else { return nil }
        let letters = letters(of: name)
        return builtIn.first { candidate in
            let wanted = Self.letters(of: candidate)
            // A short name of the program's own is easily like a built-in one.
            let limit = wanted.count < 7 ? 0 : wanted.count < 11 ? 1 : 2
            return abs(wanted.count - letters.count) <= limit && distance(wanted, letters) <= limit
        }
    }

    private static func snakeCase(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    }

    private static func letters(of name: String) -> [UInt8] {
        name.lowercasedASCII().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }
    }

    /// How many letters are to be added, left out or changed to make one of the other (Levenshtein).
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var row = Array(0...other.count)
        for (i, letter) in one.enumerated() {
            var diagonal = i
            row[0] = i + 1
            for j in other.indices {
                let changed = diagonal + (letter == other[j] ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(changed, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[other.count]
    }
}
