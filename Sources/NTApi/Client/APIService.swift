/// One call of a web service: its path, its parameters and its answer. The caller sees no JSON.
///
///     struct FindCities: APIService {
///         typealias Response = [City]
///         let name: String
///         var count: Int?
///
///         var command: String { "data/2.5/find" }
///         var parameters: [APIArg] { [.url("q", name), .url("cnt", count)] }
///         var responsePath: String { "list" }
///     }
///
///     let cities = try await client.call(FindCities(name: "London"))
///
/// Put what the services of one API share into a protocol that refines this one.
public protocol APIService<Response>: Sendable {
    /// What a call returns. A `Decodable` type is decoded from the JSON. ``NoContent`` accepts any answer without an
    /// error. Any other type needs ``makeResponse(_:)``.
    associatedtype Response: Sendable

    /// The path below the client's base URL; may contain `{name}` for path args.
    var command: String { get }

    /// The method; nil, the default, lets the args decide.
    var method: String? { get }

    /// The args that all services of one API share, before those of the call; none by default.
    ///
    /// For the protocol that those services refine: `extension ShopService { var baseParameters: [APIArg] {
    /// [.url("key", key)] } }`.
    var baseParameters: [APIArg] { get }

    /// The args of the call; none by default. A nil value suppresses its arg.
    var parameters: [APIArg] { get }

    /// Where the response is in the JSON, such as `list` or `result.items[0]`; the whole JSON by default.
    var responsePath: String { get }

    /// How the service writes keys, dates and numbers.
    var decoding: DecodingOptions { get }

    /// What the `HTTP error` of a status is to the program; none by default. Statuses that are not listed are looked up in
    /// ``APIClient/statusErrors``.
    var statusErrors: [Int: StatusError] { get }

    /// Adjusts the built request, before the client's `buildRequest`. Runs on the thread that begins the call.
    func configure(_ request: inout HTTPRequest)

    /// Turns the service's own error fields into an error. Called for every response that has JSON, after the client's
    /// hook of this name. Runs on a background worker; for `performCall` on the calling thread.
    ///
    /// - Returns: nil when the service reports no error. An error of the response, also one of the client's hook, then
    ///   stays.
    func mapServiceError(_ response: APIResponse) -> APIError?

    /// Sees and may replace every error of the call. Runs after the client's hook of this name, on the same thread.
    ///
    /// - Parameters:
    ///   - error: the error of the network, of a cancel, of the service, or thrown by `makeResponse`.
    ///   - response: the response as far as it arrived.
    /// - Returns: another error; nil, as by default, keeps this one.
    func mapError(_ error: APIError, _ response: APIResponse) -> APIError?

    /// The same with an error in every case. A service has either of the two.
    func mapError(_ error: APIError, _ response: APIResponse) -> APIError

    /// Makes the response object. Runs on the thread of `mapServiceError`, only for responses without an error.
    ///
    /// - Throws: an `APIError`, which becomes the call's, or any error, which becomes `generic`.
    func makeResponse(_ response: APIResponse) throws -> Response
}

extension APIService {
    public var method: String? { nil }
    public var baseParameters: [APIArg] { [] }
    public var parameters: [APIArg] { [] }
    public var responsePath: String { "" }
    public var decoding: DecodingOptions { DecodingOptions() }
    public var statusErrors: [Int: StatusError] { [:] }
    public func configure(_ request: inout HTTPRequest) {}
    public func mapServiceError(_ response: APIResponse) -> APIError? { nil }
    public func mapError(_ error: APIError, _ response: APIResponse) -> APIError? {
        let mapped: APIError = mapError(error, response)
        return mapped
    }
    public func mapError(_ error: APIError, _ response: APIResponse) -> APIError { error }
}

extension APIService where Response: Decodable {
    public func makeResponse(_ response: APIResponse) throws -> Response {
        if let nothing = NoContent() as? Response { return nothing }
        return try response.decode(Response.self, at: responsePath, options: decoding)
    }
}

/// The response of a service whose content does not matter: any answer without an error, JSON or not.
public struct NoContent: Decodable, Sendable {
    /// Nothing.
    public init() {}

    public init(from decoder: any Decoder) {}
}

extension APIClient {
    /// Receives the result of a service call.
    public typealias CallHandler<Value: Sendable> = @Sendable (Result<Value, APIError>) -> Void

    /// Calls a service and awaits its response. Cancelling the task cancels the request.
    ///
    /// Progress handlers run on a background worker unless an arg says otherwise.
    ///
    /// - Parameters:
    ///   - args: applied after the service's own, such as a timeout for this call.
    /// - Throws: the error of the network, HTTP, JSON or the service; see its domain.
    public func call<Service: APIService>(
        _ service: Service, args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) async throws(APIError) -> Service.Response {
        let handlers = APIRequest.Handlers(uploadProgress: uploadProgress, downloadProgress: downloadProgress)
        let (request, call) = request(for: service, args: args, by: .whoAwaits, handlers)
        return try call.result(of: await response(of: request)).get()
    }

    /// Begins a call of a service.
    ///
    /// - Parameters:
    ///   - args: applied after the service's own, such as `.responseThread(.background)`.
    ///   - handler: receives the response or the error, exactly once, never inside this call, on the main thread unless
    ///     `.responseThread` says otherwise; may be nil.
    ///   - uploadProgress: runs on the main thread unless an arg says otherwise, and so does `downloadProgress`.
    /// - Returns: the request, which can be cancelled.
    @discardableResult public func beginCall<Service: APIService>(
        _ service: Service, args: [APIArg] = [], handler: CallHandler<Service.Response>? = nil,
        uploadProgress: APIRequest.ProgressHandler? = nil, downloadProgress: APIRequest.ProgressHandler? = nil
    ) -> APIRequest {
        let handlers = APIRequest.Handlers(uploadProgress: uploadProgress, downloadProgress: downloadProgress)
        let (request, call) = request(for: service, args: args, by: .whoGoesOn, handlers)
        if let handler { request.setHandler { handler(call.result(of: $0)) } }
        request.resume()
        return request
    }

    /// Performs a call of a service and waits for its response. Meanwhile it runs the calling thread's mailbox. In
    /// `async` code, which must not block its thread, use `call`.
    ///
    /// Progress handlers run on the calling thread unless an arg says otherwise.
    ///
    /// - Throws: the error of the network, HTTP, JSON or the service; see its domain.
    @available(*, noasync, message: "performCall blocks the thread: use await client.call(…)")
    public func performCall<Service: APIService>(
        _ service: Service, args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) throws(APIError) -> Service.Response {
        let isHeard = uploadProgress != nil || downloadProgress != nil
        let handlers = APIRequest.Handlers(uploadProgress: uploadProgress, downloadProgress: downloadProgress)
        let (request, call) = request(for: service, args: args, by: performer(isHeard), handlers)
        return try call.result(of: request.perform()).get()
    }

    private func request<Service: APIService>(
        for service: Service, args: [APIArg], by caller: HandlerThreads.Caller, _ handlers: APIRequest.Handlers
    ) -> (APIRequest, ServiceCall<Service>) {
        let call = ServiceCall(service)
        var handlers = handlers
        handlers.interpreter = call
        let own = [.method(service.method)] + service.baseParameters + service.parameters
        let request = request(service.command, args: own + args, for: caller, handlers, configure: service.configure)
        return (request, call)
    }
}

/// The result of a service call. It is made when the response is classified, and taken when the response is delivered.
private final class ServiceCall<Service: APIService>: ResponseInterpreter {
    private let service: Service
    private let value = Lock<Service.Response?>(nil)

    init(_ service: Service) { self.service = service }

    func error(of status: Int) -> StatusError? { service.statusErrors[status] }

    func interpret(_ response: APIResponse) -> APIError? {
        if response.json != nil, let error = service.mapServiceError(response) { return error }
        if let error = response.error { return error }
        do {
            let made = try service.makeResponse(response)
            value.withLock { $0 = made }
            return nil
        } catch {
            return error as? APIError
                ?? APIError(code: .generic, message: "\(Service.self) can make nothing of the response: \(error)")
        }
    }

    func mapError(_ error: APIError, _ response: APIResponse) -> APIError {
        let mapped: APIError? = service.mapError(error, response)
        return mapped ?? error
    }

    func result(of response: APIResponse) -> Result<Service.Response, APIError> {
        if let error = response.error { return .failure(error) }
        guard let value = value.withLock({ $0 }) else { return .failure(APIError(code: .generic)) }
        return .success(value)
    }
}
