extension APIClient {
    /// Sends a request and awaits its JSON as a type of the program's own. Cancelling the task cancels the request.
    ///
    /// ```swift
    /// struct City: Decodable { let name: String }
    /// let city = try await client.send("cities/5", as: City.self)
    /// ```
    ///
    /// - Parameters:
    ///   - path: where in the JSON it is; the whole JSON, unless given.
    ///   - options: how the JSON writes keys, dates and numbers.
    /// - Throws: the response's error, if it has one; `unexpected JSON` when the JSON is not as the type expects.
    public func send<Value: Decodable & Sendable>(
        _ command: String = "", args: [APIArg] = [], as type: Value.Type, at path: String = "",
        options: DecodingOptions = DecodingOptions()
    ) async throws(APIError) -> Value {
        try await response(command, args: args).decode(type, at: path, options: options)
    }
}
