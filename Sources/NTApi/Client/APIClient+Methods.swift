// Requests named by their method: `client.get("cities/5")`. Each is `send` with that method, which overrides a method
// arg. They are compiled into the programs that call them, so the C library does not contain them.

extension APIClient {
    /// Sends a GET request and awaits its response. Cancelling the task cancels the request.
    ///
    /// - Throws: the response's error, if it has one.
    @_alwaysEmitIntoClient public func get(
        _ command: String = "", args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) async throws(APIError) -> APIResponse {
        try await send(
            command, args: args + [.method("GET")], uploadProgress: uploadProgress, downloadProgress: downloadProgress)
    }

    /// Sends a POST request and awaits its response. Cancelling the task cancels the request.
    ///
    /// - Throws: the response's error, if it has one.
    @discardableResult @_alwaysEmitIntoClient public func post(
        _ command: String = "", args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) async throws(APIError) -> APIResponse {
        try await send(
            command, args: args + [.method("POST")], uploadProgress: uploadProgress, downloadProgress: downloadProgress)
    }

    /// Sends a PUT request and awaits its response. Cancelling the task cancels the request.
    ///
    /// - Throws: the response's error, if it has one.
    @discardableResult @_alwaysEmitIntoClient public func put(
        _ command: String = "", args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) async throws(APIError) -> APIResponse {
        try await send(
            command, args: args + [.method("PUT")], uploadProgress: uploadProgress, downloadProgress: downloadProgress)
    }

    /// Sends a PATCH request and awaits its response. Cancelling the task cancels the request.
    ///
    /// - Throws: the response's error, if it has one.
    @discardableResult @_alwaysEmitIntoClient public func patch(
        _ command: String = "", args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) async throws(APIError) -> APIResponse {
        try await send(
            command, args: args + [.method("PATCH")], uploadProgress: uploadProgress, downloadProgress: downloadProgress
        )
    }

    /// Sends a DELETE request and awaits its response. Cancelling the task cancels the request.
    ///
    /// - Throws: the response's error, if it has one.
    @discardableResult @_alwaysEmitIntoClient public func delete(
        _ command: String = "", args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) async throws(APIError) -> APIResponse {
        try await send(
            command, args: args + [.method("DELETE")], uploadProgress: uploadProgress,
            downloadProgress: downloadProgress)
    }

    /// Sends a GET request and awaits its JSON as a type of the program; see ``send(_:args:as:at:options:)``.
    @_alwaysEmitIntoClient public func get<Value: Decodable & Sendable>(
        _ command: String = "", args: [APIArg] = [], as type: Value.Type, at path: String = "",
        options: DecodingOptions = DecodingOptions()
    ) async throws(APIError) -> Value {
        try await send(command, args: args + [.method("GET")], as: type, at: path, options: options)
    }

    /// Sends a POST request and awaits its JSON as a type of the program; see ``send(_:args:as:at:options:)``.
    @_alwaysEmitIntoClient public func post<Value: Decodable & Sendable>(
        _ command: String = "", args: [APIArg] = [], as type: Value.Type, at path: String = "",
        options: DecodingOptions = DecodingOptions()
    ) async throws(APIError) -> Value {
        try await send(command, args: args + [.method("POST")], as: type, at: path, options: options)
    }

    /// Sends a PUT request and awaits its JSON as a type of the program; see ``send(_:args:as:at:options:)``.
    @_alwaysEmitIntoClient public func put<Value: Decodable & Sendable>(
        _ command: String = "", args: [APIArg] = [], as type: Value.Type, at path: String = "",
        options: DecodingOptions = DecodingOptions()
    ) async throws(APIError) -> Value {
        try await send(command, args: args + [.method("PUT")], as: type, at: path, options: options)
    }

    /// Sends a PATCH request and awaits its JSON as a type of the program; see ``send(_:args:as:at:options:)``.
    @_alwaysEmitIntoClient public func patch<Value: Decodable & Sendable>(
        _ command: String = "", args: [APIArg] = [], as type: Value.Type, at path: String = "",
        options: DecodingOptions = DecodingOptions()
    ) async throws(APIError) -> Value {
        try await send(command, args: args + [.method("PATCH")], as: type, at: path, options: options)
    }

    /// Sends a DELETE request and awaits its JSON as a type of the program; see ``send(_:args:as:at:options:)``.
    @_alwaysEmitIntoClient public func delete<Value: Decodable & Sendable>(
        _ command: String = "", args: [APIArg] = [], as type: Value.Type, at path: String = "",
        options: DecodingOptions = DecodingOptions()
    ) async throws(APIError) -> Value {
        try await send(command, args: args + [.method("DELETE")], as: type, at: path, options: options)
    }
}
