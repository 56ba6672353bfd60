/// The body that a stub expects.
public struct StubBody: Sendable {
    enum Kind: Sendable {
        case any
        case json(JSON)
        case containing(String)
        case recorded(RecordedBody)
    }

    let kind: Kind

    /// Whatever it is, and none, too.
    public static let any = StubBody(kind: .any)

    /// JSON that is equal to this: the order of members does not matter, nor how it is written.
    public static func json(_ json: JSON) -> StubBody { StubBody(kind: .json(json)) }

    /// One with this text somewhere in it.
    public static func containing(_ text: String) -> StubBody { StubBody(kind: .containing(text)) }

    /// How a request's body differs; nil when it is the one.
    func mismatch(_ request: StubRequest) -> String? {
        switch kind {
        case .any: return nil
        case .json(let expected):
            guard let json = request.json else { return "the body is no JSON" }
            return json == expected ? nil : "the body is other JSON"
        case .containing(let text):
            return request.text.containsSubstring(text) ? nil : "the body does not contain \(quoted(text))"
        case .recorded(let body): return body.matches(request) ? nil : "the body is another"
        }
    }
}
