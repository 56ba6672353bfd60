// Fuzzes the JSON of responses: parse, recover, walk, write, read back; and the paths. Finds traps, memory errors, and
// values that change when written or decoded. jansson also reads each text, with the same result.
//
// Build and run, from the root of the package:
//
//     mkdir -p build/fuzz/json
//     swiftc -O -use-ld=lld -sanitize=fuzzer,address -parse-as-library -swift-version 6 -package-name ntapi \
//         -module-name FuzzJSON -enable-upcoming-feature InternalImportsByDefault \
//         -I Sources/CJansson -I Sources/CCurl -I Sources/CScan -I Sources/CNTApiSystem \
//         $(find Sources/NTApi -name '*.swift') Tests/fuzz/FuzzJSON.swift -lcurl -o build/fuzz/FuzzJSON
//     build/fuzz/FuzzJSON -max_total_time=30 -max_len=4096 build/fuzz/json

import CJansson

/// libFuzzer calls this with each input. A line feed separates the path from the body after it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    let path = input.prefix { $0 != UInt8(ascii: "\n") }
    let body = UnsafeRawBufferPointer(rebasing: input[min(path.endIndex + 1, count)...])
    check(input, path: "")
    check(body, path: String(decoding: path, as: UTF8.self))
    compare(input)
    return 0
}

private func check(_ body: UnsafeRawBufferPointer, path: String) {
    switch JSONParser.parseResponse(Bytes.copy(body) ?? .empty) {
    case .none: break
    case .failure(let error):
        precondition((0...body.count).contains(error.offset) && error.line >= 1 && error.column >= 1)
        precondition(error.line + error.column <= body.count + 2)
    case .json(let json, let prefix):
        precondition(prefix != "")
        _ = walk(json, 0)
        roundTrip(json)
        decode(json)
        if let found = json[path: path] { roundTrip(found) }
        if path.isEmpty { precondition(json[path: path] == json) }
    }
}

/// Each value that was read can be written. It reads back as an equal value with the same text.
private func roundTrip(_ json: JSON) {
    let text = json.utf8()
    guard let again = try? JSON(parsing: text) else { preconditionFailure("not JSON: \(json)") }
    precondition(again == json && again.utf8() == text)
    let tree = UnsafeMutablePointer<json_t>(json.jansson())
    let copy = JSON(jansson: UnsafeRawPointer(tree))
    json_decref(tree)
    precondition(copy == json && copy.map { json == $0 && $0.utf8() == text } == true)
}

/// Decoding member by member and element by element gives the same value.
private func decode(_ json: JSON) {
    do {
        let decoded = try json.decode(Anything.self)
        expect(decoded.json == json && decoded.json.utf8() == json.utf8(), "\(json) is decoded as \(decoded.json)")
    } catch {
        expect((JSONDepth.height(of: json, limit: .max) ?? 0) >= JSONDecoding.depthLimit / 2, "\(error)")
    }
    // Decoding errors, with the paths to them.
    _ = try? json.decode([[String: Int8]].self)
    _ = try? json.decode([String: [Double]].self)
}

/// Any JSON value, decoded by trying one kind after another.
private struct Anything: Decodable {
    let json: JSON

    private struct Key: CodingKey {
        let stringValue: String
        let intValue: Int? = nil
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: Key.self) {
            json = JSON(try object.allKeys.map { ($0.stringValue, try object.decode(Anything.self, forKey: $0).json) })
        } else if var array = try? decoder.unkeyedContainer() {
            var elements: [JSON] = []
            while !array.isAtEnd { elements.append(try array.decode(Anything.self).json) }
            json = JSON(elements)
        } else {
            json = try Self.scalar(decoder.singleValueContainer())
        }
    }

    private static func scalar(_ value: any SingleValueDecodingContainer) throws -> JSON {
        if value.decodeNil() { return .null }
        if let bool = try? value.decode(Bool.self) { return JSON(bool) }
        if let string = try? value.decode(String.self) { return JSON(string) }
        // A double without a fraction also reads as an integer; its kind distinguishes them.
        let isInteger = try value.decode(JSON.self).kind == .int
        return isInteger ? JSON(try value.decode(Int64.self)) : JSON(try value.decode(Double.self))
    }
}

/// Reads everything in every way. The sum prevents the optimizer from removing the reads.
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

// MARK: Beside jansson

/// jansson must accept the same texts, and read the same values. If it refuses a text, it stops at the same place.
private func compare(_ text: UnsafeRawBufferPointer) {
    let mine = JSONParser.parse(copying: text)
    compareLoaded(text, mine)
    // Different by design: jansson takes some NUL bytes for the end of the text, and does not accept a byte order mark.
    if text.contains(0) {
        guard case .failure = mine else { preconditionFailure("NUL in JSON") }
        return
    }
    let mark = JSONParser.byteOrderMarkLength(of: text)
    let start = text.baseAddress.map { ($0 + mark).assumingMemoryBound(to: CChar.self) }
    var error = json_error_t()
    var options = JSON_DECODE_ANY | JSON_ALLOW_NUL
    var tree = json_loadb(start, text.count - mark, Int(options), &error)
    var readsIntegersAsDoubles = false
    if tree == nil, json_error_code(&error) == json_error_numeric_overflow {
        // Different by design: an integer beyond 64 bits is a double. jansson makes doubles of all integers, or of
        // none.
        options |= JSON_DECODE_INT_AS_REAL
        readsIntegersAsDoubles = true
        tree = json_loadb(start, text.count - mark, Int(options), &error)
    }
    defer { json_decref(tree) }
    switch (mine, tree) {
    case (.success(let json), let tree?):
        let theirs = JSON(jansson: UnsafeRawPointer(tree))
        let isSame = json == theirs && json.utf8() == theirs?.utf8()
        expect(readsIntegersAsDoubles || isSame, "\(json) is \(theirs?.text ?? "too deep")")
    case (.failure(let failure), nil):
        // In the middle of a character jansson stops at a byte of it.
        let position = Int(error.position) + mark
        let isInside = position < text.count && text[position] & 0xC0 == 0x80
        expect(failure.offset == position || isInside, "\(failure), not at \(position)")
    // jansson counts the content of the innermost array or object as a level.
    case (.success, nil) where json_error_code(&error) == json_error_stack_overflow: break
    case (.success(let json), nil): expect(false, "jansson refuses \(json)")
    case (.failure(let failure), _): expect(false, "jansson accepts: \(failure)")
    }
}

/// Text from C is read like any other.
private func compareLoaded(_ text: UnsafeRawBufferPointer, _ mine: Result<JSON, JSONParseError>) {
    let loaded = Result { () throws(JSONParseError) in try JSON(loading: text) }
    switch (mine, loaded) {
    case (.success(let json), .success(let loaded)):
        expect(json == loaded && json.utf8() == loaded.utf8(), "\(json) is loaded as \(loaded)")
        let dumped = try? JSON(parsing: json.dumped)
        expect(dumped == json, "\(json) is dumped as \(json.dumped)")
    case (.failure(let mine), .failure(let loaded)):
        // In the middle of a character jansson stops at a byte of it.
        let isInside = loaded.offset < text.count && text[loaded.offset] & 0xC0 == 0x80
        expect(loaded.offset == mine.offset || isInside, "\(loaded), not \(mine)")
    default: expect(false, "loading and parsing differ")
    }
}

/// A precondition whose message is also shown in optimized builds.
private func expect(_ isAsItShould: Bool, _ message: @autoclosure () -> String) {
    if !isAsItShould { fatalError(message()) }
}
