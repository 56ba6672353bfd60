// Fuzzes the args of a request: their JSON form, printing them, applying them, and the resulting URL. Finds traps
// and memory errors, secrets that are printed, and requests that could smuggle a line into the head of a message.
//
// Build and run, from the root of the package:
//
//     mkdir -p build/fuzz/args
//     swiftc -O -use-ld=lld -sanitize=fuzzer,address -parse-as-library -swift-version 6 -package-name ntapi \
//         -module-name FuzzArgs -enable-upcoming-feature InternalImportsByDefault -enable-upcoming-feature ExistentialAny \
//         -I Sources/CJansson -I Sources/CCurl -I Sources/CScan -I Sources/CNTApiSystem \
//         $(find Sources/NTApi -name '*.swift') Tests/fuzz/FuzzArgs.swift -lcurl -o build/fuzz/FuzzArgs
//     ASAN_OPTIONS=detect_leaks=0 build/fuzz/FuzzArgs -max_total_time=30 -max_len=4096 build/fuzz/args
//
// Does not look for leaks: weak references look like leaks, and libcurl 7.88 leaks the name of a host without punycode.

private let client: APIClient = {
    let client = APIClient(baseURL: "http://h.example/base?x=y#part")
    client.logFlags = []
    return client
}()

/// libFuzzer calls this with each input. A line feed separates the command from the args after it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzArgs(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    let line = input.prefix { $0 != UInt8(ascii: "\n") }
    let rest = UnsafeRawBufferPointer(rebasing: input[min(line.endIndex + 1, count)...])
    let command = String(decoding: line, as: UTF8.self)
    check(command, (try? APIArg.list(loading: rest)) ?? [])
    check(command, everyKind(String(decoding: rest, as: UTF8.self)))
    return 0
}

/// The same text as an arg of one kind or another.
private func everyKind(_ text: String) -> [APIArg] {
    switch text.utf8.count % 12 {
    case 0: [.url(text, text), .path(text, text)]
    case 1: [.form(text, text), .form("a", text)]
    case 2: [.header(text, text)]
    case 3: [.header("X-A", text), .addHeader("x-a", text)]
    case 4: [.multipart(text, data: Array(text.utf8), filename: text, contentType: text)]
    case 5: [.multipart("a", text), .multipart(text, file: text)]
    case 6: [.basicAuth(text, text)]
    case 7: [.bearer(text), .method(text)]
    case 8: [.baseURL(text), .url("q", text)]
    case 9: [.option(APIOption(text), text), .option(.maximumResponseSize, text), .file(text)]
    case 10: [.data(Array(text.utf8), contentType: text)]
    default: [.json(JSON(text)), .url("q", Double(text)), .timeout(Double(text))]
    }
}

private func check(_ command: String, _ args: [APIArg]) {
    for arg in args { precondition(!"\(arg)".utf8.contains { $0 < 0x20 }) }
    for arg in args { precondition(arg.secret.isSuppressed == arg.isSuppressed) }
    let request = client.request(command, args: args)
    guard let http = request.httpRequest else { return }
    precondition(http.isValid())
    precondition(http.url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, http.url)
    precondition(http.url.hasASCIIPrefix("http://") || http.url.hasASCIIPrefix("https://"))
    for field in http.headers {
        precondition(field.name.utf8.allSatisfy(\.isTokenCharacter))
        precondition(!field.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 })
    }
    // Parsing the built URL and building it again changes nothing.
    guard let parts = try? URLParts(http.url) else { preconditionFailure(http.url) }
    precondition(parts.text == http.url, "\(parts.text) of \(http.url)")
    precondition(request.curlCommand != nil)
    checkPath(command, args)
}

/// A path value is one segment. It adds no other segment, no query, no fragment, and no step up.
private func checkPath(_ value: String, _ args: [APIArg]) {
    guard let built = client.request("a/{v}/b", args: [.path("v", value)]).httpRequest,
        let parts = try? URLParts(built.url)
    else {
        // A refused value must contain `.` or `..` as a segment.
        let names = value.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }
        return precondition(names.contains { $0 == "." || $0 == ".." }, "refused \(value)")
    }
    precondition(parts.path.utf8.count { $0 == UInt8(ascii: "/") } == 4, parts.path)
    precondition(parts.query == "x=y" && parts.host == "h.example")
    let segments = parts.path.split(separator: "/", omittingEmptySubsequences: false)
    precondition(segments[3] != "." && segments[3] != "..")
    precondition(PercentEncoding.decode(segments[3]) == String(decoding: Array(value.utf8), as: UTF8.self))
}
