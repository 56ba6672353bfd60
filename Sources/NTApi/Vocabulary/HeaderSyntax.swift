/// Which headers a request may have (RFC 9110, 5.5 and 5.6.2). libcurl sends them unchecked.
enum HeaderSyntax {
    /// Headers that frame the message. The library sets them. A second, different value could be used for request
    /// smuggling.
    private static func isReserved(_ name: String) -> Bool {
        name.equalsIgnoringASCIICase("content-length") || name.equalsIgnoringASCIICase("transfer-encoding")
    }

    static func check(name: String, value: String) throws(APIError) {
        guard isToken(name) else {
            // Do not show the name: it may be the value, given in the wrong place.
            throw .invalidRequest(
                "the name of a header \(problem(name)): letters, digits and !#$%&'*+-.^_`|~ are allowed")
        }
        guard !isReserved(name) else {
            throw .invalidRequest("the library sets the header \(name) itself, from the body")
        }
        if let byte = value.withBytes({ $0.first(where: isForbidden) }) {
            throw .invalidRequest("the value of the header \(name) has \(describe(byte)), which may not be sent")
        }
    }

    /// Whether a header of this name may be sent with this value.
    static func allows(name: String, value: String) -> Bool {
        do throws(APIError) {
            try check(name: name, value: value)
            return true
        } catch {
            return false
        }
    }

    /// Whether a header of this name may be received with this value. Headers that frame the message are allowed.
    static func allowsReceived(name: String, value: String) -> Bool {
        isToken(name) && !value.withBytes { $0.contains(where: isForbidden) }
    }

    static func check(method: String) throws(APIError) {
        guard isToken(method) else {
            throw .invalidRequest("the method \(problem(method)): letters, digits and !#$%&'*+-.^_`|~ are allowed")
        }
    }

    static func check(contentType: String) throws(APIError) { try check(name: "Content-Type", value: contentType) }

    /// Whether a Content-Type is this media type, whatever its parameters (RFC 9110, 8.3.1).
    static func isMediaType(_ contentType: String, _ type: String) -> Bool {
        essence(contentType).equalsIgnoringASCIICase(type)
    }

    /// Whether a Content-Type is JSON (RFC 6839, 3.1).
    static func isJSON(_ contentType: String) -> Bool {
        let type = essence(contentType).lowercasedASCII()
        return type == "application/json" || isMediaType(type) && type.hasSuffix("+json")
    }

    /// Whether a Content-Type has a media type. Blanks are allowed only around it (RFC 9110, 8.3.1).
    static func isMediaType(_ contentType: String) -> Bool {
        let parts = essence(contentType).split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { isToken(String($0)) }
    }

    /// A Content-Type without its parameter `boundary`, for a multipart body that gets another one.
    static func withoutBoundary(_ contentType: String) -> String {
        var (kept, part, isQuoted, isEscaped) = ([String](), "", false, false)
        for character in contentType + ";" {
            if character == ";", !isQuoted {
                let name = String(part.prefix { $0 != "=" }.trimmed)
                if kept.isEmpty || !name.equalsIgnoringASCIICase("boundary") { kept.append(part) }
                part = ""
                continue
            }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && character == "\\" && !isEscaped
            part.append(character)
        }
        return (kept + (part.isEmpty ? [] : [part])).joined(separator: ";")
    }

    private static func essence(_ contentType: String) -> String {
        String(contentType.prefix { $0 != ";" }.trimmed)
    }

    /// A method or a header's name for messages and descriptions. What is neither may be a secret in the wrong place.
    static func shown(_ name: String) -> String { isToken(name) ? name : Secrets.redacted }

    private static func isToken(_ text: String) -> Bool {
        text.withBytes { !$0.isEmpty && $0.allSatisfy { $0.isTokenCharacter } }
    }

    static func isForbidden(_ byte: UInt8) -> Bool { byte < 0x20 && byte != UInt8(ascii: "\t") || byte == 0x7F }

    /// Why a text is not a token.
    private static func problem(_ text: String) -> String {
        guard let byte = text.utf8.first(where: { !$0.isTokenCharacter }) else { return "is empty" }
        return "has \(describe(byte))"
    }

    static func describe(_ byte: UInt8) -> String {
        switch byte {
        case 0: "a NUL"
        case UInt8(ascii: "\n"): "a line feed"
        case UInt8(ascii: "\r"): "a carriage return"
        case UInt8(ascii: " "): "a space"
        case UInt8(ascii: "\t"): "a tab"
        case 0..<0x20, 0x7F: "the control character \(byte)"
        case 0x80...: "a character that is not ASCII"
        default: "the character \(Character(Unicode.Scalar(byte)))"
        }
    }
}

extension HTTPHeaders {
    /// The Content-Type. Of several, the last one with a media type counts, as for most recipients (RFC 9110, 8.3).
    var contentType: String? {
        all("Content-Type").flatMap { $0.split(separator: ",") }.map { String($0.trimmed) }
            .last(where: HeaderSyntax.isMediaType)
    }
}
