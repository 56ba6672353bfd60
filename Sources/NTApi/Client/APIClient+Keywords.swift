// Keywords of other libraries. A call with them does not compile, and the compiler says what to write.
extension APIClient {
    /// Use the arg ``APIArg/query(_:_:)``.
    @available(*, unavailable, message: "write args: [.query(\"q\", \"London\")]")
    @_alwaysEmitIntoClient public func send(
        _ command: String = "", parameters: [String: any Sendable], headers: [String: String] = [:]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }

    /// Use the arg ``APIArg/header(_:_:)``.
    @available(*, unavailable, message: "write args: [.header(\"X-Trace\", \"7\")]")
    @_alwaysEmitIntoClient public func send(
        _ command: String = "", headers: [String: String]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }

    /// Use the arg ``APIArg/query(_:_:)``.
    @available(*, unavailable, message: "write args: [.query(\"q\", \"London\")]")
    @_alwaysEmitIntoClient public func get(
        _ command: String = "", parameters: [String: any Sendable], headers: [String: String] = [:]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }

    /// Use the arg ``APIArg/header(_:_:)``.
    @available(*, unavailable, message: "write args: [.header(\"X-Trace\", \"7\")]")
    @_alwaysEmitIntoClient public func get(
        _ command: String = "", headers: [String: String]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }

    /// Use the arg ``APIArg/json(_:)`` or ``APIArg/form(_:_:)``.
    @available(
        *, unavailable, message: "write args: [.json([\"city\": \"Bern\"])] or args: [.form(\"city\", \"Bern\")]"
    )
    @_alwaysEmitIntoClient public func post(
        _ command: String = "", parameters: [String: any Sendable], headers: [String: String] = [:]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }

    /// Use the arg ``APIArg/header(_:_:)``.
    @available(*, unavailable, message: "write args: [.header(\"X-Trace\", \"7\")]")
    @_alwaysEmitIntoClient public func post(
        _ command: String = "", headers: [String: String]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }

    /// Use the arg ``APIArg/json(_:)`` or ``APIArg/form(_:_:)``.
    @available(
        *, unavailable, message: "write args: [.json([\"city\": \"Bern\"])] or args: [.form(\"city\", \"Bern\")]"
    )
    @_alwaysEmitIntoClient public func put(
        _ command: String = "", parameters: [String: any Sendable], headers: [String: String] = [:]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }

    /// Use the arg ``APIArg/header(_:_:)``.
    @available(*, unavailable, message: "write args: [.header(\"X-Trace\", \"7\")]")
    @_alwaysEmitIntoClient public func put(
        _ command: String = "", headers: [String: String]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }

    /// Use the arg ``APIArg/json(_:)`` or ``APIArg/form(_:_:)``.
    @available(
        *, unavailable, message: "write args: [.json([\"city\": \"Bern\"])] or args: [.form(\"city\", \"Bern\")]"
    )
    @_alwaysEmitIntoClient public func patch(
        _ command: String = "", parameters: [String: any Sendable], headers: [String: String] = [:]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }

    /// Use the arg ``APIArg/header(_:_:)``.
    @available(*, unavailable, message: "write args: [.header(\"X-Trace\", \"7\")]")
    @_alwaysEmitIntoClient public func patch(
        _ command: String = "", headers: [String: String]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }

    /// Use the arg ``APIArg/query(_:_:)``.
    @available(*, unavailable, message: "write args: [.query(\"q\", \"London\")]")
    @_alwaysEmitIntoClient public func delete(
        _ command: String = "", parameters: [String: any Sendable], headers: [String: String] = [:]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }

    /// Use the arg ``APIArg/header(_:_:)``.
    @available(*, unavailable, message: "write args: [.header(\"X-Trace\", \"7\")]")
    @_alwaysEmitIntoClient public func delete(
        _ command: String = "", headers: [String: String]
    ) async throws(APIError) -> APIResponse { throw APIError(domain: .request, code: .invalidRequest) }
}
