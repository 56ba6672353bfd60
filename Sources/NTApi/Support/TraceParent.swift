/// The header `traceparent` (W3C Trace Context, level 1).
package enum TraceParent {
    /// - Parameter parent: the header that came with the work that this is a part of; nil or an invalid one begins a
    ///   new trace, which is sampled.
    /// - Returns: the header of a new span in the parent's trace, with its flag `sampled`.
    package static func make(childOf parent: String?) -> String {
        let (trace, flags) = parent.flatMap(read) ?? (identifier() + identifier(), "01")
        return "00-\(trace)-\(identifier())-\(flags)"
    }

    private static let form = Array("00-00000000000000000000000000000000-0000000000000000-00".utf8)

    private static func read(_ text: String) -> (trace: String, flags: String)? {
        let bytes = Array(text.utf8)
        guard bytes.count >= form.count else { return nil }
        for (byte, form) in zip(bytes, form) where (byte == UInt8(ascii: "-")) != (form == UInt8(ascii: "-")) {
            return nil
        }
        for byte in bytes.prefix(form.count) where !(48...57).contains(byte) && !(97...102).contains(byte) && byte != 45
        {
            return nil
        }
        let (version, trace, span) = (part(bytes, 0, 2), part(bytes, 3, 35), part(bytes, 36, 52))
        // A later version may have more behind these parts.
        let ends = bytes.count == form.count || (bytes[form.count] == UInt8(ascii: "-") && version != "00")
        guard ends, version != "ff", trace != part(form, 3, 35), span != part(form, 36, 52) else { return nil }
        let isSampled = "13579bdf".utf8.contains(bytes[54])
        return (trace, isSampled ? "01" : "00")
    }

    private static func part(_ bytes: [UInt8], _ start: Int, _ end: Int) -> String {
        String(decoding: bytes[start..<end], as: UTF8.self)
    }

    /// 16 random hexadecimal digits, not all zeros.
    private static func identifier() -> String {
        let digits = String(UInt64.random(in: 1 ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
