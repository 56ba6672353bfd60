/// Says what is wrong with a text that the scanner refused: it reads the one token where that stopped again, slowly.
///
/// The scanner only knows that what it found is not what belongs there. People want to know whether it is a bracket in the
/// wrong place, an escape that does not exist, or the end of the text.
struct JSONDiagnosis {
    private let text: UnsafeRawBufferPointer

    init(_ text: UnsafeRawBufferPointer) {
        self.text = text
    }

    /// - Parameter start: where the scanner began.
    func failure(_ problem: JSONScanner.Problem, from start: Int) -> JSONLoader.Failure {
        switch problem {
        case .memory: return JSONLoader.Failure(offset: start, reason: "no memory")
        case .depth(let offset):
            return JSONLoader.Failure(
                offset: offset + 1, reason: "more than \(JSONDepth.limit) levels of arrays and objects", cause: .depth)
        case .unexpected(let offset, let expected, let isInObject):
            let token = JSONToken(text, at: offset)
            switch (expected, token.kind) {
            case (_, .wrong), (_, .end): return failure(token, "")
            case (.value, _): return failure(token, "unexpected token")
            case (.commaOrEnd, _): return failure(token, "',' or '\(isInObject ? "}" : "]")' expected")
            case (.key, .string), (.keyOrEnd, .string): return failure(ofMember: token)
            case (.key, _): return failure(token, "unexpected token")
            case (.keyOrEnd, _): return failure(token, "a key in quotes or '}' expected")
            }
        }
    }

    /// Something stands behind the value.
    func stray(at offset: Int) -> JSONLoader.Failure {
        failure(JSONToken(text, at: offset), "the text should end")
    }

    /// The key itself is fine; either it is one that may not be, or there is no colon behind it.
    private func failure(ofMember key: JSONToken) -> JSONLoader.Failure {
        if key.containsNUL { return JSONLoader.Failure(offset: key.end, reason: "U+0000 in a key") }
        let next = text[key.end...].firstIndex { !JSONParser.isWhiteSpace($0) } ?? text.endIndex
        return failure(JSONToken(text, at: next), "':' expected")
    }

    private func failure(_ token: JSONToken, _ expectation: String) -> JSONLoader.Failure {
        let reason =
            switch token.kind {
            case .wrong(let reason): reason
            case .end: text.isEmpty ? "no text" : "unexpected end of the text"
            case .string, .other: expectation + token.quotation
            }
        return JSONLoader.Failure(offset: token.end, reason: reason)
    }
}
