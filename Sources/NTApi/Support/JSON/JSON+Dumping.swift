import CJansson

// JSON text for a program that gets it through the C ABI.
extension JSON {
    /// The value as compact text, written by jansson's dumper. It reads back as an equal value.
    ///
    /// jansson writes all reals of a text with the same precision. This uses the fewest digits, from 15 to 17, with
    /// which all of them read back the same. The core writes a text with a number that has more digits, or with an
    /// integer beyond 64 bits.
    package var dumped: String {
        guard let digits = JanssonDumper.digits(for: self) else { return text }
        let tree = UnsafeMutablePointer<json_t>(jansson())
        defer { json_decref(tree) }
        return JanssonDumper.text(of: tree, digits: digits) ?? text
    }
}

private enum JanssonDumper {
    /// How many levels of arrays and objects jansson writes: it recurses, as its loader does.
    private static let deepest = 256

    /// Seventeen digits are always enough. That is jansson's default, which writes 0.1 as 0.10000000000000001.
    private static let mostDigits = 17

    /// How many digits the reals of a value need; nil when jansson cannot write the value: it nests too deep, or jansson
    /// has no such number.
    static func digits(for value: JSON) -> Int? {
        var digits = 15
        var open: [JSONCursor] = []
        var next = value
        while true {
            if next.isContainer {
                guard open.count < deepest else { return nil }
                open.append(JSONCursor(next))
            } else if next.hasExcessDigits || isLongInteger(next) {
                return nil
            } else if next.kind == .double, let real = next.double {
                while digits < mostDigits, !readsBack(real, digits: digits) { digits += 1 }
            }
            while let innermost = open.indices.last {
                if let child = open[innermost].next() {
                    next = child.value
                    break
                }
                open.removeLast()
            }
            if open.isEmpty { return digits }
        }
    }

    /// Whether this is an integer of a text that is beyond 64 bits.
    private static func isLongInteger(_ value: JSON) -> Bool {
        guard value.kind == .double, case .parsed(let document, let index) = value.storage else { return false }
        return document.tape.bytes(Int(index)).allSatisfy { $0 == UInt8(ascii: "-") || $0.isASCIIDigit }
    }

    private static func readsBack(_ real: Double, digits: Int) -> Bool {
        guard let tree = json_real(real) else { return true }
        defer { json_decref(tree) }
        return text(of: tree, digits: digits).flatMap { Double($0) } == real
    }

    /// - Returns: nil when there is no memory.
    static func text(of tree: UnsafeMutablePointer<json_t>, digits: Int) -> String? {
        var text: [UInt8] = []
        let status = withUnsafeMutablePointer(to: &text) { text in
            json_dump_callback(
                tree,
                { bytes, count, text in
                    text?.assumingMemoryBound(to: [UInt8].self).pointee.append(
                        contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
                    return 0
                }, text, Int(JSON_COMPACT | JSON_ENCODE_ANY) | ntapi_jansson_real_precision(digits))
        }
        return status == 0 ? String(decoding: text, as: UTF8.self) : nil
    }
}
