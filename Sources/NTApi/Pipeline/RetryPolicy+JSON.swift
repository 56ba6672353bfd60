// A policy as JSON: `true`, `false`, or an object with the members that are not as usual.
extension RetryPolicy {
    private enum Name {
        static let all = ["attempts", "base", "cap", "maximum_retry_after", "statuses", "network_errors"]
    }

    /// `true` is the standard policy, `false` never tries again.
    ///
    /// - Throws: what is wrong with it, in words that go behind the name of the setting or arg.
    package init(_ json: JSON) throws(APIError) {
        self = .standard
        if let isOn = json.bool {
            if !isOn { self = .never }
            return
        }
        let wanted = "true, false, or an object with \(Name.all.map(quoted).joined(separator: ", ")) is needed"
        guard json.kind == .object else { throw .invalidRequest(wanted) }
        if let unknown = json.keys.first(where: { !Name.all.contains($0) }) {
            throw .invalidRequest("\(quoted(unknown)) is no part of a retry policy: \(wanted)")
        }
        let fields = JSONFields(json: json) { .invalidRequest("\($0): \($1)") }
        if let count = try fields.optionalInteger("attempts") { attempts = Int(clamping: count) }
        if let seconds = try fields.optionalNumber("base") { base = seconds }
        if let seconds = try fields.optionalNumber("cap") { cap = seconds }
        if let seconds = try fields.optionalNumber("maximum_retry_after") { maximumRetryAfter = seconds }
        if let isOn = try fields.optionalBool("network_errors") { networkErrors = isOn }
        if let values = try fields.optionalArray("statuses") {
            let numbers = values.compactMap(\.int)
            guard numbers.count == values.count else { throw fields.error("statuses", "they are whole numbers") }
            statuses = Set(numbers)
        }
        if let problem { throw .invalidRequest(problem) }
    }

    /// As the initializer reads it. A wait without end is the longest one that JSON can tell.
    package var json: JSON {
        func number(_ seconds: Double) -> JSON { JSON(min(seconds, Double.greatestFiniteMagnitude)) }
        return JSON([
            ("attempts", JSON(attempts)), ("base", number(base)), ("cap", number(cap)),
            ("maximum_retry_after", number(maximumRetryAfter)), ("statuses", JSON(statuses.sorted().map { JSON($0) })),
            ("network_errors", JSON(networkErrors)),
        ])
    }
}
