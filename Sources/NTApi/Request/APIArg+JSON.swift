extension APIArg {
    /// Parses args that are written as JSON: `[["url", "q", "London"], ["url", "cnt", 20], ["timeout", 5]]`.
    ///
    /// The first element of each is the kind. A null value suppresses the arg.
    ///
    /// - Throws: an `invalid request` error that names the arg and its problem.
    public static func list(parsing text: String) throws(APIError) -> [APIArg] {
        try list(Result { () throws(JSONParseError) in try JSON(parsing: text) })
    }

    /// The same for text from C. If it is not JSON, jansson says where.
    package static func list(loading text: UnsafeRawBufferPointer) throws(APIError) -> [APIArg] {
        try list(Result { () throws(JSONParseError) in try JSON(loading: text) })
    }

    private static func list(_ parsed: Result<JSON, JSONParseError>) throws(APIError) -> [APIArg] {
        let json: JSON
        switch parsed {
        case .success(let value): json = value
        case .failure(let error): throw .invalidRequest("the args are not JSON: \(error)")
        }
        guard let elements = json.array else {
            throw .invalidRequest("the args must be a JSON array of arrays, such as [[\"url\",\"q\",\"London\"]]")
        }
        var args: [APIArg] = []
        args.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            let reader = try JSONArgReader(element, index: index)
            args.append(try reader.arg())
        }
        return args
    }
}

/// Reads one arg from its JSON form.
private struct JSONArgReader {
    let kind: String
    let operands: [JSON]
    let index: Int

    init(_ element: JSON, index: Int) throws(APIError) {
        guard let values = element.array, let kind = values.first?.string else {
            throw .invalidRequest("arg \(index) must be an array that begins with its kind, not \(element.text)")
        }
        self.kind = kind
        self.index = index
        operands = Array(values.dropFirst())
    }

    func arg() throws(APIError) -> APIArg {
        switch kind {
        case "url", "query": return .url(try name(), try value(1))
        case "url_default": return try urlDefault()
        case "path": return .path(try name(), try value(1))
        case "form": return .form(try name(), try value(1))
        case "multipart": return .multipart(try name(), try value(1)?.argText)
        case "multipart_data": return try multipartData()
        case "multipart_file": return try multipartFile()
        case "data": return try data()
        case "json":
            try expect(1...1)
            return .json(operands[0])
        case "file": return try file()
        case "base_url": return .baseURL(try string())
        case "header": return .header(try name(), try value(1)?.argText)
        case "add_header": return .addHeader(try name(), try value(1)?.argText)
        case "basic_auth":
            try expect(2...2)
            return .basicAuth(try string(0), try string(1))
        case "digest_auth":
            try expect(2...2)
            return .digestAuth(try string(0), try string(1))
        case "bearer": return .bearer(try string())
        case "timeout": return .timeout(try seconds(), try choice(1, or: .idle))
        case "method": return .method(try string())
        case "cache_policy": return try isNull(0) ? .cachePolicy(nil) : .cachePolicy(try choice(0, or: .protocol))
        case "option": return try option()
        case "response_thread": return .responseThread(try thread())
        case "upload_progress_thread": return .uploadProgressThread(try thread())
        case "decision_thread": return .decisionThread(try thread())
        case "data_thread": return .dataThread(try thread())
        case "retry": return try retry()
        case "idempotency_key": return operands.isEmpty ? .idempotencyKey() : .idempotencyKey(try string())
        case "resume": return .resume(text: try string())
        case "download": return operands.isEmpty ? .download() : .download(to: try string())
        case "download_progress_thread": return .downloadProgressThread(try thread())
        default: throw problem("there is no arg of this kind")
        }
    }

    private func urlDefault() throws(APIError) -> APIArg {
        try expect(1...2)
        guard let name = operands[0].string else { throw problem("the name must be a string") }
        return .urlDefault(name, operands.count == 2 ? try string(1) : nil)
    }

    private func multipartData() throws(APIError) -> APIArg {
        let name = try name()
        guard let content = try object(1, of: ["text", "base64", "extension", "filename", "content_type"]) else {
            return .multipart(name, data: nil)
        }
        let bytes = try bytes(content)
        guard content["filename"] != nil || content["content_type"] != nil else {
            return .multipart(name, data: bytes, fileExtension: content["extension"]?.string)
        }
        return .multipart(
            name, data: bytes, filename: content["filename"]?.string ?? "\(name).bin",
            contentType: content["content_type"]?.string)
    }

    private func multipartFile() throws(APIError) -> APIArg {
        let name = try name()
        guard let content = try object(1, of: ["path", "filename", "content_type"]) else {
            return .multipart(name, file: nil)
        }
        guard let path = content["path"]?.string else { throw problem("\"path\" is missing") }
        return .multipart(
            name, file: path, filename: content["filename"]?.string, contentType: content["content_type"]?.string)
    }

    private func data() throws(APIError) -> APIArg {
        guard let content = try object(0, of: ["text", "base64", "content_type"]) else { return .data(nil) }
        return .data(try bytes(content), contentType: content["content_type"]?.string)
    }

    private func file() throws(APIError) -> APIArg {
        guard let content = try object(0, of: ["path", "content_type"]) else { return .file(nil) }
        guard let path = content["path"]?.string else { throw problem("\"path\" is missing") }
        return .file(path, contentType: content["content_type"]?.string)
    }

    private func option() throws(APIError) -> APIArg {
        try expect(1...2)
        guard let name = try string(0) else { return APIArg(.suppressed) }
        return operands.count == 1 ? .option(APIOption(name)) : .option(APIOption(name), try value(1))
    }

    private func retry() throws(APIError) -> APIArg {
        guard try !isNull(0) else { return .retry(nil) }
        do throws(APIError) {
            return .retry(try RetryPolicy(operands[0]))
        } catch {
            throw problem(error.message)
        }
    }

    // MARK: Operands

    private func name() throws(APIError) -> String {
        try expect(2...2)
        guard let name = operands[0].string else { throw problem("the name must be a string") }
        return name
    }

    /// The only operand.
    private func string() throws(APIError) -> String? {
        try expect(1...1)
        return try string(0)
    }

    private func string(_ position: Int) throws(APIError) -> String? {
        if operands[position].isNull { return nil }
        guard let string = operands[position].string else { throw problem("it must be a string or null") }
        return string
    }

    private func value(_ position: Int) throws(APIError) -> (any APIArgValue)? {
        let value = operands[position]
        switch value.kind {
        case .null: return nil
        case .string: return value.string
        case .bool: return value.bool
        case .int: return value.int64
        case .double: return exactly(value)
        case .array, .object: throw problem("the value must be a string, a number, a boolean or null")
        }
    }

    /// A number with all digits that were written. Those with at most 17 are a double, as jansson and others write one.
    private func exactly(_ value: JSON) -> (any APIArgValue)? {
        let text = value.text
        let digits = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }.drop {
            !(UInt8(ascii: "1")...UInt8(ascii: "9") ~= $0)
        }
        return digits.count(where: \.isASCIIDigit) > 17 ? text : value.double
    }

    private func object(_ position: Int, of members: [String]) throws(APIError) -> JSON? {
        guard operands.count == position + 1 else { throw problem("it takes \(position + 1) values") }
        if operands[position].isNull { return nil }
        guard operands[position].kind == .object else { throw problem("it must be an object or null") }
        // An unknown member is a misspelt name, and would otherwise be ignored silently.
        if let unknown = operands[position].keys.first(where: { !members.contains($0) }) {
            throw problem("\(quoted(unknown)) is not one of \(members.map(quoted).joined(separator: ", "))")
        }
        return operands[position]
    }

    private func bytes(_ content: JSON) throws(APIError) -> [UInt8] {
        if let text = content["text"]?.string { return Array(text.utf8) }
        guard let base64 = content["base64"]?.string else { throw problem("\"base64\" or \"text\" is missing") }
        guard let bytes = Base64.decode(base64) else { throw problem("\"base64\" is not base64") }
        return bytes
    }

    private func seconds() throws(APIError) -> Double? {
        try expect(1...2)
        if operands[0].isNull { return nil }
        guard let seconds = operands[0].double else { throw problem("seconds must be a number") }
        return seconds
    }

    private func isNull(_ position: Int) throws(APIError) -> Bool {
        try expect(1...1)
        return operands[position].isNull
    }

    private func choice<Choice: CaseIterable & RawRepresentable>(
        _ position: Int, or absent: Choice
    ) throws(APIError) -> Choice where Choice.RawValue == String {
        guard operands.count > position else { return absent }
        guard let choice = operands[position].string.flatMap(Choice.init(rawValue:)) else {
            let names = Choice.allCases.map { quoted($0.rawValue) }.joined(separator: ", ")
            throw problem("\(operands[position].text) is not one of \(names)")
        }
        return choice
    }

    private func thread() throws(APIError) -> CallbackThread? {
        switch try string() {
        case nil: return nil
        case "main": return .main
        case "background": return .background
        case "current": return .current
        case let other?: throw problem("\(quoted(other)) is not one of \"main\", \"background\", \"current\"")
        }
    }

    private func expect(_ counts: ClosedRange<Int>) throws(APIError) {
        guard counts.contains(operands.count) else {
            let wanted = counts.count == 1 ? "\(counts.lowerBound)" : "\(counts.lowerBound) or \(counts.upperBound)"
            throw problem("it takes \(wanted) value(s), not \(operands.count)")
        }
    }

    private func problem(_ text: String) -> APIError { .invalidRequest("arg \(index) (\(kind)): \(text)") }
}
