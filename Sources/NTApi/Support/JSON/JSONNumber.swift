/// The values of numbers whose grammar was checked (RFC 8259, 6).
enum JSONNumber {
    /// An integer of fewer digits fits 64 bits.
    static let safeIntegerDigits = 19
    /// A number of fewer digits and without an exponent fits a double.
    static let safeDoubleDigits = 300

    /// Whether a byte may be part of a number.
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

    /// The value of an integer beyond 64 bits, or of an integral double beyond them; nil when it is neither, or does
    /// not fit.
    static func bigInteger<Value: FixedWidthInteger>(_ bytes: UnsafeRawBufferPointer, _ type: Value.Type) -> Value? {
        let text = String(decoding: bytes, as: UTF8.self)
        if let value = Value(text) { return value }
        let value = double(bytes)
        guard value >= 0x1p63, value < 0x1p64 else { return nil }
        return Value(exactly: UInt64(value))
    }

    /// The double as an integer when it is one and fits 64 bits.
    ///
    /// `Int64(exactly:)` calls `trunc` on processors before SSE 4.1, and would then need libm at link time.
    static func integral(_ value: Double) -> Int64? {
        guard value >= -0x1p63, value < 0x1p63 else { return nil }
        let integer = Int64(value)
        return Double(integer) == value ? integer : nil
    }

    /// Whether a number is within the range of a double. A number that is too small becomes zero, and fits.
    static func fitsDouble(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // If the exponent shows that the magnitude is at most 10^308, it fits.
        let exponent = bytes.firstIndex { $0 | 0x20 == UInt8(ascii: "e") }
        var power = 0
        if let exponent {
            let digits = bytes[(exponent + 1)...].drop { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
            // Beyond a million it is out of range in any case.
            for digit in digits where power < 1_000_000 { power = power * 10 + Int(digit &- UInt8(ascii: "0")) }
            if bytes[exponent + 1] == UInt8(ascii: "-") { power = -power }
        }
        let whole = bytes.prefix { $0 != UInt8(ascii: ".") && $0 | 0x20 != UInt8(ascii: "e") }.count
        return whole + power <= 308 || double(bytes).isFinite
    }

    /// The double nearest to a number; infinite when the number is out of range.
    static func double(_ bytes: UnsafeRawBufferPointer) -> Double {
        JSONDecimal(bytes)?.double ?? Double(String(decoding: bytes, as: UTF8.self)) ?? .infinity
    }
}

/// The digits of a number whose grammar was checked, and where its point is: equal for all texts of one number.
struct JSONDigits: Equatable {
    /// A double keeps this many digits of any number.
    static let ofDouble = 17

    /// Without zeros at both ends; empty for 0.
    private(set) var digits: ArraySlice<UInt8> = []
    private var scale = 0
    private var isNegative = false

    init(_ bytes: some Sequence<UInt8>) {
        var isFraction = false
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                var text: [UInt8] = []
                while let byte = iterator.next() { text.append(byte) }
                scale += text.withUnsafeBytes { JSONDecimal.exponent($0[...]) }
            default:
                digits.append(byte)
                if isFraction { scale -= 1 }
            }
        }
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            scale += 1
        }
        digits = digits.drop { $0 == UInt8(ascii: "0") }
        if digits.isEmpty { (scale, isNegative) = (0, false) }
    }

    static func == (left: Self, right: Self) -> Bool {
        left.isNegative == right.isNegative && left.scale == right.scale && left.digits.elementsEqual(right.digits)
    }
}

/// A decimal number of at most 19 digits: digits × 10^scale.
struct JSONDecimal {
    private var digits: UInt64 = 0
    private var scale = 0
    private var isNegative = false

    /// Splits a number whose grammar was checked; nil when it has more than 19 significant digits.
    @inline(__always)
    init?(_ bytes: UnsafeRawBufferPointer) {
        var count = 0
        var index = 0
        var pointScale = 0
        if bytes.first == UInt8(ascii: "-") {
            isNegative = true
            index = 1
        }
        while index < bytes.count {
            let byte = bytes[index]
            if byte.isASCIIDigit {
                digits = digits &* 10 &+ UInt64(byte &- UInt8(ascii: "0"))
                // Leading zeros do not count. Beyond 64 bits the digits are meaningless.
                if digits != 0 || count > 0 { count &+= 1 }
                scale &+= pointScale
            } else if byte == UInt8(ascii: ".") {
                pointScale = -1
            } else {
                break
            }
            index &+= 1
        }
        // Nineteen nines fit 64 bits.
        guard count <= 19 else { return nil }
        if index < bytes.count { scale += Self.exponent(bytes[(index + 1)...]) }
    }

    fileprivate static func exponent(_ text: Slice<UnsafeRawBufferPointer>) -> Int {
        var exponent = 0
        // Beyond a million the result is the same.
        for byte in text where byte.isASCIIDigit && exponent < 1_000_000 {
            exponent = exponent * 10 + Int(byte &- UInt8(ascii: "0"))
        }
        return text.first == UInt8(ascii: "-") ? -exponent : exponent
    }

    /// The double nearest to the number; nil when these methods cannot find it.
    var double: Double? {
        guard let magnitude = digits == 0 ? 0 : exact ?? nearest else { return nil }
        return isNegative ? -magnitude : magnitude
    }

    /// When the digits and the power of ten are both exact doubles, their product or quotient needs only one rounding:
    /// W. D. Clinger, How to Read Floating Point Numbers Accurately, 1990.
    private var exact: Double? {
        guard digits < 1 << 53, (-22...22).contains(scale) else { return nil }
        return scale < 0 ? Double(digits) / Self.powersOfTen[-scale] : Double(digits) * Self.powersOfTen[scale]
    }

    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]
}

// Multiplies the digits by a power of five in 128 bits; the upper bits are the fraction of the double (D. Lemire,
// Number Parsing at a Gigabyte per Second, 2021). For these scales the powers are exact, or so precise that the
// truncated part cannot matter, and every result is a normal double.
extension JSONDecimal {
    private static let scales = -27...55

    private var nearest: Double? {
        guard Self.scales.contains(scale) else { return nil }
        let shift = digits.leadingZeroBitCount
        let power = Self.powersOfFive[scale - Self.scales.lowerBound]
        var product = (digits << UInt64(shift)).multipliedFullWidth(by: power.high)
        // The lower half of the power matters only if it can carry into the bits that are kept.
        if product.high & 0x1FF == 0x1FF {
            let (low, carries) = product.low.addingReportingOverflow(
                (digits << UInt64(shift)).multipliedFullWidth(by: power.low).high)
            product = (product.high &+ (carries ? 1 : 0), low)
        }
        // 54 bits: those of the fraction, and one to round by.
        let upper = product.high >> 63
        let cut = upper + 9
        var fraction = product.high >> cut
        // Exactly between two doubles, round to the even one. Only for these scales can a product be exact.
        if product.low <= 1, (-4...23).contains(scale), fraction & 3 == 1, fraction << cut == product.high {
            fraction &= ~1
        }
        fraction = (fraction + (fraction & 1)) >> 1
        // 217706 / 2^16 is the logarithm of ten to the base of two, as close as these scales need.
        var exponent = (217_706 * scale) >> 16 + 63 + Int(upper) - shift
        if fraction == 1 << 53 {
            fraction >>= 1
            exponent += 1
        }
        return Double(
            sign: .plus, exponentBitPattern: UInt(truncatingIfNeeded: exponent + 1023),
            significandBitPattern: fraction & ((1 << 52) - 1))
    }

    /// The upper 128 bits of each power, with the highest bit set. Negative powers are truncated, and one is added.
    private static let powersOfFive: [(high: UInt64, low: UInt64)] = scales.map { scale in
        guard scale < 0 else {
            // 5^55 has 128 bits.
            let power = (0..<scale).reduce(UInt128(1)) { product, _ in product * 5 }
            let normal = power << UInt128(power.leadingZeroBitCount)
            return (UInt64(truncatingIfNeeded: normal >> 64), UInt64(truncatingIfNeeded: normal))
        }
        // 5^27 has 63 bits. Long division of a power of two by it, 64 bits at a time.
        let divisor = (0..<(-scale)).reduce(UInt64(1)) { product, _ in product * 5 }
        let bits = UInt64.bitWidth - divisor.leadingZeroBitCount
        let (high, rest) = divisor.dividingFullWidth((1 << UInt64(bits - 1), 0))
        let (low, _) = divisor.dividingFullWidth((rest, 0))
        let (sum, carries) = low.addingReportingOverflow(1)
        return (high &+ (carries ? 1 : 0), sum)
    }
}
