public import CNTApi
import NTApi

/// What an `ntapi_decoded` stands for.
final class DecodedBox {
    private let memory: StructMemory

    init(_ memory: StructMemory) { self.memory = memory }
}

@_cdecl("ntapi_json_decode") @implementation
public func ntapi_json_decode(
    _ json: OpaquePointer!, _ fields: UnsafePointer<ntapi_field>!, _ out: UnsafeMutableRawPointer!, _ size: Int,
    _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> OpaquePointer! {
    decode(fields, out, size, error) { table, target throws(APIError) in
        guard let box = Handles.get(json, JSONBox.self) else { throw .invalidArgument("json is NULL or no JSON") }
        return try box.json.decode(table, into: target)
    }
}

@_cdecl("ntapi_response_decode") @implementation
public func ntapi_response_decode(
    _ response: OpaquePointer!, _ fields: UnsafePointer<ntapi_field>!, _ out: UnsafeMutableRawPointer!, _ size: Int,
    _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> OpaquePointer! {
    decode(fields, out, size, error) { table, target throws(APIError) in
        guard let box = Handles.get(response, ResponseBox.self) else {
            throw .invalidArgument("response is NULL or not a response")
        }
        // The body of an error is read, too. When it does not fit, the error itself says more.
        guard let whole = box.response else {
            guard let json = box.value else {
                throw APIError(domain: .json, code: .unexpectedJSON, message: "the body of the answer has no JSON")
            }
            return try json.decode(table, into: target)
        }
        guard let problem = whole.error, let json = whole.json else { return try whole.decode(table, into: target) }
        do throws(APIError) {
            return try json.decode(table, into: target)
        } catch {
            throw error.code == .unexpectedJSON ? problem : error
        }
    }
}

@_cdecl("ntapi_json_encode") @implementation
public func ntapi_json_encode(
    _ fields: UnsafePointer<ntapi_field>!, _ from: UnsafeRawPointer!, _ size: Int,
    _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> OpaquePointer! {
    do throws(APIError) {
        guard let fields, let from, size > 0 else {
            throw .invalidArgument("fields or from is NULL, or the struct has no size")
        }
        let tables = FieldTables()
        defer { tables.takeApart() }
        return Handles.make(JSONBox(try JSON(encoding: try tables.table(fields, size: size), from: from)))
    } catch let problem {
        error?.pointee = problem.handle
        return nil
    }
}

@_cdecl("ntapi_decoded_free") @implementation
public func ntapi_decoded_free(_ decoded: OpaquePointer!) { Handles.free(decoded, DecodedBox.self) }

/// Fills a copy of the struct, so that the caller's struct changes only on success.
@inline(never) private func decode(
    _ fields: UnsafePointer<ntapi_field>?, _ out: UnsafeMutableRawPointer?, _ size: Int,
    _ error: UnsafeMutablePointer<OpaquePointer?>?,
    _ fill: (JSONFieldTable, UnsafeMutableRawPointer) throws(APIError) -> StructMemory
) -> OpaquePointer? {
    do throws(APIError) {
        guard let fields, let out, size > 0 else {
            throw .invalidArgument("fields or out is NULL, or the struct has no size")
        }
        let tables = FieldTables()
        defer { tables.takeApart() }
        let table = try tables.table(fields, size: size)
        let target = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        defer { target.deallocate() }
        target.copyMemory(from: out, byteCount: size)
        let memory = try fill(table, target)
        guard let handle = Handles.make(DecodedBox(memory)) else { throw .invalidArgument("out of memory") }
        out.copyMemory(from: target, byteCount: size)
        return handle
    } catch let problem {
        error?.pointee = problem.handle
        return nil
    }
}

/// Reads a program's tables, which may refer to each other and to themselves.
private final class FieldTables {
    private var known: [UnsafeRawPointer: JSONFieldTable] = [:]

    /// Call it at the end: it breaks the reference cycles of recursive tables.
    func takeApart() {
        for table in known.values { table.fields = [] }
    }

    /// - Parameter size: the size of the struct in bytes.
    func table(_ fields: UnsafePointer<ntapi_field>, size: Int) throws(APIError) -> JSONFieldTable {
        let start = UnsafeRawPointer(fields)
        if let table = known[start] { return table }
        let table = JSONFieldTable(size: size)
        known[start] = table
        var place = start
        while true {
            let length = place.loadUnaligned(as: Int.self)
            if length == 0 { return table }
            try add(try sized("field \(table.fields.count)", place), to: table)
            place += length
        }
    }

    /// A program's struct, which belongs to that field.
    private func sized<Struct: SizedStruct>(_ field: String, _ given: UnsafeRawPointer) throws(APIError) -> Struct {
        do throws(APIError) {
            return try Struct(c: given)
        } catch {
            throw .invalidArgument("\(field): \(error.message)")
        }
    }

    private func add(_ field: ntapi_field, to table: JSONFieldTable) throws(APIError) {
        guard let path = String(c: field.path) else {
            throw .invalidArgument("field \(table.fields.count): its path is NULL or not UTF-8")
        }
        let made = JSONField(
            path: path, kind: try kind(field, path), offset: field.offset, size: field.length,
            isOptional: field.flags & CInt(NTAPI_FIELD_FLAG_OPTIONAL.rawValue) != 0,
            takesStrings: field.flags & CInt(NTAPI_FIELD_FLAG_NUMBER_IN_STRING.rawValue) != 0,
            takesLooseBooleans: field.flags & CInt(NTAPI_FIELD_FLAG_LOOSE_BOOLEAN.rawValue) != 0)
        if let problem = made.problem(inStructOf: table.size) {
            throw .invalidArgument("field \(table.fields.count) (\"\(path)\"): \(problem)")
        }
        table.fields.append(made)
    }

    private func kind(_ field: ntapi_field, _ path: String) throws(APIError) -> JSONField.Kind {
        guard field.kind == NTAPI_FIELD_KIND_ARRAY else { return try kind(field.kind, field, path, field.length) }
        let element = try kind(field.element, field, path, field.element_length)
        return .array(of: element, size: field.element_length, countOffset: field.count_offset)
    }

    private func kind(
        _ kind: ntapi_field_kind, _ field: ntapi_field, _ path: String, _ length: Int
    ) throws(APIError) -> JSONField.Kind {
        switch kind {
        case NTAPI_FIELD_KIND_BOOL: return .bool
        case NTAPI_FIELD_KIND_INT: return .int
        case NTAPI_FIELD_KIND_UINT: return .uint
        case NTAPI_FIELD_KIND_DOUBLE: return .double
        case NTAPI_FIELD_KIND_STRING: return .string
        case NTAPI_FIELD_KIND_URL: return .url
        case NTAPI_FIELD_KIND_DATE:
            guard let own = field.date_format else { return .date(dates(field.dates)) }
            return .date([DateFormat(try sized("field \"\(path)\"", own))])
        case NTAPI_FIELD_KIND_OBJECT:
            guard let fields = field.fields else { throw .invalidArgument("field \"\(path)\": its fields are NULL") }
            return .object(try table(fields, size: length))
        default: throw .invalidArgument("field \"\(path)\": there is no kind \(kind.rawValue)")
        }
    }

    private func dates(_ formats: CInt) -> [DateFormat] {
        let known: [(ntapi_date_format, DateFormat)] = [
            (NTAPI_DATE_FORMAT_ISO8601, .iso8601), (NTAPI_DATE_FORMAT_SECONDS, .seconds),
            (NTAPI_DATE_FORMAT_MILLISECONDS, .milliseconds), (NTAPI_DATE_FORMAT_HTTP, .http),
        ]
        let chosen = known.filter { formats & CInt($0.0.rawValue) != 0 }.map(\.1)
        return chosen.isEmpty ? [.iso8601] : chosen
    }
}

extension DateFormat {
    /// A format with C functions to read and write.
    fileprivate init(_ format: ntapi_custom_date_format) {
        let (read, write) = (format.read, format.write)
        // Safe to share: the program is responsible for what it points to.
        nonisolated(unsafe) let userData = format.user_data
        let name = String(c: format.name) ?? "own format"
        self = .custom(name) { json in
            var seconds = 0.0
            guard let read, let text = json.string else { return nil }
            return text.withCString { read(userData, $0, &seconds) } ? APIDate(secondsSince1970: seconds) : nil
        } write: { date in
            guard let write else { return nil }
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
                room.initialize(repeating: 0)
                guard write(userData, date.secondsSince1970, room.baseAddress, room.count), room.contains(0) else {
                    return nil
                }
                return String(c: room.baseAddress).map { JSON($0) }
            }
        }
    }
}
