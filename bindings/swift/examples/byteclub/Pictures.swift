/// How a terminal shows pictures: the kind, the size, and the text to print.
struct PictureDisplay: Sendable {
    let kind: String
    let size: String
    let text: @Sendable ([UInt8]) -> String

    /// The best format that this terminal supports; nil when it shows only text.
    static var best: PictureDisplay? {
        let terminal = variable("TERM") ?? ""
        if !isTerminal { return nil }
        if ["iTerm.app", "WezTerm"].contains(variable("TERM_PROGRAM")) {
            return PictureDisplay(kind: "image/png", size: "s", text: inline)
        }
        if ["xterm-kitty", "xterm-ghostty"].contains(terminal) {
            return PictureDisplay(kind: "image/png", size: "s", text: graphics)
        }
        guard variable("COLORTERM") != nil || terminal.hasSuffix("256color") else { return nil }
        return PictureDisplay(kind: "image/x-portable-pixmap", size: "xs", text: halfBlocks)
    }
}

/// The escape sequence of iTerm.
@Sendable private func inline(_ picture: [UInt8]) -> String {
    "\u{1b}]1337;File=inline=1;size=\(picture.count);height=4:\(base64(picture))\u{7}"
}

/// The escape sequences of kitty, which takes a picture in pieces.
@Sendable private func graphics(_ picture: [UInt8]) -> String {
    var (rest, sequences, how) = (base64(picture)[...], "", "a=T,f=100,r=4,")
    while !rest.isEmpty {
        let piece = rest.prefix(4096)
        rest = rest.dropFirst(4096)
        sequences += "\u{1b}_G\(how)m=\(rest.isEmpty ? 0 : 1);\(piece)\u{1b}\\"
        how = ""
    }
    return sequences
}

/// Shows two pixels in each character, its upper and its lower half, in 256 colours.
///
/// - Parameter picture: a portable pixmap: a line of text, and then the pixels.
@Sendable private func halfBlocks(_ picture: [UInt8]) -> String {
    let head = picture.prefix { $0 != UInt8(ascii: "\n") }
    let words = String(decoding: head, as: UTF8.self).split(separator: " ")
    guard words.count == 4, words[0] == "P6", words[3] == "255", let width = Int(words[1]), let height = Int(words[2]),
        1...9999 ~= width, 1...9999 ~= height
    else { return "(a picture that this terminal cannot show)" }
    let pixels = Array(picture.dropFirst(head.count + 1))
    guard pixels.count >= 3 * width * height else { return "(half a picture)" }

    func colour(_ x: Int, _ y: Int) -> Int {
        let levels = pixels[(3 * (y * width + x))...].prefix(3).map { (Int($0) * 5 + 127) / 255 }
        return levels.reduce(0) { $0 * 6 + $1 } + 16
    }
    // Uses every second pixel of every second row: 32 by 32 pixels make 16 characters in 8 lines.
    let lines = stride(from: 0, to: height - 2, by: 4).map { y in
        stride(from: 0, to: width, by: 2).map { "\u{1b}[38;5;\(colour($0, y));48;5;\(colour($0, y + 2))m▀" }.joined()
    }
    return lines.map { "\($0)\u{1b}[0m" }.joined(separator: "\n")
}

private func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
        for place in 0..<4 {
            text.append(place <= group.count ? digits[bits >> (18 - 6 * place) & 63] : "=")
        }
    }
    return text
}
