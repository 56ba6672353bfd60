// Fuzzes data that is read back from disk, or that a program has stored: resume data, records of background sessions,
// and recordings for tests; also the headers that decide about the first two. Finds traps, memory errors, values that
// change when they are written, and data that makes the library send or write something that nobody wanted.
//
// Build and run, from the root of the package:
//
//     mkdir -p build/fuzz/records
//     swiftc -O -use-ld=lld -sanitize=fuzzer,address -parse-as-library -swift-version 6 -package-name ntapi \
//         -module-name FuzzRecords -enable-upcoming-feature InternalImportsByDefault \
//         -enable-upcoming-feature ExistentialAny \
//         -I Sources/CJansson -I Sources/CCurl -I Sources/CScan -I Sources/CNTApiSystem \
//         $(find Sources/NTApi -name '*.swift') Tests/fuzz/FuzzRecords.swift -lcurl -o build/fuzz/FuzzRecords
//     ASAN_OPTIONS=detect_leaks=0 build/fuzz/FuzzRecords -max_total_time=30 -max_len=4096 build/fuzz/records
//
// Does not look for leaks: weak references look like leaks.

/// libFuzzer calls this with each input. A line feed separates headers of an answer from the text after them.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRecords(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    let line = input.prefix { $0 != UInt8(ascii: "\n") }
    let rest = input[min(line.endIndex + 1, count)...]
    let (header, text) = (String(decoding: line, as: UTF8.self), String(decoding: rest, as: UTF8.self))
    checkHeaders(header)
    for text in [text, resumeData(header, text)] { check(text, header) }
    for text in [Array(rest), record(header, text), record(text, header)] { check(text) }
    for text in [Array(rest), recording(header, text), recording(text, header)] { checkRecording(text) }
    return 0
}

/// Resume data that is well-formed JSON, with one of these texts in each place for a text.
private func resumeData(_ first: String, _ second: String) -> String {
    let json: JSON = [
        "ntapiResumeData": 1, "url": JSON("http://h/" + first), "destination": JSON("/" + first),
        "temporaryFile": JSON("/" + second), "etag": JSON("\"\(second)\""), "totalLength": 9,
    ]
    return json.text
}

private func record(_ first: String, _ second: String) -> [UInt8] {
    let json: JSON = [
        "version": 1, "identifier": 1, "priority": 0.5, "method": "GET", "url": JSON("http://h/" + first),
        "headers": [[JSON(first), JSON(second)]], "created": 1, "kind": "upload", "file": JSON("/" + second),
        "settings": [:], "state": "finished",
        "outcome": [
            "status": 200, "headers": [[JSON(second), JSON(first), true]], "url": "", "body": JSON(first), "ended": 1,
        ],
    ]
    return json.utf8()
}

private func check(_ text: String, _ header: String) {
    guard let data = try? ResumeData(text) else { return }
    precondition((try? ResumeData(data.text)) == data, data.text)
    precondition(data.destination.hasPrefix("/") && data.temporaryFile.hasPrefix("/"))
    for offset in [0, 1, Int64.max] {
        for field in ResumeDecision.headers(for: data, offset: offset) {
            precondition(!field.bytes.contains { $0 < 0x20 || $0 == 0x7F }, field.value)
        }
        let sure = ResumeDecision.offset(of: data, fileSize: offset)
        precondition((0...offset).contains(sure) && sure <= data.totalLength ?? .max)
        for (status, name) in [(206, "Content-Range"), (416, "Content-Range"), (206, "ETag"), (200, "ETag")] {
            var head = ResponseHead(status: status, headers: HTTPHeaders(), httpVersion: 1.1)
            head.headers.add(name, header)
            decide(data, sure, head, header)
        }
    }
}

private func decide(_ data: ResumeData, _ offset: Int64, _ head: ResponseHead, _ header: String) {
    switch ResumeDecision.decide(data, offset: offset, head) {
    case .append(let end, let total):
        precondition(head.status == 206 && end > offset && end <= total ?? .max)
        precondition(total == nil || data.totalLength == nil || total == data.totalLength)
    case .complete: precondition(head.status == 416 && header.contains("*/\(offset)"))
    case .replace: precondition(head.status == 200)
    case .startOver: precondition(head.status != 200)
    case .fail: preconditionFailure()
    }
}

private func check(_ content: [UInt8]) {
    guard let record = try? BackgroundRecord(parsing: content) else { return }
    let written = record.json.utf8()
    guard let again = try? BackgroundRecord(parsing: written) else { preconditionFailure("\(record.json)") }
    precondition(again == record && again.json.utf8() == written)
    for field in record.headers { precondition(!field.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }) }
}

private func recording(_ first: String, _ second: String) -> [UInt8] {
    let json: JSON = [
        "format": "ntapi-recording", "version": 1,
        "exchanges": [
            [
                "request": [
                    "method": JSON(first), "url": JSON("http://h/" + first), "headers": [[JSON(second), JSON(first)]],
                    "body": JSON([(second, JSON(first))]),
                ], "response": ["status": 200, "body": ["text": JSON(second)]],
            ]
        ],
    ]
    return json.utf8()
}

/// A recording that was read can be written. It reads back the same, and expects what it has recorded.
private func checkRecording(_ content: [UInt8]) {
    guard let recording = try? RecordingReader.read(content, of: "it") else { return }
    let written = IndentedJSON.text(recording.json)
    guard let again = try? RecordingReader.read(written, of: "it") else {
        preconditionFailure(String(decoding: written, as: UTF8.self))
    }
    precondition(IndentedJSON.text(again.json) == written)
    for exchange in recording.exchanges {
        var closeness = 0
        let reason = StubURL(recorded: exchange.url, anyOrigin: false).mismatch(exchange.url, closeness: &closeness)
        precondition(reason == nil || exchange.url.contains("#"), "\(exchange.url): \(reason ?? "")")
        _ = StubURL(exchange.url).mismatch("http://h/" + exchange.method, closeness: &closeness)
    }
}

private func checkHeaders(_ text: String) {
    if let seconds = HTTPDate.seconds(text) { precondition((-62_200_000_000...253_500_000_000).contains(seconds)) }
    if case .part(let first, let last, let total) = ContentRange(text) {
        precondition(0 <= first && first <= last && last < total ?? .max)
    }
    if let name = try? FileName.encode(text, "x") {
        precondition(!name.contains("/") && !name.hasPrefix(".") && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
    }
}
