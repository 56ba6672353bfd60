/// A part of a multipart body, as the options `-F` and `--form-string` of curl have it.
struct CurlForm {
    enum Content {
        case text(String)
        /// What curl reads from its standard input.
        case input
    }

    private(set) var option = "-F"
    private(set) var text: String

    /// - Parameter content: nil is the part's file.
    init(_ part: HTTPRequest.Part, content: Content?) {
        let type = part.contentType ?? EasyOptions.fallbackType(part)
        let isPlainName = !part.name.isEmpty && !part.name.utf8.contains(UInt8(ascii: "="))
        if case .text(let content) = content, isPlainName, part.filename == nil, type == nil {
            // Not -F, which takes a value that begins with @ for the name of a file.
            option = "--form-string"
            text = "\(part.name)=\(content)"
            return
        }
        text = (isPlainName ? part.name : "") + "="
        // The one reads what is sent as a file's content, the other as a text's.
        let mark = part.filename == nil ? "<" : "@"
        switch (content, part.content) {
        case (.text(let content)?, _): text += Self.quoted(content)
        case (nil, .file(let path)): text += mark + Self.quoted(Self.file(path))
        case (.input?, _), (nil, .bytes): text += "\(mark)-"
        }
        if let filename = part.filename { text += ";filename=\(Self.quoted(filename))" }
        if let type { text += Self.isPlain(type: type) ? ";type=\(type)" : Self.header("Content-Type: \(type)") }
        if !isPlainName { text += Self.header(Self.disposition(part)) }
    }

    /// A path that curl does not take for its standard input.
    static func file(_ path: String) -> String { path == "-" ? "./-" : path }

    /// curl ends a name at the first equals sign, so one that has any is written as the header that it becomes.
    private static func disposition(_ part: HTTPRequest.Part) -> String {
        let filename = part.filename.map { "; filename=\"\(escaped($0))\"" } ?? ""
        return "Content-Disposition: form-data; name=\"\(escaped(part.name))\"\(filename)"
    }

    private static func header(_ line: String) -> String { ";headers=\(quoted(line))" }

    /// As libcurl writes names into a header (WHATWG HTML, 4.10.21.8).
    private static func escaped(_ text: String) -> String {
        String(
            decoding: text.utf8.flatMap { byte -> [UInt8] in
                switch byte {
                case UInt8(ascii: "\""): Array("%22".utf8)
                case 0x0D: Array("%0D".utf8)
                case 0x0A: Array("%0A".utf8)
                default: [byte]
                }
            }, as: UTF8.self)
    }

    /// In double quotes, within which a semicolon and a comma mean nothing to curl.
    private static func quoted(_ text: String) -> String {
        let special = Array("\"\\".utf8)
        return String(
            decoding: Array("\"".utf8) + text.utf8.flatMap { special.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
                + Array("\"".utf8), as: UTF8.self)
    }

    /// Whether curl takes it as `;type=`, whole.
    private static func isPlain(type: String) -> Bool {
        let pieces = type.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return pieces.count == 2 && type.utf8.count < 100
            && pieces.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isTokenCharacter) }
    }
}
