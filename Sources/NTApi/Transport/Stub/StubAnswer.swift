/// What a stub answers a request with.
public struct StubAnswer: Sendable {
    public var status: Int
    /// Content-Length comes by itself where it is not said.
    public var headers: HTTPHeaders
    public var body: [UInt8]
    /// Seconds of the client's clock before the answer.
    public var delay = 0.0
    /// The most bytes of the body that come at a time; 0 is no limit.
    public var pieceSize = 0
    /// Seconds of the client's clock before each piece but the first.
    public var pieceDelay = 0.0
    /// What goes wrong.
    public var fault: StubFault?

    public init(status: Int = 200, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An answer without a body.
    public static func status(
        _ status: Int, headers: KeyValuePairs<String, String> = [:], delay: Double = 0
    ) -> StubAnswer {
        make(status, headers, [], nil, delay)
    }

    /// A JSON value, as application/json.
    public static func json(
        _ json: JSON, status: Int = 200, headers: KeyValuePairs<String, String> = [:], delay: Double = 0
    ) -> StubAnswer {
        make(status, headers, json.utf8(), "application/json", delay)
    }

    /// Text, as text/plain unless a header says otherwise.
    public static func text(
        _ text: String, status: Int = 200, headers: KeyValuePairs<String, String> = [:], delay: Double = 0
    ) -> StubAnswer {
        make(status, headers, Array(text.utf8), "text/plain; charset=utf-8", delay)
    }

    /// Bytes, as application/octet-stream unless a header says otherwise.
    public static func data(
        _ bytes: [UInt8], status: Int = 200, headers: KeyValuePairs<String, String> = [:], delay: Double = 0
    ) -> StubAnswer {
        make(status, headers, bytes, "application/octet-stream", delay)
    }

    /// No answer, but what the network may do instead.
    public static func fault(_ fault: StubFault, delay: Double = 0) -> StubAnswer {
        var answer = StubAnswer()
        answer.fault = fault
        answer.delay = delay
        return answer
    }

    /// The same with a body that comes in pieces.
    ///
    /// - Parameters:
    ///   - size: the most bytes of a piece.
    ///   - delay: seconds of the client's clock before each piece but the first.
    public func inPieces(of size: Int, every delay: Double = 0) -> StubAnswer {
        var answer = self
        answer.pieceSize = size
        answer.pieceDelay = delay
        return answer
    }

    /// The same in which something goes wrong.
    public func with(_ fault: StubFault) -> StubAnswer {
        var answer = self
        answer.fault = fault
        return answer
    }

    private static func make(
        _ status: Int, _ headers: KeyValuePairs<String, String>, _ body: [UInt8], _ type: String?, _ delay: Double
    ) -> StubAnswer {
        let fields = HTTPHeaders(headers.map { ($0.key, $0.value) })
        var answer = StubAnswer(status: status, headers: fields, body: body)
        if let type { answer.setType(type) }
        answer.delay = delay
        return answer
    }
}

extension StubAnswer {
    /// Says what the body is, unless a header does.
    package mutating func setType(_ type: String) { headers.setIfAbsent("Content-Type", type) }

    /// What is wrong with it; nil when it can be given.
    package var problem: String? {
        guard (200..<1000).contains(status) else {
            return "the status \(status) is none of a final response (200 to 999)"
        }
        guard delay >= 0, pieceDelay >= 0, pieceSize >= 0 else { return "a delay or the size of a piece is negative" }
        for field in headers where !HeaderSyntax.allowsReceived(name: field.name, value: field.value) {
            return "\(quoted(field.name)) with \(quoted(field.value)) cannot be a header"
        }
        return nil
    }
}
