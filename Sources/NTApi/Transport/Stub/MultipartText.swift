/// A multipart/form-data body as one text (RFC 7578), for who looks at it: libcurl writes what is sent.
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
        case .file(let path):
            do {
                guard let bytes = try SystemFile.read(path) else {
                    throw SystemError(what: "cannot read \(path)", number: 2)
                }
                return bytes
            } catch {
                throw .invalidRequest("part \(quoted(part.name)): \(error)")
            }
        }
    }

    // As browsers and libcurl do it (WHATWG HTML, 4.10.21.8).
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
}
