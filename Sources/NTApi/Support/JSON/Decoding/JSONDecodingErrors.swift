// Mismatches are errors of the standard library for hand-written decoding code, which expects those, and an `APIError`
// for the caller.
extension JSONDecoding {
    func mismatch(_ expected: Any.Type, at index: Int) -> DecodingError {
        mismatch("\(expected)", expected, at: index)
    }

    /// - Parameter expected: a kind of JSON.
    func mismatch(_ expected: String, at index: Int) -> DecodingError { mismatch(expected, Any.self, at: index) }

    private func mismatch(_ expected: String, _ type: Any.Type, at index: Int) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: path(to: index), debugDescription: "\(expected) expected, \(found(at: index)) found")
        return isNull(index) ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    func absent(_ key: some CodingKey, _ expected: Any.Type, in object: Int) -> DecodingError {
        absent(key, "\(expected)", in: object)
    }

    func absent(_ key: some CodingKey, _ expected: String, in object: Int) -> DecodingError {
        .keyNotFound(
            key, .init(codingPath: path(to: object), debugDescription: "\(expected) expected, nothing found"))
    }

    func atEnd(_ expected: Any.Type, of array: Int, number: Int) -> DecodingError {
        .valueNotFound(
            expected,
            .init(
                codingPath: path(to: array) + [JSONPathKey.index(number)],
                debugDescription: "\(expected) expected, the end of the array found"))
    }

    func tooDeep(at index: Int) -> DecodingError {
        .dataCorrupted(
            .init(codingPath: path(to: index), debugDescription: "nests deeper than \(Self.depthLimit) levels"))
    }

    /// - Parameter type: which type, and what to use instead.
    func refused(_ type: String, at index: Int) -> DecodingError {
        .dataCorrupted(.init(codingPath: path(to: index), debugDescription: "cannot be decoded as \(type)"))
    }

    /// Only numbers are shown, because the value may be why it does not fit. Strings may be secret, and arrays and
    /// objects long.
    private func found(at index: Int) -> String {
        switch tape.kind(index) {
        case .null: "null"
        case .no, .yes: "boolean"
        case .int, .double: "number \(String(decoding: tape.bytes(index).prefix(40), as: UTF8.self))"
        case .plainString, .escapedString: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// The path from the root to a place: from each container into the child whose words include the place.
    func path(to index: Int) -> [JSONPathKey] {
        var path: [JSONPathKey] = []
        var container = root
        while container < index, tape.isContainer(container) {
            let isObject = tape.kind(container) == .object
            var number = 0
            var child = container + 2
            while tape.next(isObject ? child + 1 : child) <= index {
                child = tape.next(isObject ? child + 1 : child)
                number += 1
            }
            path.append(isObject ? .key(document.string(at: child) ?? "") : .index(number))
            container = isObject ? child + 1 : child
        }
        return path
    }

    /// The error for the caller.
    func apiError(_ error: any Error) -> APIError {
        if let error = error as? APIError { return error }
        var missing: [any CodingKey] = []
        let context: DecodingError.Context?
        switch error as? DecodingError {
        case .typeMismatch(_, let given), .valueNotFound(_, let given), .dataCorrupted(let given): context = given
        case .keyNotFound(let key, let given):
            context = given
            missing = steps(of: key)
        default: context = nil
        }
        var message = context?.debugDescription ?? "\(error)"
        let path = JSONPath(keys: (context?.codingPath ?? []) + missing).description
        if !path.isEmpty { message = "\(path): \(message)" }
        return APIError(domain: .json, code: .unexpectedJSON, message: message)
    }
}

extension JSONDecoding {
    /// The keys and indexes that a coding key stands for.
    private func steps(of key: any CodingKey) -> [JSONPathKey] {
        guard keys == .paths, let path = JSONPath(key.stringValue) else { return [.key(spelled(key.stringValue))] }
        return path.steps.map { step in
            switch step {
            case .key(let key): .key(key)
            case .index(let index): .index(index)
            }
        }
    }

    private func spelled(_ key: String) -> String {
        keys == .snakeCase ? JSONKeySpelling.snakeCase(key) : key
    }
}

/// A step of a path, for errors.
enum JSONPathKey: CodingKey {
    case key(String)
    case index(Int)

    init?(stringValue: String) { self = .key(stringValue) }

    init?(intValue: Int) { self = .index(intValue) }

    var stringValue: String {
        switch self {
        case .key(let key): key
        case .index(let index): "\(index)"
        }
    }

    var intValue: Int? {
        switch self {
        case .key: nil
        case .index(let index): index
        }
    }
}
