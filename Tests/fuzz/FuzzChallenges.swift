// Fuzzes the readers of WWW-Authenticate, Proxy-Authenticate and Link with input of a hostile server. Finds traps and
// memory errors.
//
// Build and run, from the root of the package:
//
//     mkdir -p build/fuzz/challenges
//     swiftc -O -use-ld=lld -sanitize=fuzzer,address -parse-as-library -swift-version 6 -package-name ntapi \
//         -module-name FuzzChallenges -enable-upcoming-feature InternalImportsByDefault \
//         -enable-upcoming-feature ExistentialAny \
//         -I Sources/CJansson -I Sources/CCurl -I Sources/CScan -I Sources/CNTApiSystem \
//         $(find Sources/NTApi -name '*.swift') Tests/fuzz/FuzzChallenges.swift -lcurl -o build/fuzz/FuzzChallenges
//     ASAN_OPTIONS=detect_leaks=0 build/fuzz/FuzzChallenges -max_total_time=30 -max_len=1024 build/fuzz/challenges
//
// Does not look for leaks: weak references look like leaks.

/// libFuzzer calls this with each input: lines of the header.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzChallenges(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    let lines = input.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    let challenges = HTTPChallenge.parse(lines)
    precondition(challenges.count <= lines.count * 64)
    for challenge in challenges {
        precondition(!challenge.scheme.isEmpty && challenge.scheme.utf8.allSatisfy(\.isTokenCharacter))
        precondition(challenge.parameters.allSatisfy { !$0.name.isEmpty })
        // A challenge that was read can be written, and reads back the same.
        let parameters = challenge.parameters.map { "\($0.name)=\(quoted(inHeader: $0.value))" }
        let text = "\(challenge.scheme) \(challenge.token68 ?? parameters.joined(separator: ", "))"
        let again = HTTPChallenge.parse([text]).first
        precondition(again?.scheme == challenge.scheme, text)
        if challenge.token68 == nil { precondition(again?.parameters == challenge.parameters, text) }
    }
    let links = WebLink.parse(lines)
    precondition(links.count <= lines.count * 64)
    precondition(links.allSatisfy { link in !link.target.utf8.contains(UInt8(ascii: ">")) })
    _ = AuthenticationChallenge.best(of: lines)
    return 0
}

private func quoted(inHeader value: String) -> String {
    var text = "\""
    for scalar in value.unicodeScalars {
        if scalar == "\"" || scalar == "\\" { text += "\\" }
        text.unicodeScalars.append(scalar)
    }
    return text + "\""
}
