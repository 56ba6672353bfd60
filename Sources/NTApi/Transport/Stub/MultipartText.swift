/// The text of a body of multipart/form-data (RFC 7578).
///
/// What is written here is only shown: libcurl writes the body that is sent. What is read was written by the program or
/// by a browser.
enum MultipartText {
    static let boundary = "----ntapi-boundary"

    static func bytes(_ parts: [HTTPRequest.Part]) throws(APIError) -> [UInt8] {
        var bytes: [UInt8] = []
        for part in parts {
            var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(escaped(part.name))\""
            if let filename = part.filename { head += "; filename=\"\(escaped(filename))\"" }
            if let type = part.contentType { head += "\r\nContent-Type: \(type)" }
            bytes += Array("\(head)\r\n\r\n".utf8)
            bytes += try content(of: part)
            bytes += Array("\r\n".utf8)
        }
        return bytes + Array("--\(boundary)--\r\n".utf8)
    }

    static func content(of part: HTTPRequest.Part) throws(APIError) -> [UInt8] {
        switch part.content {
        case .bytes(let bytes): return bytes
        case .file(let path, let length):
            let bytes: [UInt8]?
            do { bytes = try SystemFile.read(path) } catch {
                throw .invalidRequest("part \(quoted(part.name)): \(error)")
            }
            guard let bytes else {
                throw .invalidRequest("part \(quoted(part.name)): there is no file \(quoted(path))")
            }
            // It is sent as long as it was when the request was built.
            guard let length else { return bytes }
            guard bytes.count >= length else {
                let sizes = "has \(bytes.count) bytes, but \(length) were announced"
                throw .invalidRequest("part \(quoted(part.name)): file '\(path)' \(sizes)")
            }
            return Array(bytes.prefix(Int(length)))
        }
    }

    // Escapes like browsers and libcurl (WHATWG HTML, 4.10.21.8).
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": escaped += "%22"
            case "\r": escaped += "%0D"
            case "\n": escaped += "%0A"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    // MARK: Reading

    /// - Parameter type: the Content-Type.
    /// - Returns: nil when the bytes are not such a body.
    static func parts(_ bytes: [UInt8], type: String) -> [HTTPRequest.Part]? {
        guard type.lowercasedASCII().hasASCIIPrefix("multipart/form-data"),
            let boundary = parameter("boundary", of: type)
        else { return nil }
        // What is before the first boundary is dropped; behind the last there is "--".
        let pieces = (Array("\r\n".utf8) + bytes).components(between: Array("\r\n--\(boundary)".utf8)).dropFirst()
        guard let last = pieces.last, last.starts(with: Array("--".utf8)) else { return nil }
        var parts: [HTTPRequest.Part] = []
        for piece in pieces.dropLast() {
            guard let part = part(Array(piece)) else { return nil }
            parts.append(part)
        }
        return parts
    }

    private static func part(_ bytes: [UInt8]) -> HTTPRequest.Part? {
        let halves = bytes.components(between: Array("\r\n\r\n".utf8))
        guard halves.count > 1 else { return nil }
        let fields = String(decoding: halves[0], as: UTF8.self).split(separator: "\r\n")
            .map { HTTPHeaders.Field(line: String($0)) }
        let disposition = fields.first { $0.isNamed("content-disposition") }?.value ?? ""
        guard let name = parameter("name", of: disposition) else { return nil }
        let encoded = parameter("filename*", of: disposition).map {
            $0.split(separator: "'", omittingEmptySubsequences: false)
        }
        let filename = encoded.flatMap { $0.count == 3 ? PercentEncoding.decode($0[2]) : nil }
        return HTTPRequest.Part(
            name: name, content: .bytes(Array(bytes[halves[1].startIndex...])),
            filename: parameter("filename", of: disposition) ?? filename,
            contentType: fields.first { $0.isNamed("content-type") }?.value)
    }

    /// A parameter of a header, with or without quotes (RFC 9110, 5.6.6).
    private static func parameter(_ name: String, of header: String) -> String? {
        var (pieces, isQuoted, isEscaped) = ([""], false, false)
        for character in header {
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && character == "\\" && !isEscaped
            if character == ";", !isQuoted { pieces.append("") } else { pieces[pieces.count - 1].append(character) }
        }
        for piece in pieces.dropFirst() {
            let pair = piece.split(separator: "=", maxSplits: 1).map { String($0.trimmed) }
            guard pair.count == 2, pair[0].equalsIgnoringASCIICase(name) else { continue }
            return pair[1].hasPrefix("\"") ? unescaped(pair[1].dropFirst().dropLast()) : pair[1]
        }
        return nil
    }

    // Browsers and libcurl write codes, others a backslash.
    private static func unescaped(_ text: Substring) -> String {
        var (result, isEscaped) = ("", false)
        for character in text {
            isEscaped = character == "\\" && !isEscaped
            if !isEscaped { result.append(character) }
        }
        for (code, character) in [("%22", "\""), ("%0D", "\r"), ("%0A", "\n")] {
            result = result.components(between: code).joined(separator: character)
        }
        return result
    }
}
