// Fuzzes the JSON of responses: parse, recover, walk, write, read back; and the paths. Finds traps, memory errors, and
// values that do not survive being written.
//
// Build and run, from the root of the package:
//
//     mkdir -p build/fuzz/json
//     swiftc -O -use-ld=lld -sanitize=fuzzer,address -parse-as-library -swift-version 6 -package-name ntapi \
//         -module-name FuzzJSON -enable-upcoming-feature InternalImportsByDefault \
//         -I Sources/CJansson Sources/NTApi/Support/JSON/*.swift Tests/fuzz/FuzzJSON.swift -o build/fuzz/FuzzJSON
//     build/fuzz/FuzzJSON -max_total_time=30 -max_len=4096 build/fuzz/json

/// Called by libFuzzer with each input. A line feed parts the path, in front, from the body.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    let path = input.prefix { $0 != UInt8(ascii: "\n") }
    let body = UnsafeRawBufferPointer(rebasing: input[min(path.endIndex + 1, count)...])
    check(input, path: "")
    check(body, path: String(decoding: path, as: UTF8.self))
    return 0
}

private func check(_ body: UnsafeRawBufferPointer, path: String) {
    switch JSONParser.parseResponse(body) {
    case .none: break
    case .failure(let error):
        precondition((0...body.count).contains(error.offset) && error.line >= 1 && error.column >= 1)
        precondition(error.line + error.column <= body.count + 2)
    case .json(let json, let prefix):
        precondition(prefix != "")
        _ = walk(json, 0)
        roundTrip(json)
        if let found = json[path: path] { roundTrip(found) }
        if path.isEmpty { precondition(json[path: path] == json) }
    }
}

/// Whatever was read can be written, and reads back as an equal value with the same text.
private func roundTrip(_ json: JSON) {
    let text = json.utf8()
    guard let again = try? JSON(parsing: text) else { preconditionFailure("not JSON: \(json)") }
    precondition(again == json && again.utf8() == text)
    let copy = json.janssonDeepCopy()
    let owner = JSONNode(adopting: JSONRef(copy), heightBound: JSONDepth.limit)
    precondition(owner.read { JSON(janssonDeepCopying: UnsafeRawPointer($0)) } == json)
}

/// Reads everything in every way; the sum keeps the optimizer from leaving it out.
private func walk(_ json: JSON, _ depth: Int) -> Int {
    precondition(depth <= JSONDepth.limit)
    var sum = (json.int64 == nil ? 0 : 1) + (json.double == nil ? 0 : 1) + (json.bool == true ? 1 : 0)
    sum &+= json.string?.utf8.count ?? 0
    sum &+= json.cString?.length ?? 0
    for (index, element) in (json.array ?? []).enumerated() {
        precondition(json[index]?.kind == element.kind)
        if element.count == 0 { precondition(json[path: "[\(index)]"] == element) }
        sum &+= walk(element, depth + 1)
    }
    for (index, (key, value)) in (json.object ?? []).enumerated() {
        precondition(json[key]?.kind == value.kind && json.cKey(at: index) != nil)
        sum &+= walk(value, depth + 1)
    }
    precondition(json[json.count] == nil && json.cKey(at: json.count) == nil && json.keys.count <= json.count)
    return sum
}
