import Testing

@testable import NTApi

@Suite struct SHA256Tests {
    /// The examples of FIPS 180-4, and lengths around the end of a block.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func examples(_ text: String, _ hash: String) {
        #expect(SHA256.hex(text) == hash)
    }

    @Test(arguments: [54, 55, 56, 57, 63, 64, 65, 119, 120, 1000])
    func lengths(_ count: Int) {
        let text = String(repeating: "a", count: count)
        let theirs = String(decoding: shell("printf '%s' \(text) | sha256sum"), as: UTF8.self).prefix(64)
        #expect(SHA256.hex(text) == theirs)
    }
}
