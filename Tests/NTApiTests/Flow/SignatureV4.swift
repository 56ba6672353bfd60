@testable import NTApi

/// AWS Signature Version 4 as an interceptor. HMAC-SHA256 comes from the library's own hash function.
struct SignatureV4 {
    var accessKey: String
    var secretKey: String
    var sessionToken: String?
    var region: String
    var service: String
    /// The time of an attempt: `20150830T123600Z`.
    var date: @Sendable () -> String

    /// Signs each attempt anew, but no request to another origin.
    var interceptor: Interceptor {
        Interceptor(.attempt) { [self] call in
            guard call.isOwnOrigin else { return try await call.next() }
            var request = call.request
            sign(&request)
            return try await call.next(request)
        }
    }

    func sign(_ request: inout HTTPRequest) {
        let date = date()
        request.headers.set("X-Amz-Date", date)
        if let sessionToken { request.headers.set("X-Amz-Security-Token", sessionToken, isSecret: true) }
        let scope = "\(date.prefix(8))/\(region)/\(service)/aws4_request"
        let text = stringToSign(canonical(request).text, date, scope)
        let key = [String(date.prefix(8)), region, service, "aws4_request"].reduce(Array("AWS4\(secretKey)".utf8)) {
            HMAC.code(for: Array($1.utf8), key: $0)
        }
        let signature = HMAC.hex(HMAC.code(for: Array(text.utf8), key: key))
        request.headers.set(
            "Authorization",
            "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope), SignedHeaders=\(canonical(request).signed), "
                + "Signature=\(signature)", isSecret: true)
    }

    func stringToSign(_ canonical: String, _ date: String, _ scope: String) -> String {
        "AWS4-HMAC-SHA256\n\(date)\n\(scope)\n\(SHA256.hex(canonical))"
    }

    /// Headers that are not signed: they may change on the way, or the transport adds them.
    private static let unsigned: Set<String> = ["authorization", "accept", "user-agent", "expect", "transfer-encoding"]

    func canonical(_ request: HTTPRequest) -> (text: String, signed: String) {
        let afterScheme = request.url.drop { $0 != "/" }.dropFirst(2)
        let target = afterScheme.drop { $0 != "/" && $0 != "?" }.split(separator: "?", maxSplits: 1)
        let path = target.first.map(String.init) ?? "/"
        var lines: [String: [String]] = ["host": [String(afterScheme.prefix { $0 != "/" && $0 != "?" })]]
        for field in request.headers where !Self.unsigned.contains(field.name.lowercased()) {
            let value = field.value.split { $0 == " " }.joined(separator: " ")
            lines[field.name.lowercased(), default: []].append(value)
        }
        let names = lines.keys.sorted()
        let headers = names.map { "\($0):\((lines[$0] ?? []).joined(separator: ","))\n" }.joined()
        let signed = names.joined(separator: ";")
        let body = if case .bytes(let bytes) = request.body { bytes } else { [UInt8]() }
        let query = target.count > 1 ? canonicalQuery(String(target[1])) : ""
        return ("\(request.method)\n\(path)\n\(query)\n\(headers)\n\(signed)\n\(SHA256.hex(bytes: body))", signed)
    }

    private func canonicalQuery(_ query: String) -> String {
        let pairs = query.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                Self.encode(Self.decode(String($0)))
            }
            return (name: parts[0], value: parts.count > 1 ? parts[1] : "")
        }
        return pairs.sorted { ($0.name, $0.value) < ($1.name, $1.value) }.map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
    }

    private static func decode(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), digits.utf8.count == 2, let value = UInt8(digits, radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func encode(_ bytes: [UInt8]) -> String {
        let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        return bytes.map { byte in
            if unreserved.contains(byte) { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%\(digits.count == 1 ? "0" : "")\(digits)"
        }.joined()
    }
}

/// HMAC-SHA256 (RFC 2104).
enum HMAC {
    static func code(for text: [UInt8], key: [UInt8]) -> [UInt8] {
        let block = 64
        var key = key.count > block ? hash(key) : key
        key += [UInt8](repeating: 0, count: block - key.count)
        return hash(key.map { $0 ^ 0x5c } + hash(key.map { $0 ^ 0x36 } + text))
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func hash(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array(SHA256.hex(bytes: bytes))
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }
}
