/// Reads defaults that have a meaning and checks them: what cannot be used is an error that names the default.
struct SettingsReader {
    let defaults: Defaults

    func text(_ key: String, _ wanted: String = "a string") throws(APIError) -> String? {
        guard let value = defaults[key] else { return nil }
        guard let text = value.string, !text.utf8.contains(0) else { throw problem(key, value, wanted) }
        return text
    }

    func isOn(_ key: String) throws(APIError) -> Bool? {
        guard let value = defaults[key] else { return nil }
        guard let isOn = value.bool else { throw problem(key, value, "a boolean") }
        return isOn
    }

    /// - Parameter orNone: whether it may be 0.
    func seconds(_ key: String, orNone: Bool = false) throws(APIError) -> Double? {
        guard let value = defaults[key] else { return nil }
        guard let seconds = value.double, seconds > 0 || orNone && seconds == 0 else {
            throw problem(key, value, orNone ? "a number of seconds from 0" : "a number of seconds above 0")
        }
        return seconds
    }

    func count(_ key: String, from least: Int64) throws(APIError) -> Int64? {
        guard let value = defaults[key] else { return nil }
        guard let count = value.int64, count >= least else { throw problem(key, value, "a whole number from \(least)") }
        return count
    }

    /// A list of texts, or a single one.
    func texts(_ key: String, _ wanted: String) throws(APIError) -> [String]? {
        guard let value = defaults[key] else { return nil }
        let texts = value.string.map { [$0] } ?? value.array.map { $0.compactMap(\.string) }
        guard let texts, texts.count == value.array?.count ?? 1, !texts.contains(where: { $0.utf8.contains(0) }) else {
            throw problem(key, value, wanted)
        }
        return texts
    }

    /// One of the values of an enum, by its raw value.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String, _ type: Choice.Type
    ) throws(APIError) -> Choice? {
        guard let value = defaults[key] else { return nil }
        // A version that was given as a number: 1.2.
        guard let choice = Choice(rawValue: value.string ?? value.text) else {
            let choices = Choice.allCases.map(\.rawValue).filter { !$0.isEmpty }.map { "\"\($0)\"" }
            throw problem(key, value, "one of \(choices.joined(separator: ", "))")
        }
        return choice
    }

    func problem(_ key: String, _ value: JSON, _ wanted: String) -> APIError {
        // A password that has the wrong type is still one.
        .invalidRequest("the default \(key) is \(Secrets.redact(setting: key, value)): \(wanted) is needed")
    }
}
