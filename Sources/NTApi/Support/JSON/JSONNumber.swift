/// The values of numbers whose grammar was checked: RFC 8259, section 6.
enum JSONNumber {
    /// An integer of fewer digits fits 64 bits.
    static let safeIntegerDigits = 19
    /// A number of fewer digits and without an exponent fits a double.
    static let safeDoubleDigits = 300

    /// Whether a byte may stand in a number.
    static func isPart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    /// Whether an integer fits 64 bits.
    static func fitsInt64(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let digits = isNegative ? bytes.dropFirst() : bytes[...]
        // No zero leads, and 19 digits fit an unsigned integer of 64 bits.
        guard digits.count <= 19 else { return false }
        let magnitude = digits.reduce(into: UInt64(0)) { $0 = $0 &* 10 &+ UInt64($1 &- UInt8(ascii: "0")) }
        return magnitude <= Int64.min.magnitude - (isNegative ? 0 : 1)
    }

    /// The value of an integer that fits 64 bits.
    static func int64(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        var magnitude: UInt64 = 0
        var isNegative = false
        for byte in bytes {
            if byte == UInt8(ascii: "-") {
                isNegative = true
            } else {
                magnitude = magnitude &* 10 &+ UInt64(byte &- UInt8(ascii: "0"))
            }
        }
        return Int64(truncatingIfNeeded: isNegative ? 0 &- magnitude : magnitude)
    }

    /// The value of an integer beyond 64 bits, or of an integral double beyond them; nil when it is neither, or does not fit.
    static func bigInteger<Value: FixedWidthInteger>(_ bytes: UnsafeRawBufferPointer, _ type: Value.Type) -> Value? {
        let text = String(decoding: bytes, as: UTF8.self)
        if let value = Value(text) { return value }
        let value = double(bytes)
        guard value >= 0x1p63, value < 0x1p64 else { return nil }
        return Value(exactly: UInt64(value))
    }

    /// The double as an integer when it is one and fits 64 bits.
    ///
    /// `Int64(exactly:)` would do, but it calls `trunc` on processors before SSE 4.1, which needs the linker to know of libm.
    static func integral(_ value: Double) -> Int64? {
        guard value >= -0x1p63, value < 0x1p63 else { return nil }
        let integer = Int64(value)
        return Double(integer) == value ? integer : nil
    }

    /// Whether a number is not beyond what a double holds; what is too small for one is zero, and fits.
    static func fitsDouble(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // Up to 10^308 in magnitude it does, which needs no more than a look at the exponent.
        let exponent = bytes.firstIndex { $0 | 0x20 == UInt8(ascii: "e") }
        var power = 0
        if let exponent {
            let digits = bytes[(exponent + 1)...].drop { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
            // Beyond a million, it is too much however it goes on.
            for digit in digits where power < 1_000_000 { power = power * 10 + Int(digit &- UInt8(ascii: "0")) }
            if bytes[exponent + 1] == UInt8(ascii: "-") { power = -power }
        }
        let whole = bytes.prefix { $0 != UInt8(ascii: ".") && $0 | 0x20 != UInt8(ascii: "e") }.count
        return whole + power <= 308 || double(bytes).isFinite
    }

    /// The double nearest to a number; infinite when it is beyond all.
    static func double(_ bytes: UnsafeRawBufferPointer) -> Double {
        JSONDecimal(bytes)?.double ?? Double(String(decoding: bytes, as: UTF8.self)) ?? .infinity
    }
}
