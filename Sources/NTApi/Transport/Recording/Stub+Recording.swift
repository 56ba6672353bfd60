extension Stub {
    /// Gives again what a ``Recorder`` has recorded, in whichever language that was.
    ///
    /// A request is expected with the same method, URL and body; what was redacted may be anything, and headers are not
    /// compared. Of several that were the same, the answers come in the order of the recording.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - anyOrigin: whether scheme, host and port of the URLs do not matter.
    ///   - repeatsLast: whether the last answer to a request is given again and again; otherwise one more than there were
    ///     recorded is an error.
    /// - Throws: an error that says which exchange of the file is wrong, and what.
    public convenience init(
        recording path: String, anyOrigin: Bool = false, repeatsLast: Bool = false
    ) throws(APIError) {
        let recording = try RecordingReader.read(path)
        self.init()
        var rules: [String: StubRule] = [:]
        for exchange in recording.exchanges {
            let key = exchange.key
            let rule = rules[key] ?? add(exchange.rule(anyOrigin: anyOrigin, repeatsLast: repeatsLast))
            rules[key] = rule
            rule.answer(exchange.answer)
        }
    }
}

extension Recording.Exchange {
    /// The same for those that are expected in the same way.
    fileprivate var key: String {
        var bare = Recording()
        bare.exchanges = [Recording.Exchange(method: method, url: url, requestBody: requestBody)]
        return String(decoding: bare.json.utf8(), as: UTF8.self)
    }

    fileprivate func rule(anyOrigin: Bool, repeatsLast: Bool) -> StubRule {
        let url = StubURL(recorded: url, anyOrigin: anyOrigin)
        let rule = StubRule(method, url, StubBody(kind: .recorded(requestBody)), nil)
        return repeatsLast ? rule : rule.usedUp()
    }

    fileprivate var answer: StubAnswer {
        let fault = fault.flatMap { StubFault(recorded: $0) }
        guard let status else { return .fault(fault ?? .connectionLost) }
        var answer = StubAnswer(status: status, headers: headers, body: body.bytes)
        // The head has come, so that whatever it was has happened after it.
        if fault != nil { answer.fault = .connectionLost(after: answer.body.count) }
        return answer
    }
}
