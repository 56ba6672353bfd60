/// Combines base URL, command, path and query. Only libcurl's URL parser parses the result.
enum URLBuilder {
    /// - Parameters:
    ///   - replacement: the base URL arg, which replaces base and command.
    static func url(
        base: BaseURL?, replacement: String?, command: String, path: [(name: String, value: String)],
        query: some Sequence<(name: String, value: String)>
    ) throws(APIError) -> String {
        if replacement == nil, let url = base?.plain?.url(command, path: path, query: query) { return url }
        return try parsed(
            base: base?.text, replacement: replacement, command: command, path: path, query: query
        ).text
    }

    /// The slow path for any input: joins the parts, and parses the result before and after the query is added.
    static func parsed(
        base: String?, replacement: String?, command: String, path: [(name: String, value: String)],
        query: some Sequence<(name: String, value: String)>
    ) throws(APIError) -> URLParts {
        let start: String
        if let replacement {
            start = replacement
        } else if let base {
            // Check the base alone: after joining, the command could be read as the host.
            _ = try URLParts(base)
            start = try join(base, try fill(command, path))
        } else {
            throw .invalidRequest(
                "the client has no base URL: give it one, set the default baseUrl, or pass a base URL arg")
        }
        var parts = try URLParts(start)
        let pairs = query.map { "\(PercentEncoding.component($0.name))=\(PercentEncoding.component($0.value))" }
        guard !pairs.isEmpty else { return parts }
        let added = pairs.joined(separator: "&")
        let separator = parts.query.map { $0.isEmpty || $0.hasSuffix("&") ? "" : "&" } ?? ""
        parts = try URLParts(withQueryMark(parts.text) + separator + added)
        return parts
    }

    // The base URL keeps its query: the command goes between path and query.
    private static func join(_ base: String, _ command: String) throws(APIError) -> String {
        guard !command.isEmpty else { return base }
        guard !command.hasASCIIPrefix("http://"), !command.hasASCIIPrefix("https://") else {
            throw .invalidRequest(
                "the command \(quoted(Secrets.redactURL(command))) is a whole URL: pass it as a base URL arg")
        }
        let beforeFragment = base.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
        let pieces = beforeFragment.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let commandPieces = command.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var path = String(pieces[0])
        if !commandPieces[0].isEmpty {
            if path.hasSuffix("/") { path.removeLast() }
            path += command.hasPrefix("/") ? "" : "/"
            path += commandPieces[0]
        }
        let queries = [pieces.dropFirst().first, commandPieces.dropFirst().first]
            .compactMap { $0 }.filter { !$0.isEmpty }
        return queries.isEmpty ? path : "\(path)?\(queries.joined(separator: "&"))"
    }

    private static func fill(
        _ command: String, _ path: [(name: String, value: String)]
    ) throws(APIError) -> String {
        if let byte = command.utf8.first(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw .invalidRequest("the command \(quoted(Secrets.redactURL(command))) has the control character \(byte)")
        }
        // The last value of a name counts.
        let values = Dictionary(path.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        var filled = ""
        var places: [FilledValue] = []
        var rest = command[...]
        while let open = rest.firstIndex(of: "{") {
            filled += PercentEncoding.path(String(rest[..<open]))
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw .invalidRequest("the command \(quoted(Secrets.redactURL(command))) has a { without a }")
            }
            let inside = rest[rest.index(after: open)..<close]
            let hasSegments = inside.hasSuffix("*")
            let name = String(hasSegments ? inside.dropLast() : inside)
            guard let value = values[name] else { throw missing(name, String(inside), path.map(\.name)) }
            let start = filled.utf8.count
            filled += hasSegments ? segments(value, after: filled) : PercentEncoding.component(value)
            places.append(FilledValue(name: name, bytes: start..<filled.utf8.count))
            rest = rest[rest.index(after: close)...]
        }
        filled += PercentEncoding.path(String(rest))
        try checkSteps(filled, places)
        return filled
    }

    private static func missing(_ name: String, _ inside: String, _ given: [String]) -> APIError {
        let problem = "no arg fills {\(inside)} in the command"
        guard let misspelled = SimilarName.nearest(to: name, among: given) else {
            return .invalidRequest("\(problem): add a path arg named \(quoted(name))")
        }
        return .invalidRequest("\(problem), and there is \(quoted(misspelled)): did you mean \(quoted(name))?")
    }

    /// The place of a path arg's value in the command.
    private struct FilledValue {
        let name: String
        let bytes: Range<Int>
    }

    /// Refuses values that make a segment `.` or `..`, alone or together with the text next to them.
    ///
    /// Encoding does not help: `%2E%2E` is `..` (RFC 3986, 6.2.2.2). An encoded slash still separates: nginx reads
    /// `a%2F..%2F..` as three segments, and Windows treats backslashes as slashes. So segments are split as those
    /// servers split them.
    private static func checkSteps(_ filled: String, _ values: [FilledValue]) throws(APIError) {
        guard !values.isEmpty else { return }
        // Values have no question marks or slashes, because these are encoded.
        let path = Array(filled.utf8.prefix { $0 != UInt8(ascii: "?") })
        var start = 0
        for segment in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            let end = start + segment.count
            if let value = values.last(where: { $0.bytes.lowerBound <= end && $0.bytes.upperBound >= start }) {
                let names = PercentEncoding.decode(String(decoding: segment, as: UTF8.self))
                    .split { $0 == "/" || $0 == "\\" }
                if let step = names.first(where: { $0 == "." || $0 == ".." }) {
                    throw .invalidRequest(
                        "the path arg \(quoted(value.name)) makes the segment \(quoted(String(step))), which changes "
                            + "the path even when it is encoded: refuse such a value, or pass it in the query")
                }
            }
            start = end + 1
        }
    }

    // The value for `{name*}`: slashes stay slashes. The command may already have the first one.
    private static func segments(_ value: String, after filled: String) -> String {
        let value = filled.hasSuffix("/") && value.hasPrefix("/") ? value.dropFirst() : value[...]
        return value.split(separator: "/", omittingEmptySubsequences: false).map {
            PercentEncoding.component(String($0))
        }
        .joined(separator: "/")
    }

    // In libcurl only the text of the URL distinguishes an empty query from none.
    private static func withQueryMark(_ url: String) -> String {
        let kept = url.firstIndex(of: "#").map { String(url[..<$0]) } ?? url
        return kept.contains("?") ? kept : kept + "?"
    }
}
