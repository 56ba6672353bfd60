/// Makes JSON of C structs: the reverse of `StructDecoding`, with the same tables.
struct StructEncoding {
    /// - Parameter source: a struct of the table's size.
    static func encode(_ table: JSONFieldTable, from source: UnsafeRawPointer) throws(APIError) -> JSON {
        let tree = JSONTree()
        let encoder = StructEncoding()
        do {
            try encoder.write(source, table, to: tree, [])
        } catch {
            throw encoder.encoding.apiError(error)
        }
        return tree.json
    }

    private let encoding = JSONEncoding(options: DecodingOptions(keys: .paths))

    private func write(
        _ source: UnsafeRawPointer, _ table: JSONFieldTable, to tree: JSONTree, _ path: [any CodingKey]
    ) throws {
        guard path.count < JSONDecoding.depthLimit else {
            throw JSONEncoding.invalid(table, [], "it nests deeper than \(JSONDecoding.depthLimit) levels")
        }
        for field in table.fields {
            let member = source + field.offset
            if field.isOptional, isMissing(field, member) { continue }
            let key = JSONPathKey.key(field.path)
            let place = field.path.isEmpty ? tree : try encoding.place(key, .paths, in: tree, path)
            try write(field.kind, field.size, member, of: source, to: place, field.path.isEmpty ? path : path + [key])
        }
        tree.makeObject()
    }

    /// Whether an optional member has no value: a NULL pointer or a NaN.
    private func isMissing(_ field: JSONField, _ member: UnsafeRawPointer) -> Bool {
        switch field.kind {
        case .string, .url, .array: member.loadUnaligned(as: UnsafeRawPointer?.self) == nil
        case .double, .date: number(field.size, member).isNaN
        default: false
        }
    }

    private func write(
        _ kind: JSONField.Kind, _ size: Int, _ member: UnsafeRawPointer, of source: UnsafeRawPointer, to tree: JSONTree,
        _ path: [any CodingKey]
    ) throws {
        func load<Value: BitwiseCopyable>(_ type: Value.Type) -> Value { member.loadUnaligned(as: type) }
        switch (kind, size) {
        // A C byte may be neither 0 nor 1: any bit is true.
        case (.bool, _): tree.set(JSON(load(UInt8.self) != 0))
        case (.int, 1): tree.set(JSON(load(Int8.self)))
        case (.int, 2): tree.set(JSON(load(Int16.self)))
        case (.int, 4): tree.set(JSON(load(Int32.self)))
        case (.int, _): tree.set(JSON(load(Int64.self)))
        case (.uint, 1): tree.set(JSON(load(UInt8.self)))
        case (.uint, 2): tree.set(JSON(load(UInt16.self)))
        case (.uint, 4): tree.set(JSON(load(UInt32.self)))
        case (.uint, _): tree.set(JSON(load(UInt64.self)))
        case (.double, _): try encoding.write(number(size, member), to: tree, path)
        case (.string, _): tree.set(JSON(try text(member, path)))
        case (.url, _):
            let url = try text(member, path)
            do throws(APIError) {
                _ = try URLParts(url)
            } catch {
                throw JSONEncoding.invalid(url, path, "URL expected: \(error.message)")
            }
            tree.set(JSON(url))
        case (.date(let formats), _):
            let date = APIDate(secondsSince1970: load(Double.self))
            let format = formats.first ?? .iso8601
            guard let written = JSONEncoding.write(date, as: format) else {
                throw JSONEncoding.invalid(
                    date, path, "the date \(date.secondsSince1970) cannot be written as \(format.name)")
            }
            tree.set(written)
        case (.object(let table), _): try write(member, table, to: tree, path)
        case (.array(let element, let size, let countOffset), _):
            tree.makeArray()
            let count = (source + countOffset).loadUnaligned(as: Int.self)
            let start = load(UnsafeRawPointer?.self)
            guard count != 0 else { return }
            guard count > 0, !count.multipliedReportingOverflow(by: size).overflow, let start else {
                throw JSONEncoding.invalid(
                    count, path, "the count \(UInt(bitPattern: count)) is not possible for the array")
            }
            for index in 0..<count {
                let place = start + index * size
                try write(element, size, place, of: place, to: tree.append(), path + [JSONPathKey.index(index)])
            }
        }
    }

    private func number(_ size: Int, _ member: UnsafeRawPointer) -> Double {
        guard size == 4 else { return member.loadUnaligned(as: Double.self) }
        let value = member.loadUnaligned(as: Float.self)
        // The shortest digits that read back the same: 0.1, not 0.10000000149011612.
        return value.isFinite ? Double(value.description) ?? Double(value) : Double(value)
    }

    private func text(_ member: UnsafeRawPointer, _ path: [any CodingKey]) throws -> String {
        guard let start = member.loadUnaligned(as: UnsafePointer<CChar>?.self) else {
            throw JSONEncoding.invalid("", path, "NULL is not a string: make the field optional to leave it out")
        }
        guard let text = String(validatingCString: start) else {
            throw JSONEncoding.invalid("", path, "it is not UTF-8")
        }
        return text
    }
}

extension JSON {
    /// - Parameter source: a struct of the table's size.
    package init(encoding table: JSONFieldTable, from source: UnsafeRawPointer) throws(APIError) {
        self = try StructEncoding.encode(table, from: source)
    }
}
