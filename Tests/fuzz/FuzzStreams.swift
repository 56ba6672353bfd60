// Fuzzes the readers of streams: server-sent events and JSON lines. Finds traps, memory errors, results that depend on
// how the chunks were cut, and memory that grows beyond the bound.
//
// Build and run, from the root of the package:
//
//     mkdir -p build/fuzz/streams
//     swiftc -O -use-ld=lld -sanitize=fuzzer,address -parse-as-library -swift-version 6 -package-name ntapi \
//         -module-name FuzzStreams -enable-upcoming-feature InternalImportsByDefault \
//         -enable-upcoming-feature ExistentialAny \
//         -I Sources/CJansson -I Sources/CCurl -I Sources/CScan -I Sources/CNTApiSystem \
//         $(find Sources/NTApi -name '*.swift') Tests/fuzz/FuzzStreams.swift -lcurl -o build/fuzz/FuzzStreams
//     ASAN_OPTIONS=detect_leaks=0 build/fuzz/FuzzStreams -max_total_time=30 -max_len=1024 build/fuzz/streams
//
// Does not look for leaks: weak references look like leaks.

/// The result of a stream.
private struct Outcome<Element: Equatable>: Equatable {
    var elements: [Element] = []
    var error: APIError?
}

/// libFuzzer calls this with each input. The first byte determines how the rest is cut.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzStreams(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard let first = input.first else { return 0 }
    let stream = Array(input.dropFirst())
    let length = Int(first % 16) + 1
    let limit = first < 128 ? 1 << 20 : 24
    let (events, lastEventID) = readEvents(stream, chunks: .max, limit)
    precondition(readEvents(stream, chunks: length, limit) == (events, lastEventID), "events")
    check(events.elements, limit)
    precondition(readLines(stream, chunks: length, limit) == readLines(stream, chunks: .max, limit), "lines")
    reconnect(events.elements)
    return 0
}

private func readEvents(_ stream: [UInt8], chunks: Int, _ limit: Int) -> (Outcome<ServerSentEvent>, String) {
    var parser = EventStreamParser(maximumSize: limit)
    var outcome = Outcome<ServerSentEvent>()
    cut(stream, chunks) { rest in
        do throws(APIError) {
            while let event = try parser.next(&rest) { outcome.elements.append(event) }
            precondition(rest.isEmpty)
        } catch {
            precondition(outcome.error == nil || outcome.error == error)
            outcome.error = error
        }
    }
    return (outcome, parser.lastEventID)
}

private func readLines(_ stream: [UInt8], chunks: Int, _ limit: Int) -> Outcome<JSON> {
    var parser = JSONLinesParser(maximumLength: limit)
    var outcome = Outcome<JSON>()
    do throws(APIError) {
        var failure: APIError?
        cut(stream, chunks) { rest in
            do throws(APIError) {
                while let value = try parser.next(&rest) { outcome.elements.append(value) }
                precondition(rest.isEmpty && failure == nil)
            } catch {
                precondition(failure == nil || failure == error)
                failure = error
            }
        }
        if let failure { throw failure }
        if let value = try parser.last() { outcome.elements.append(value) }
    } catch {
        outcome.error = error
    }
    return outcome
}

/// Each chunk is in its own memory, so that the address sanitizer sees a read beyond it.
private func cut(_ stream: [UInt8], _ length: Int, _ body: (inout UnsafeRawBufferPointer) -> Void) {
    var rest = stream[...]
    while !rest.isEmpty {
        let chunk = Array(rest.prefix(length))
        rest = rest.dropFirst(length)
        chunk.withUnsafeBytes { bytes in
            var bytes = bytes
            body(&bytes)
        }
    }
}

private func check(_ events: [ServerSentEvent], _ limit: Int) {
    for event in events {
        precondition(!event.type.isEmpty && !event.lastEventID.utf8.contains(0))
        // A byte that is not UTF-8 becomes three.
        precondition(event.data.utf8.count <= 3 * limit && event.type.utf8.count <= 3 * limit)
        for text in [event.type, event.lastEventID] { precondition(!text.utf8.contains { $0 == 10 || $0 == 13 }) }
        precondition(!event.data.utf8.contains(13))
    }
}

/// No identifier may smuggle a line into the head of the next request.
private func reconnect(_ events: [ServerSentEvent]) {
    var policy = EventStreamReconnection()
    for event in events {
        policy.received(lastEventID: event.lastEventID, retry: event.data.utf8.count)
        for header in policy.headers {
            precondition(!header.value.utf8.contains { $0 < 0x20 && $0 != 9 || $0 == 0x7F })
        }
        _ = policy.ended(nil, jitter: 1)
    }
}
