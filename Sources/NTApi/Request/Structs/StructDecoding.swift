/// Fills C structs from a part of a document.
struct StructDecoding {
    private let decoding: JSONDecoding
    private let memory: StructMemory

    private init(_ document: JSONDocument, root: Int, _ memory: StructMemory) {
        decoding = JSONDecoding(document, root: root, DecodingOptions(keys: .paths))
        self.memory = memory
    }

    /// - Parameters:
    ///   - root: the place of the value.
    ///   - target: a struct of the table's size. Optional members without a value stay unchanged.
    /// - Returns: the memory that the struct points to.
    static func decode(
        _ document: JSONDocument, root: Int, _ table: JSONFieldTable, into target: UnsafeMutableRawPointer
    ) throws(APIError) -> StructMemory {
        let memory = StructMemory()
        let decoder = StructDecoding(document, root: root, memory)
        do {
            try decoder.fill(target, table, from: root, depth: 0)
            return memory
        } catch {
            throw decoder.decoding.apiError(error)
        }
    }

    private func fill(
        _ target: UnsafeMutableRawPointer, _ table: JSONFieldTable, from value: Int, depth: Int
    ) throws {
        guard depth < JSONDecoding.depthLimit else { throw decoding.tooDeep(at: value) }
        var end = 0
        if decoding.tape.kind(value) == .object, case .plain = decoding.document.members(of: value) {
            end = decoding.tape.next(value)
        }
        for field in table.fields {
            guard let place = try find(field, in: value, to: end) else { continue }
            decoding.numbersInStrings = field.takesStrings
            decoding.looseBooleans = field.takesLooseBooleans
            try read(field.kind, field.size, at: place, into: target + field.offset, of: target, depth)
        }
    }

    /// - Returns: nil when an optional value is missing.
    private func find(_ field: JSONField, in value: Int, to end: Int) throws -> Int? {
        let place = field.path.withBytes { self.place(atPath: UnsafeRawBufferPointer($0), from: value, to: end) }
        if let place, !field.isOptional || !decoding.isNull(place) { return place }
        guard field.path.isEmpty || decoding.tape.isContainer(value) else {
            throw decoding.mismatch("object", at: value)
        }
        if field.isOptional { return nil }
        throw decoding.absent(JSONPathKey.key(field.path), name(field.kind, field.size), in: value)
    }

    /// - Parameter end: the end of an object whose keys have no escapes; otherwise 0.
    private func place(atPath path: UnsafeRawBufferPointer, from value: Int, to end: Int) -> Int? {
        guard end > 0 else { return decoding.document.place(atPath: path, from: value) }
        return path.isEmpty ? value : decoding.find(path, spelled: .paths, in: value, to: end)
    }

    private func read(
        _ kind: JSONField.Kind, _ size: Int, at place: Int, into member: UnsafeMutableRawPointer,
        of target: UnsafeMutableRawPointer, _ depth: Int
    ) throws {
        func store<Value: BitwiseCopyable>(_ value: Value?) throws {
            guard let value else { throw decoding.mismatch(name(kind, size), at: place) }
            member.storeBytes(of: value, as: Value.self)
        }
        switch (kind, size) {
        case (.bool, _): try store(decoding.truth(at: place))
        case (.int, 1): try store(decoding.fitting(Int8.self, at: place))
        case (.int, 2): try store(decoding.fitting(Int16.self, at: place))
        case (.int, 4): try store(decoding.fitting(Int32.self, at: place))
        case (.int, _): try store(decoding.fitting(Int64.self, at: place))
        case (.uint, 1): try store(decoding.fitting(UInt8.self, at: place))
        case (.uint, 2): try store(decoding.fitting(UInt16.self, at: place))
        case (.uint, 4): try store(decoding.fitting(UInt32.self, at: place))
        case (.uint, _): try store(decoding.fitting(UInt64.self, at: place))
        case (.double, 4): try store(decoding.number(at: place).map(Float.init).flatMap { $0.isFinite ? $0 : nil })
        case (.double, _): try store(decoding.number(at: place))
        case (.string, _): try store(string(at: place))
        case (.url, _):
            try store(string(at: place))
            try checkURL(at: place)
        case (.date(let formats), _): try store(decoding.date(at: place, formats).secondsSince1970)
        case (.object(let table), _):
            guard decoding.tape.isContainer(place) else { throw decoding.mismatch("object", at: place) }
            try fill(member, table, from: place, depth: depth + 1)
        case (.array(let element, let size, let countOffset), _):
            let (start, count) = try array(of: element, size, at: place, depth)
            member.storeBytes(of: UInt(bitPattern: start), as: UInt.self)
            (target + countOffset).storeBytes(of: count, as: Int.self)
        }
    }

    private func array(
        of element: JSONField.Kind, _ size: Int, at place: Int, _ depth: Int
    ) throws -> (start: UnsafeMutableRawPointer?, count: Int) {
        let tape = decoding.tape
        guard tape.kind(place) == .array else { throw decoding.mismatch("array", at: place) }
        let count = tape.count(place)
        let (bytes, isTooMuch) = count.multipliedReportingOverflow(by: size)
        guard count > 0, !isTooMuch else { return (nil, 0) }
        let start = memory.array(bytes: bytes)
        var target = start
        var index = place + 2
        for _ in 0..<count {
            try read(element, size, at: index, into: target, of: target, depth)
            target += size
            index = tape.next(index)
        }
        return (start, count)
    }

    /// Nil for a value that is not a string, and for one with a NUL, which C would cut off.
    private func string(at place: Int) -> UnsafePointer<CChar>? {
        decoding.document.withUTF8(at: place) { text -> UnsafePointer<CChar>? in
            text.contains(0) ? nil : memory.string(text)
        }.flatMap { $0 }
    }

    private func checkURL(at place: Int) throws {
        let text = try decoding.string(at: place)
        do throws(APIError) {
            _ = try URLParts(text)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoding.path(to: place), debugDescription: "URL expected: \(error.message)"))
        }
    }

    /// The name of the C type.
    private func name(_ kind: JSONField.Kind, _ size: Int) -> String {
        switch kind {
        case .bool: "bool"
        case .int: "int\(size * 8)_t"
        case .uint: "uint\(size * 8)_t"
        case .double: size == 4 ? "float" : "double"
        case .string: "string without NUL"
        case .url: "URL"
        case .date: "date"
        case .object: "object"
        case .array: "array"
        }
    }
}

extension JSON {
    /// Fills a C struct.
    package func decode(
        _ table: JSONFieldTable, into target: UnsafeMutableRawPointer
    ) throws(APIError) -> StructMemory {
        let (document, root) = try parsed()
        return try StructDecoding.decode(document, root: root, table, into: target)
    }
}

extension APIResponse {
    /// Fills a C struct.
    package func decode(
        _ table: JSONFieldTable, into target: UnsafeMutableRawPointer
    ) throws(APIError) -> StructMemory {
        try reading { json throws(APIError) in try json.decode(table, into: target) }
    }
}
