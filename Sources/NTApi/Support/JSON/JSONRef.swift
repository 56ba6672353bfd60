import CJansson

/// A borrowed jansson value: valid while a `JSONNode` of it, or of a value it is inside of, is alive.
///
/// Besides these wrappers, only the parser, the cursor and the C ABI's part call jansson. Nothing here can fail: where
/// jansson answers NULL, for want of memory or because the value is of another kind, the result is null or nil.
typealias JSONRef = UnsafeMutablePointer<json_t>

extension UnsafeMutablePointer where Pointee == json_t {
    var kind: JSON.Kind {
        switch pointee.type {
        case JSON_OBJECT: .object
        case JSON_ARRAY: .array
        case JSON_STRING: .string
        case JSON_INTEGER: .int
        case JSON_REAL: .double
        case JSON_TRUE, JSON_FALSE: .bool
        default: .null
        }
    }

    var isContainer: Bool { pointee.type == JSON_ARRAY || pointee.type == JSON_OBJECT }

    var bool: Bool? {
        switch pointee.type {
        case JSON_TRUE: true
        case JSON_FALSE: false
        default: nil
        }
    }

    var integer: Int64 { Int64(json_integer_value(self)) }

    var real: Double { json_real_value(self) }

    /// The double as an integer when it is one and fits 64 bits.
    ///
    /// `Int64(exactly:)` would do, but it calls `trunc` on processors before SSE 4.1, which needs the linker to know of libm.
    var integralReal: Int64? {
        let real = real
        guard real >= -0x1p63, real < 0x1p63 else { return nil }
        let integer = Int64(real)
        return Double(integer) == real ? integer : nil
    }

    /// The bytes of a string, inside the value; nil for other kinds.
    var utf8: UnsafeRawBufferPointer? {
        json_string_value(self).map { UnsafeRawBufferPointer(start: $0, count: json_string_length(self)) }
    }

    var count: Int {
        pointee.type == JSON_OBJECT ? json_object_size(self) : json_array_size(self)
    }

    func element(_ index: Int) -> JSONRef? {
        index < 0 ? nil : json_array_get(self, index)
    }

    func member(_ key: String) -> JSONRef? {
        withChars(of: key) { json_object_getn(self, $0, $1) }
    }

    func member(_ key: UnsafeRawBufferPointer) -> JSONRef? {
        json_object_getn(self, key.baseAddress?.assumingMemoryBound(to: CChar.self), key.count)
    }

    func retain() { json_incref(self) }

    func release() { json_decref(self) }
}

// Making values. Each result is a new reference.
extension UnsafeMutablePointer where Pointee == json_t {
    /// Has no memory of its own and no reference count, so that it can stand in for any value that could not be made.
    static func null() -> JSONRef { json_null() }

    static func bool(_ value: Bool) -> JSONRef { value ? json_true() : json_false() }

    static func integer(_ value: Int64) -> JSONRef { json_integer(json_int_t(value)) ?? null() }

    /// jansson refuses infinities and NaN itself.
    static func real(_ value: Double) -> JSONRef { json_real(value) ?? null() }

    static func string(_ value: String) -> JSONRef {
        withChars(of: value) { json_stringn_nocheck($0, $1) } ?? null()
    }

    static func array() -> JSONRef { json_array() ?? null() }

    static func object() -> JSONRef {
        JSONHashSeed.plant()
        return json_object() ?? null()
    }

    /// Appends to an array under construction, which takes over the reference to the element.
    func appendNew(_ element: JSONRef) {
        json_array_append_new(self, element)
    }

    /// Sets a member of an object under construction, which takes over the reference to the value.
    func setNew(_ key: String, _ value: JSONRef) {
        _ = withChars(of: key) { json_object_setn_new_nocheck(self, $0, $1, value) }
    }
}

/// Lends the UTF-8 of a string, with an address even where it is empty: jansson takes NULL for a mistake.
private func withChars<T>(of text: String, _ body: (UnsafePointer<CChar>, Int) -> T) -> T {
    var text = text
    return text.withUTF8 { utf8 in
        utf8.withMemoryRebound(to: CChar.self) { chars in
            guard let start = chars.baseAddress else { return body("", 0) }
            return body(start, chars.count)
        }
    }
}

/// Seeds jansson's hash tables, once in the process, before the first object.
///
/// Left alone, jansson seeds with the first object, and a thread that comes second spins until the first has read
/// the system's random numbers. A seed that the host program chose stays.
enum JSONHashSeed {
    private static let planted: Void = json_object_seed(0)

    static func plant() { _ = planted }
}
