// What people type who come from another library. It works, and the compiler says what to write. Compiled into the
// programs that call it.
extension APIClient {
    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @_alwaysEmitIntoClient public func send(
        _ command: String = "", args: [APIArg] = [], timeout seconds: Double
    ) async throws(APIError) -> APIResponse {
        try await send(command, args: args + [.timeout(seconds)])
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @_alwaysEmitIntoClient public func get(
        _ command: String = "", args: [APIArg] = [], timeout seconds: Double
    ) async throws(APIError) -> APIResponse {
        try await get(command, args: args + [.timeout(seconds)])
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @discardableResult @_alwaysEmitIntoClient public func post(
        _ command: String = "", args: [APIArg] = [], timeout seconds: Double
    ) async throws(APIError) -> APIResponse {
        try await post(command, args: args + [.timeout(seconds)])
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @discardableResult @_alwaysEmitIntoClient public func put(
        _ command: String = "", args: [APIArg] = [], timeout seconds: Double
    ) async throws(APIError) -> APIResponse {
        try await put(command, args: args + [.timeout(seconds)])
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @discardableResult @_alwaysEmitIntoClient public func patch(
        _ command: String = "", args: [APIArg] = [], timeout seconds: Double
    ) async throws(APIError) -> APIResponse {
        try await patch(command, args: args + [.timeout(seconds)])
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @discardableResult @_alwaysEmitIntoClient public func delete(
        _ command: String = "", args: [APIArg] = [], timeout seconds: Double
    ) async throws(APIError) -> APIResponse {
        try await delete(command, args: args + [.timeout(seconds)])
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @_alwaysEmitIntoClient public func response(
        _ command: String = "", args: [APIArg] = [], timeout seconds: Double
    ) async -> APIResponse {
        await response(command, args: args + [.timeout(seconds)])
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @discardableResult @_alwaysEmitIntoClient public func begin(
        _ command: String = "", args: [APIArg] = [], timeout seconds: Double,
        handler: APIRequest.ResponseHandler? = nil
    ) -> APIRequest {
        begin(command, args: args + [.timeout(seconds)], handler: handler)
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @_alwaysEmitIntoClient public func send<Value: Decodable & Sendable>(
        _ command: String = "", args: [APIArg] = [], as type: Value.Type, timeout seconds: Double
    ) async throws(APIError) -> Value {
        try await send(command, args: args + [.timeout(seconds)], as: type)
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @_alwaysEmitIntoClient public func get<Value: Decodable & Sendable>(
        _ command: String = "", args: [APIArg] = [], as type: Value.Type, timeout seconds: Double
    ) async throws(APIError) -> Value {
        try await get(command, args: args + [.timeout(seconds)], as: type)
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @available(*, noasync, message: "perform blocks the thread: use await client.response(…)")
    @_alwaysEmitIntoClient public func perform(
        _ command: String = "", args: [APIArg] = [], timeout seconds: Double
    ) -> APIResponse {
        perform(command, args: args + [.timeout(seconds)])
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @_alwaysEmitIntoClient public func stream(
        _ command: String = "", args: [APIArg] = [], timeout seconds: Double
    ) async throws(APIError) -> ResponseStream {
        try await stream(command, args: args + [.timeout(seconds)])
    }

    /// Use the arg ``APIArg/timeout(_:_:)``.
    @available(*, deprecated, message: "a timeout is an arg: write args: [.timeout(5)]")
    @_alwaysEmitIntoClient public func call<Service: APIService>(
        _ service: Service, args: [APIArg] = [], timeout seconds: Double
    ) async throws(APIError) -> Service.Response {
        try await call(service, args: args + [.timeout(seconds)])
    }
}
