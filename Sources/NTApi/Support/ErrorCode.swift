#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The name of a kind of error; interned, so that equal names are the same code.
///
/// Comparison is by identity: it costs a pointer comparison, here as in C. Make codes of your own once, as static
/// constants: `static let notFound = ErrorCode("404")`.
public struct ErrorCode: Sendable, Hashable, CustomStringConvertible {
    /// One for each name, never freed: C hands the pointer out for ever.
    private final class Entry: @unchecked Sendable {
        // Safe to share: both are constant, and what `cString` points to is never written again.
        let name: String
        let cString: UnsafePointer<CChar>

        init(_ name: String) {
            self.name = name
            let utf8 = Array(name.utf8CString)
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: utf8.count)
            copy.initialize(from: utf8, count: utf8.count)
            cString = UnsafePointer(copy)
        }
    }

    private static let entries = Lock<[String: Entry]>([:], survivesFork: true)

    private let entry: Entry

    /// Registers a code, or finds the one registered under this name before.
    public init(_ name: String) {
        entry = Self.entries.withLock { entries in
            if let known = entries[name] { return known }
            let entry = Entry(name)
            entries[name] = entry
            return entry
        }
    }

    /// The code's text.
    public var name: String { entry.name }

    public var description: String { name }

    /// The interned text for C, valid for ever.
    package var cString: UnsafePointer<CChar> { entry.cString }

    public static func == (left: ErrorCode, right: ErrorCode) -> Bool { left.entry === right.entry }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(entry)) }
}

extension ErrorCode {
    /// The connection failed, broke, or spoke no HTTP.
    public static let network = ErrorCode("network")
    /// The machine has no network but its own loopback.
    public static let noInternet = ErrorCode("no internet")
    /// One of the five clocks ran out; the message names it.
    public static let timeout = ErrorCode("timeout")
    /// The TLS handshake or the check of the certificate failed; the message says why.
    public static let tls = ErrorCode("TLS")
    /// The body is not JSON; the message says where.
    public static let invalidJSON = ErrorCode("invalid JSON")
    /// The JSON is not what the program's type expects; the message names the path, what was expected and what was found.
    public static let unexpectedJSON = ErrorCode("unexpected JSON")
    /// The status is 300 or above.
    public static let httpError = ErrorCode("HTTP error")
    /// Only the cache was to be asked, and has nothing to answer with. The status is 504.
    public static let notCached = ErrorCode("not cached")
    /// The client's authenticator could not get new credentials; the message says why.
    public static let authentication = ErrorCode("authentication failed")
    /// The server redirected more often than allowed.
    public static let tooManyRedirects = ErrorCode("too many redirects")
    /// The caller cancelled the request.
    public static let cancelled = ErrorCode("request cancelled")
    /// The background session was closed, or the process ends: the transfer goes on when the session is opened again.
    public static let detached = ErrorCode("detached")
    /// The request could not be built; the message names the arg and the fix.
    public static let invalidRequest = ErrorCode("invalid request")
    /// The decoded body is larger than allowed.
    public static let responseTooLarge = ErrorCode("response too large")
    /// A test's stub answers no such request, or was not asked for what it expects; the message names what comes near.
    public static let noStub = ErrorCode("no stub")
    /// Anything else.
    public static let generic = ErrorCode("generic")
}
