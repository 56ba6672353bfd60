// Fuzzes the use of URLs from outside: a Location header is resolved against a request's URL, the decision to follow it
// is made, and URLs are redacted. Finds traps, memory errors, and secrets that leave their origin.
//
// Build and run, from the root of the package:
//
//     mkdir -p build/fuzz/url
//     swiftc -O -use-ld=lld -sanitize=fuzzer,address -parse-as-library -swift-version 6 -package-name ntapi \
//         -module-name FuzzURL -enable-upcoming-feature InternalImportsByDefault -enable-upcoming-feature ExistentialAny \
//         -I Sources/CJansson -I Sources/CCurl -I Sources/CScan -I Sources/CNTApiSystem \
//         $(find Sources/NTApi -name '*.swift') Tests/fuzz/FuzzURL.swift -lcurl -o build/fuzz/FuzzURL
//     ASAN_OPTIONS=detect_leaks=0 build/fuzz/FuzzURL -max_total_time=30 -max_len=1024 build/fuzz/url
//
// Does not look for leaks: weak references look like leaks, and libcurl 7.88 leaks the name of a host without punycode.

/// libFuzzer calls this with each input. A line feed separates the URL from the Location after it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzURL(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    let line = input.prefix { $0 != UInt8(ascii: "\n") }
    let rest = String(decoding: input[min(line.endIndex + 1, count)...], as: UTF8.self)
    let url = String(decoding: line, as: UTF8.self)
    for base in [url, "https://user.example:8443/a/b?c=d#e"] {
        guard let parts = try? URLParts(base) else { continue }
        precondition((try? URLParts(parts.text))?.isSameOrigin(as: parts) == true, parts.text)
        redirect(parts, rest)
    }
    for text in [url, rest] {
        _ = Secrets.redactURL(text, alsoNamed: [rest])
        _ = Secrets.redact(text)
        let secret = Secrets.redactURL("http://h/?token=\(PercentEncoding.component("s3cr3t" + text))&\(text)")
        precondition(!secret.hasASCIIPrefix("http://h/?token=s3cr3t"))
    }
    return 0
}

private func redirect(_ from: URLParts, _ location: String) {
    var request = HTTPRequest(method: "GET", url: from.text)
    request.headers.add("X-Mine", "s3cr3t", isSecret: true)
    request.headers.add("Authorization", "s3cr3t")
    var head = ResponseHead(status: 302, headers: HTTPHeaders(), httpVersion: 1.1)
    head.headers.add("Location", location)
    guard case .follow(let next) = RedirectPolicy.decide(request, head, followed: 0) else { return }
    guard let to = try? URLParts(next.url) else { preconditionFailure(next.url) }
    precondition(next.url.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, next.url)
    precondition(from.scheme == to.scheme || to.scheme == "https", next.url)
    let isSame = from.scheme == to.scheme && from.host == to.host && from.port == to.port
    precondition(next.headers.count == (isSame ? 2 : 0), next.url)
}
