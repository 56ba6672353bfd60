extension APIClient {
    /// Receives what a call of a service came to.
    public typealias CallHandler<Value: Sendable> = @Sendable (Result<Value, APIError>) -> Void

    /// Calls a service and awaits its response. Cancelling the task cancels the request.
    ///
    /// Progress handlers run on a background worker unless an arg says otherwise.
    ///
    /// - Parameters:
    ///   - args: applied after the service's own, such as a timeout for this call.
    /// - Throws: the error of the network, of HTTP, of JSON or of the service: its domain tells which.
    public func call<Service: APIService>(
        _ service: Service, args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) async throws(APIError) -> Service.Response {
        let (request, call) = request(for: service, args: args, by: .whoAwaits)
        request.setUploadProgress(uploadProgress)
        request.setDownloadProgress(downloadProgress)
        return try call.result(of: await response(of: request)).get()
    }

    /// Begins a call of a service.
    ///
    /// - Parameters:
    ///   - args: applied after the service's own, such as `.responseThread(.background)`.
    ///   - handler: receives the response or the error, exactly once, never inside this call, on the main thread unless
    ///     `.responseThread` says otherwise; nil where nobody wants to know.
    ///   - uploadProgress: runs on the main thread unless an arg says otherwise, and so does `downloadProgress`.
    /// - Returns: the request, which can be cancelled.
    @discardableResult public func beginCall<Service: APIService>(
        _ service: Service, args: [APIArg] = [], handler: CallHandler<Service.Response>? = nil,
        uploadProgress: APIRequest.ProgressHandler? = nil, downloadProgress: APIRequest.ProgressHandler? = nil
    ) -> APIRequest {
        let (request, call) = request(for: service, args: args, by: .whoGoesOn)
        request.setUploadProgress(uploadProgress)
        request.setDownloadProgress(downloadProgress)
        if let handler { request.setHandler { handler(call.result(of: $0)) } }
        request.resume()
        return request
    }

    /// Performs a call of a service and waits for its response; runs the calling thread's mailbox meanwhile. Not for `async`
    /// code.
    ///
    /// Progress handlers run on the calling thread unless an arg says otherwise.
    ///
    /// - Throws: the error of the network, of HTTP, of JSON or of the service: its domain tells which.
    public func performCall<Service: APIService>(
        _ service: Service, args: [APIArg] = [], uploadProgress: APIRequest.ProgressHandler? = nil,
        downloadProgress: APIRequest.ProgressHandler? = nil
    ) throws(APIError) -> Service.Response {
        let isHeard = uploadProgress != nil || downloadProgress != nil
        let (request, call) = request(for: service, args: args, by: performer(isHeard))
        request.setUploadProgress(uploadProgress)
        request.setDownloadProgress(downloadProgress)
        return try call.result(of: request.perform()).get()
    }

    private func request<Service: APIService>(
        for service: Service, args: [APIArg], by caller: HandlerThreads.Caller
    ) -> (APIRequest, ServiceCall<Service>) {
        let call = ServiceCall(service)
        let own = [.method(service.method)] + service.baseParameters + service.parameters
        let request = request(service.command, args: own + args, for: caller, configure: service.configure)
        request.setInterpreter(call)
        return (request, call)
    }
}

/// What a response means to a service: made where the response is classified, and taken where it is delivered.
private final class ServiceCall<Service: APIService>: ResponseInterpreter {
    private let service: Service
    private let value = Lock<Service.Response?>(nil)

    init(_ service: Service) { self.service = service }

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

    func mapError(_ error: APIError, _ response: APIResponse) -> APIError { service.mapError(error, response) }

    func result(of response: APIResponse) -> Result<Service.Response, APIError> {
        if let error = response.error { return .failure(error) }
        guard let value = value.withLock({ $0 }) else { return .failure(APIError(code: .generic)) }
        return .success(value)
    }
}
