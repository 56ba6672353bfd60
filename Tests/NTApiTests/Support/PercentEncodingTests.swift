import Testing

@testable import NTApi

@Suite struct PercentEncodingTests {
    /// RFC 3986, 2.3: only these are not encoded.
    @Test func aComponentKeepsTheUnreservedOnly() {
        for byte in UInt8(0)..<0x80 {
            let character = Character(UnicodeScalar(byte))
            let isUnreserved = character.isLetter || character.isNumber || "-._~".contains(character)
            let encoded = PercentEncoding.component(String(character))
            #expect(encoded == (isUnreserved ? String(character) : "%" + hexadecimal(byte)), "\(byte)")
        }
    }

    /// WHATWG URL, 5.2.
    @Test func aFormComponentHasItsOwnRules() {
        #expect(PercentEncoding.formComponent("a b*~-._+&=é") == "a+b*%7E-._%2B%26%3D%C3%A9")
    }

    @Test func aPathKeepsWhatAPathMayHave() {
        let kept = "/a%20b/:@!$&'()*+,;=?x"
        #expect(PercentEncoding.path(kept) == kept)
        #expect(PercentEncoding.path(" ü\"<>^`{|}") == "%20%C3%BC%22%3C%3E%5E%60%7B%7C%7D")
    }

    @Test(arguments: [
        ("", ""), ("%41", "A"), ("%c3%A9", "é"), ("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%%41", "%A"),
        ("a+b", "a+b"),
        ("%ff", "\u{FFFD}"),
    ]) func decodes(_ text: String, _ expected: String) {
        #expect(PercentEncoding.decode(text) == expected)
    }

    @Test func decodesWhatItEncodes() {
        var generator = SeededGenerator(SeededGenerator.ofThisRun)
        for _ in 0..<500 {
            var text = ""
            for _ in 0..<Int.random(in: 0..<20, using: &generator) {
                if let scalar = UnicodeScalar(UInt32.random(in: 0...0x2FFF, using: &generator)) {
                    text.unicodeScalars.append(scalar)
                }
            }
            #expect(PercentEncoding.decode(PercentEncoding.component(text)) == text)
            #expect(PercentEncoding.decode(PercentEncoding.formComponent(text), plusIsSpace: true) == text)
        }
    }

    private func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return digits.count == 1 ? "0" + digits : digits
    }
}

@Suite struct Base64Tests {
    /// RFC 4648, 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]) func vectors(_ plain: String, _ encoded: String) {
        #expect(Base64.encode(plain.utf8) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
        let withoutPadding = String(encoded.filter { $0 != "=" })
        #expect(Base64.decode(withoutPadding) == Array(plain.utf8))
    }

    @Test func everyByteSurvives() {
        let bytes = [UInt8](0...255)
        for length in 0..<256 {
            let some = Array(bytes.prefix(length))
            #expect(Base64.decode(Base64.encode(some)) == some)
        }
    }

    @Test(arguments: ["a", "a=b=", "????", "Zg==x", "Zm9v\n", "Zm9v Zm9v", "é", "abcde"]) func refuses(_ text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
