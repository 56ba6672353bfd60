/// What `Cache-Control` says, of a request or of a response (RFC 9111, 5.2). Times are in seconds.
///
/// A directive that is there twice counts as it is there first. What has no meaning for a private cache is not kept.
struct CacheControl: Sendable, Equatable {
    /// Nothing of the exchange may be stored.
    var noStore = false
    /// To be asked for again each time, even where only of some fields: nobody could tell the difference.
    var noCache = false
    var isPublic = false
    var isPrivate = false
    var mustRevalidate = false
    var mustUnderstand = false
    var onlyIfCached = false
    var maxAge: Int64?
    /// `Int64.max` without a number: however stale.
    var maxStale: Int64?
    var minFresh: Int64?
    var staleWhileRevalidate: Int64?
    var staleIfError: Int64?

    init() {}

    /// - Parameter headers: of a request, an old `Pragma: no-cache` counts where there is no Cache-Control.
    init(_ headers: HTTPHeaders) {
        var isThere = false
        headers.forEachValue(of: "Cache-Control") { value in
            isThere = true
            add(value)
            return true
        }
        guard !isThere else { return }
        headers.forEachValue(of: "Pragma") { value in
            noCache = noCache || String(decoding: value, as: UTF8.self).lowercasedASCII().containsSubstring("no-cache")
            return true
        }
    }

    /// Takes the directives of one line.
    mutating func add(_ line: UnsafeBufferPointer<UInt8>) {
        var reader = CacheControlReader(line)
        while let directive = reader.next() { add(directive.name, directive.value) }
    }

    private mutating func add(_ name: String, _ value: String?) {
        switch name {
        case "no-store": noStore = true
        case "no-cache": noCache = true
        case "public": isPublic = true
        case "private": isPrivate = true
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "only-if-cached": onlyIfCached = true
        case "max-age": maxAge = maxAge ?? Self.seconds(value, otherwise: 0)
        case "max-stale": maxStale = maxStale ?? (value == nil ? .max : Self.seconds(value, otherwise: 0))
        // What makes no sense is as careful as can be.
        case "min-fresh": minFresh = minFresh ?? Self.seconds(value, otherwise: .max)
        case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? Self.seconds(value, otherwise: 0)
        case "stale-if-error": staleIfError = staleIfError ?? Self.seconds(value, otherwise: 0)
        default: break
        }
    }

    /// Delta-seconds (RFC 9111, 1.2.2): more than can be counted is the most that can.
    static func seconds(_ text: String?, otherwise: Int64) -> Int64 {
        guard let text, !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit) else { return otherwise }
        return min(Int64(text) ?? maximumSeconds, maximumSeconds)
    }

    private static let maximumSeconds: Int64 = 1 << 31
}

/// Reads the directives of one line, their names in lower case. What is none is passed over.
private struct CacheControlReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func next() -> (name: String, value: String?)? {
        while index < bytes.count {
            let name = take(\.isTokenCharacter)
            guard !name.isEmpty else {
                // A quoted text without a name may have commas in it, too.
                if bytes[index] == UInt8(ascii: "\"") { _ = takeQuoted() } else { index += 1 }
                continue
            }
            guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else { return (name.lowercasedASCII(), nil) }
            index += 1
            let isQuoted = index < bytes.count && bytes[index] == UInt8(ascii: "\"")
            let value = isQuoted ? takeQuoted() : take { $0 != UInt8(ascii: ",") && $0 != 0x20 && $0 != 0x09 }
            return (name.lowercasedASCII(), value)
        }
        return nil
    }

    private mutating func take(_ belongs: (UInt8) -> Bool) -> String {
        let start = index
        while index < bytes.count, belongs(bytes[index]) { index += 1 }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    /// To the closing quote, or to the end where there is none.
    private mutating func takeQuoted() -> String {
        var text: [UInt8] = []
        index += 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count { index += 1 }
            text.append(bytes[index])
            index += 1
        }
        index = min(index + 1, bytes.count)
        return String(decoding: text, as: UTF8.self)
    }
}
