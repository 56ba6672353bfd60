/// Reads the fields of a JSON object that the library wrote itself, perhaps long ago. It checks each field, and its
/// errors name the field.
///
/// Its functions are not inlined: they run seldom, and a copy for each field takes 25 KB.
struct JSONFields {
    let json: JSON
    /// Makes the error for a field and what is wrong with it.
    let error: (_ field: String, _ reason: String) -> APIError

    @inline(never) func string(_ name: String) throws(APIError) -> String {
        try present(name, try optionalString(name))
    }

    @inline(never) func optionalString(_ name: String) throws(APIError) -> String? {
        try value(name, "a string") { $0.string }
    }

    @inline(never) func integer(_ name: String) throws(APIError) -> Int64 {
        try present(name, try optionalInteger(name))
    }

    @inline(never) func optionalInteger(_ name: String) throws(APIError) -> Int64? {
        try value(name, "an integer") { $0.int64 }
    }

    @inline(never) func number(_ name: String) throws(APIError) -> Double {
        try present(name, try optionalNumber(name))
    }

    @inline(never) func optionalNumber(_ name: String) throws(APIError) -> Double? {
        try value(name, "a number") { $0.double }
    }

    @inline(never) func bool(_ name: String) throws(APIError) -> Bool {
        try present(name, try optionalBool(name))
    }

    @inline(never) func optionalBool(_ name: String) throws(APIError) -> Bool? {
        try value(name, "true or false") { $0.bool }
    }

    @inline(never) func object(_ name: String) throws(APIError) -> JSON {
        try present(name, try optionalObject(name))
    }

    @inline(never) func optionalObject(_ name: String) throws(APIError) -> JSON? {
        try value(name, "an object") { $0.kind == .object ? $0 : nil }
    }

    @inline(never) func array(_ name: String) throws(APIError) -> [JSON] {
        try present(name, try optionalArray(name))
    }

    @inline(never) func optionalArray(_ name: String) throws(APIError) -> [JSON]? {
        try value(name, "an array") { $0.array }
    }

    func optionalIntegers(_ name: String) throws(APIError) -> [Int]? {
        guard let values = try optionalArray(name) else { return nil }
        let numbers = values.compactMap(\.int)
        guard numbers.count == values.count else { throw error(name, "they must be whole numbers") }
        return numbers
    }

    private func present<Value>(_ name: String, _ value: Value?) throws(APIError) -> Value {
        guard let value else { throw error(name, "it is missing") }
        return value
    }

    /// - Returns: nil when there is none, or null.
    private func value<Value>(_ name: String, _ kind: String, _ read: (JSON) -> Value?) throws(APIError) -> Value? {
        guard let found = json[name], !found.isNull else { return nil }
        guard let value = read(found) else { throw error(name, "it is not \(kind)") }
        return value
    }
}
