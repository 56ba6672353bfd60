import CJansson
import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The texts that Swift, C and Python share. `Tests/conformance/README.md` explains the keys.
@Suite struct JSONCorpusTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let json: JSON
        var testDescription: String { json["name"]?.string ?? "" }
        var bytes: [UInt8] {
            guard let hex = json["hex"]?.string.map({ Array($0) }) else {
                return Array((json["text"]?.string ?? "").utf8)
            }
            return stride(from: 0, to: hex.count, by: 2).compactMap { UInt8(String(hex[$0...($0 + 1)]), radix: 16) }
        }
    }

    static let cases: [Case] = {
        guard let file = fopen("\(TestServers.packageRoot)/Tests/conformance/json_corpus.json", "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = fgetc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        return ((try? JSON(parsing: bytes))?.array ?? []).map(Case.init)
    }()

    @Test func theCorpusIsThere() { #expect(Self.cases.count > 1_000) }

    // One test for all texts: with a thousand tests, the output would hide the failures.
    @Test func eachTextIsReadAsDecided() {
        for wanted in Self.cases {
            let name = wanted.testDescription
            let parsed = Result { try JSON(parsing: wanted.bytes) }
            let isRefused = wanted.json["refused"]?.bool == true
            guard case .success(let value) = parsed else {
                #expect(isRefused, "\(name): \(parsed)")
                continue
            }
            #expect(!isRefused, "\(name): accepted")
            if let written = wanted.json["written"]?.string { #expect(value.text == written, "\(name)") }
            if let double = wanted.json["double"]?.string {
                #expect(value.kind == .double && value.double?.bitPattern == Double(double)?.bitPattern, "\(name)")
                #expect(value.text == wanted.json["text"]?.string, "\(name)")
            }
            if let count = wanted.json["count"]?.int { #expect(value.count == count, "\(name)") }
        }
    }

    /// A value stays the same when it is written, compared, and sent through jansson and back.
    @Test func eachValueSurvives() throws {
        for wanted in Self.cases {
            guard let value = try? JSON(parsing: wanted.bytes) else { continue }
            let name = wanted.testDescription
            let again = try JSON(parsing: value.text)
            #expect(again == value && again.text == value.text, "\(name)")
            // jansson keeps such a number as a double, which has fewer digits.
            guard wanted.json["double"] == nil, wanted.json["long"] == nil else { continue }
            let tree = UnsafeMutablePointer<json_t>(value.jansson())
            let copy = JSON(jansson: UnsafeRawPointer(tree))
            json_decref(tree)
            #expect(copy == value && copy?.dumped == value.dumped, "\(name)")
        }
    }

    /// Text that jansson has written for C reads back as the same value.
    @Test func eachValueIsDumped() throws {
        for wanted in Self.cases {
            guard let value = try? JSON(parsing: wanted.bytes) else { continue }
            #expect(try JSON(parsing: value.dumped) == value, "\(wanted.testDescription): \(value.dumped)")
        }
    }

    /// jansson's loader and the library's parser read a text as the same value, with errors at the same place.
    @Test func eachTextIsLoadedAlike() {
        for wanted in Self.cases {
            let name = wanted.testDescription
            let bytes = wanted.bytes
            let parsed = Result { try JSON(parsing: bytes) }
            let loaded = Result { try bytes.withUnsafeBytes { try JSON(loading: $0) } }
            guard case .success(let value) = parsed else {
                let (mine, theirs) = (parsed.parseError, loaded.parseError)
                #expect(theirs != nil && theirs?.line == mine?.line, "\(name)")
                // Inside of a character, jansson stops at one of its bytes.
                let offset = theirs?.offset ?? 0
                let isInside = offset < bytes.count && bytes[offset] & 0xC0 == 0x80
                #expect(offset == mine?.offset || isInside, "\(name): \(String(describing: theirs))")
                continue
            }
            #expect((try? loaded.get()) == value && (try? loaded.get().text) == value.text, "\(name)")
        }
    }

    /// As the body of a response, refused text is an error, unless it ends in JSON after stray text.
    @Test func eachBodyIsClassified() {
        for wanted in Self.cases {
            let name = wanted.testDescription
            let body = wanted.bytes.withUnsafeBytes { Bytes.copy($0) } ?? .empty
            switch JSONParser.parseResponse(body) {
            case .none: #expect(wanted.json["blank"]?.bool == true, "\(name)")
            case .json(_, let prefix):
                let expected = wanted.json["prefix"]?.string
                #expect(prefix == expected && (expected != nil) == (wanted.json["refused"] != nil), "\(name)")
            case .failure:
                #expect(wanted.json["refused"]?.bool == true, "\(name)")
                #expect(wanted.json["blank"] == nil && wanted.json["prefix"] == nil, "\(name)")
            }
        }
    }
}

extension Result {
    fileprivate var parseError: JSONParseError? {
        guard case .failure(let error) = self else { return nil }
        return error as? JSONParseError
    }
}
