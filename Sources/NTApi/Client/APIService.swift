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
/// What the services of one API have in common goes into a protocol of their own that refines this one.
public protocol APIService<Response>: Sendable {
    /// What a call returns. A `Decodable` type is made of the JSON, ``NoContent`` of any answer without an error, any other
    /// type by ``makeResponse(_:)``.
    associatedtype Response: Sendable

    /// The path below the client's base URL; may contain `{name}` for path args.
    var command: String { get }

    /// The method; nil, the default, leaves it to the args.
    var method: String? { get }

    /// The args that all services of one API have, before those of the call; none unless given.
    ///
    /// For the protocol that those services refine: `extension ShopService { var baseParameters: [APIArg] { [.url("key", key)] } }`.
    var baseParameters: [APIArg] { get }

    /// The args of the call; none unless given. A nil value suppresses its arg.
    var parameters: [APIArg] { get }

    /// Where in the JSON the response is, such as `list` or `result.items[0]`; the whole JSON unless given.
    var responsePath: String { get }

    /// How the service writes keys, dates and numbers.
    var decoding: DecodingOptions { get }

    /// Adjusts the built request, before the client's `buildRequest` does. On the thread that begins the call.
    func configure(_ request: inout HTTPRequest)

    /// Turns the service's own error fields into an error. On a background worker, in `performCall` on its thread, for every
    /// response that has JSON, after the client's hook of this name.
    ///
    /// - Returns: nil when the service reports no error; the response's own, that of the client's hook too, stays then.
    func mapServiceError(_ response: APIResponse) -> APIError?

    /// Sees every error that the call ends with, and may replace it, after the client's hook of this name and where it is called.
    ///
    /// - Parameters:
    ///   - error: what the call ends with: the network's, a cancel, the service's own, what `makeResponse` has thrown.
    ///   - response: what there is of it.
    /// - Returns: the error itself, as it does unless given, or another one.
    func mapError(_ error: APIError, _ response: APIResponse) -> APIError

    /// Makes the response object. Where `mapServiceError` is called, and only for responses without an error.
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
    public func configure(_ request: inout HTTPRequest) {}
    public func mapServiceError(_ response: APIResponse) -> APIError? { nil }
    public func mapError(_ error: APIError, _ response: APIResponse) -> APIError { error }
}

extension APIService where Response: Decodable {
    public func makeResponse(_ response: APIResponse) throws -> Response {
        if let nothing = NoContent() as? Response { return nothing }
        return try response.decode(Response.self, at: responsePath, options: decoding)
    }
}

/// The response of a service that answers nothing of interest: whatever comes without an error, JSON or not.
public struct NoContent: Decodable, Sendable {
    public init() {}

    public init(from decoder: any Decoder) {}
}
