/// What the `HTTP error` of a status is to the program; see ``APIClient/statusErrors``.
///
///     client.statusErrors = [404: .code(.noSuchCity), 409: .map { error, response in taken(by: response) }]
public enum StatusError: Sendable {
    /// The error gets this code and is otherwise unchanged: its domain stays `http`.
    case code(ErrorCode)
    /// The function gets the error and the response, and makes the error that replaces it. It runs on the thread of
    /// ``APIClient/mapServiceError(_:)``.
    case map(@Sendable (APIError, APIResponse) -> APIError)

    func error(for error: APIError, _ response: APIResponse) -> APIError {
        switch self {
        case .map(let function): return function(error, response)
        case .code(let code):
            var named = error
            named.code = code
            return named
        }
    }
}
