// Fuzzes the input of a cache: headers of responses and requests, and records on disk. Finds traps, memory errors,
// values that change when they are written, and responses that no cache may give.
//
// Build and run, from the root of the package:
//
//     mkdir -p build/fuzz/cache
//     swiftc -O -use-ld=lld -sanitize=fuzzer,address -parse-as-library -swift-version 6 -package-name ntapi \
//         -module-name FuzzCache -enable-upcoming-feature InternalImportsByDefault \
//         -enable-upcoming-feature ExistentialAny \
//         -I Sources/CJansson -I Sources/CCurl -I Sources/CScan -I Sources/CNTApiSystem \
//         $(find Sources/NTApi -name '*.swift') Tests/fuzz/FuzzCache.swift -lcurl -o build/fuzz/FuzzCache
//     ASAN_OPTIONS=detect_leaks=0 build/fuzz/FuzzCache -max_total_time=30 -max_len=4096 build/fuzz/cache
//
// Does not look for leaks: weak references look like leaks.

/// libFuzzer calls this with each input: header lines of a response, an empty line, those of a request, an empty line
/// and a record.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCache(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    var parts = input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
    func takeHeaders() -> HTTPHeaders {
        var headers = HTTPHeaders()
        while let line = parts.popFirst(), !line.isEmpty {
            let name = line.prefix { $0 != UInt8(ascii: ":") }
            let (field, value) = (
                String(decoding: name, as: UTF8.self), String(decoding: line.dropFirst(name.count + 1), as: UTF8.self)
            )
            if HTTPHeaders.canHave(field, value) { headers.add(field, value) }
        }
        return headers
    }
    let response = takeHeaders()
    let request = takeHeaders()
    check(response, request)
    let rest = parts.first.map { Array(input[$0.startIndex...]) } ?? []
    check(rest)
    check(record(String(decoding: rest, as: UTF8.self), response))
    return 0
}

private let now = 784_111_777.0
private let digest = String(repeating: "0a", count: 32)

private func check(_ response: HTTPHeaders, _ headers: HTTPHeaders) {
    let control = CacheControl(response)
    for seconds in [control.maxAge, control.staleIfError, control.staleWhileRevalidate] {
        precondition(seconds.map { (0...(1 << 31)).contains($0) } ?? true)
    }
    var http = HTTPRequest(method: "GET", url: "http://h/")
    http.headers = headers
    let request = CacheRequest(http)
    if case .part(let part) = headers["Range"].flatMap(ByteRange.init)?.place(in: 10) {
        precondition(!part.isEmpty && part.upperBound <= 10)
    }
    for status in [200, 206, 301, 304, 404, 503] {
        let head = ResponseHead(status: status, headers: response, httpVersion: 1.1)
        let storage = CacheStorage.of(head, request, now: now)
        if control.noStore && !control.mustUnderstand || request.control.noStore || [206, 304].contains(status) {
            precondition(storage == .none)
        }
        guard let selectors = request.selectors(for: head) else { continue }
        let stored = CachedResponse(storing: head, .empty, selectors, requestTime: now - 1, responseTime: now)
        precondition(request.select([stored]) != nil)
        precondition(stored.head.headers["Set-Cookie"] == nil && stored.head.headers["Connection"] == nil)
        check(stored, request, control)
    }
}

private func check(_ stored: CachedResponse, _ request: CacheRequest, _ control: CacheControl) {
    for later in [-1e9, 0, 100, 1e9, 1e300] {
        let freshness = CacheFreshness(stored, control, now: now + later)
        precondition(freshness.age >= 0 && freshness.lifetime >= 0)
        let decision = CacheDecision.decide(request, stored, now: now + later)
        if control.noCache || request.control.noCache {
            precondition(decision != .use && decision != .useWhileRevalidating)
        }
        if !freshness.isFresh, control.mustRevalidate { precondition(decision != .use) }
        if decision == .useWhileRevalidating { precondition(control.staleWhileRevalidate ?? 0 > 0) }
        if request.control.onlyIfCached { precondition(decision != .load && decision != .validate) }
        if let answer = request.condition?.answer(from: stored) {
            precondition(stored.head.status == 200)
            precondition(answer.head(from: stored.head, of: 0).headers.allSatisfy { !$0.isNamed("set-cookie") })
        } else if request.condition != nil {
            precondition(decision == .load || decision == .fail)
        }
        _ = CacheDecision.standsIn(stored, for: request, now: now + later)
    }
    let asked = stored.condition(request.http)
    precondition(asked.headers.allSatisfy { HTTPHeaders.canHave($0.name, $0.value) })
    if let updated = stored.updated(by: stored.head, requestTime: now, responseTime: now + 1) {
        precondition(updated.selectors == stored.selectors)
    }
}

private func record(_ text: String, _ headers: HTTPHeaders) -> [UInt8] {
    var response = CachedResponse(
        head: ResponseHead(status: 200, headers: headers, httpVersion: 1.1), requestTime: 1, responseTime: 2)
    response.selectors = [.init(name: text, digest: text)]
    response.file = .init(name: "\(digest).\(text).body", length: 3, checksum: 4)
    return CacheRecord(digest: digest, variants: [response]).json.utf8()
}

private func check(_ content: [UInt8]) {
    guard let record = CacheRecord(parsing: content, digest: digest) else { return }
    precondition(CacheRecord(parsing: content, digest: "x") == nil)
    let written = record.json.utf8()
    guard let again = CacheRecord(parsing: written, digest: digest) else { preconditionFailure("\(record.json)") }
    precondition(again.json.utf8() == written)
    for variant in record.variants {
        guard let file = variant.file else { preconditionFailure() }
        precondition(file.name.hasPrefix(digest) && !file.name.contains("/") && file.length >= 0)
        precondition(variant.head.headers.areWellFormed)
        _ = variant.condition(HTTPRequest(method: "GET", url: "http://h/"))
        _ = CacheFreshness(variant, CacheControl(variant.head.headers), now: now)
    }
}
