import Testing

@testable import NTApi

/// Types with their own `init(from:)`, which use each part of the standard library's protocols.
@Suite struct JSONDecoderTests {
    private struct Key: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    /// Decodes with a closure of the test, which it gets from a task-local value: a `Decodable` gets only a decoder.
    private struct Probe: Decodable {
        @TaskLocal static var body: (@Sendable (any Decoder) throws -> Void)?
        init(from decoder: any Decoder) throws { try Self.body?(decoder) }
    }

    private func probe(_ text: String, _ body: @escaping @Sendable (any Decoder) throws -> Void) throws {
        _ = try Probe.$body.withValue(body) { try JSON(parsing: text).decode(Probe.self) }
    }

    @Test func keyedContainers() throws {
        try probe(#"{"a":1,"b":null,"c":{"d":[1,2]},"e":[[3]]}"#) { decoder in
            let container = try decoder.container(keyedBy: Key.self)
            #expect(container.allKeys.map(\.stringValue) == ["a", "b", "c", "e"])
            #expect(container.contains(Key("a")) && container.contains(Key("b")) && !container.contains(Key("x")))
            #expect(try container.decodeNil(forKey: Key("b")) && !container.decodeNil(forKey: Key("a")))
            #expect(throws: DecodingError.self) { try container.decodeNil(forKey: Key("x")) }
            #expect {
                try container.nestedContainer(keyedBy: Key.self, forKey: Key("c")).decode(Int.self, forKey: Key("x"))
            } throws: {
                guard case DecodingError.keyNotFound(let key, let context) = $0 else { return false }
                return key.stringValue == "x" && context.codingPath.map(\.stringValue) == ["c"]
            }
            let inner = try container.nestedContainer(keyedBy: Key.self, forKey: Key("c"))
            // Each container keeps its own position, even if they are used in turn.
            #expect(try container.decode(Int.self, forKey: Key("a")) == 1)
            #expect(try inner.decode([Int].self, forKey: Key("d")) == [1, 2])
            var list = try container.nestedUnkeyedContainer(forKey: Key("e"))
            #expect(try list.decode([Int].self) == [3])
            #expect(try inner.decodeIfPresent(Int.self, forKey: Key("a")) == nil)
            #expect(try container.decodeIfPresent(Int64.self, forKey: Key("a")) == 1)
            #expect(container.codingPath.isEmpty && inner.codingPath.map(\.stringValue) == ["c"])
            #expect(list.codingPath.map(\.stringValue) == ["e"])
        }
    }

    @Test func unkeyedContainers() throws {
        try probe(#"[1,null,"a",{"b":2},[3,4],true,0.5,[],5]"#) { decoder in
            var list = try decoder.unkeyedContainer()
            #expect(list.count == 9 && list.currentIndex == 0 && !list.isAtEnd)
            #expect(throws: DecodingError.self) { try list.decode(String.self) }
            #expect(list.currentIndex == 0)
            #expect(try !list.decodeNil())
            #expect(try list.decode(Int.self) == 1)
            #expect(try list.decodeNil())
            #expect(list.currentIndex == 2)
            #expect(try list.decode(String.self) == "a")
            #expect(try list.nestedContainer(keyedBy: Key.self).decode(Int.self, forKey: Key("b")) == 2)
            var inner = try list.nestedUnkeyedContainer()
            #expect(try inner.decode(UInt8.self) == 3)
            #expect(inner.codingPath.map(\.intValue) == [4])
            #expect(try list.decode(Bool.self))
            #expect(try list.decode(Float.self) == 0.5)
            #expect(try list.decodeIfPresent([Int].self) == [])
            #expect(try list.superDecoder().singleValueContainer().decode(Int.self) == 5)
            #expect(list.isAtEnd && list.currentIndex == 9)
            #expect(throws: DecodingError.self) { try list.decode(Int.self) }
            #expect(throws: DecodingError.self) { try list.decodeNil() }
            #expect(try inner.decode(Int16.self) == 4)
        }
    }

    @Test func singleValues() throws {
        try probe("null") { decoder in
            let value = try decoder.singleValueContainer()
            #expect(value.decodeNil() && value.codingPath.isEmpty)
            #expect(throws: DecodingError.self) { try value.decode(Int.self) }
            #expect(throws: DecodingError.self) { try decoder.container(keyedBy: Key.self) }
            #expect(throws: DecodingError.self) { try decoder.unkeyedContainer() }
        }
        try probe("7") { decoder in
            let value = try decoder.singleValueContainer()
            #expect(!value.decodeNil())
            #expect(try value.decode(Int.self) == 7 && value.decode(Double.self) == 7 && value.decode(JSON.self) == 7)
        }
    }

    private class Animal: Decodable {
        let name: String
    }

    private final class Dog: Animal {
        let tricks: [String]
        private enum CodingKeys: String, CodingKey { case tricks, base }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            tricks = try container.decode([String].self, forKey: .tricks)
            let base = container.contains(.base) ? try container.superDecoder(forKey: .base) : nil
            try super.init(from: base ?? (try? container.superDecoder()) ?? decoder)
        }
    }

    @Test func classesInherit() throws {
        for text in [
            #"{"name":"Rex","tricks":["sit"]}"#, #"{"super":{"name":"Rex"},"tricks":["sit"]}"#,
            #"{"tricks":["sit"],"base":{"name":"Rex"}}"#,
        ] {
            let dog = try JSON(parsing: text).decode(Dog.self)
            #expect(dog.name == "Rex" && dog.tricks == ["sit"])
        }
    }

    @Test func containersMayBeKept() throws {
        struct Keeper: Decodable {
            let container: KeyedDecodingContainer<Key>
            init(from decoder: any Decoder) throws { container = try decoder.container(keyedBy: Key.self) }
        }
        // The document lives as long as anything that reads it.
        let keepers = try JSON(parsing: #"[{"a":1},{"a":2}]"#).decode([Keeper].self)
        #expect(try keepers.map { try $0.container.decode(Int.self, forKey: Key("a")) } == [1, 2])
    }
}
