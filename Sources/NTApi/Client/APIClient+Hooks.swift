extension APIClient {
    /// Functions that a client calls for each of its requests: see the methods of the same names, which a subclass can
    /// override instead.
    ///
    ///     let client = APIClient(
    ///         baseURL: "https://api.example", hooks: .init(completed: { _, response in print(response.status) }))
    public struct Hooks: Sendable {
        /// Adjusts the args of a request before they are applied: ``APIClient/buildArgs(_:_:)``.
        public var buildArgs: (@Sendable (_ command: String, _ args: inout [APIArg]) -> Void)?
        /// Adjusts the built request: ``APIClient/buildRequest(_:options:)``.
        public var buildRequest: (@Sendable (_ request: inout HTTPRequest, _ options: APIOptions) -> Void)?
        /// A request starts: ``APIClient/requestStarted(_:)``.
        public var started: (@Sendable (APIRequest) -> Void)?
        /// An interim answer has arrived: ``APIClient/informationReceived(_:status:headers:)``.
        public var information: (@Sendable (APIRequest, _ status: Int, HTTPHeaders) -> Void)?
        /// Part of a request's body was sent: ``APIClient/uploadProgressed(_:_:)``.
        public var uploadProgressed: (@Sendable (APIRequest, TransferProgress) -> Void)?
        /// Part of a response's body was received: ``APIClient/downloadProgressed(_:_:)``.
        public var downloadProgressed: (@Sendable (APIRequest, TransferProgress) -> Void)?
        /// A piece of a body has arrived: ``APIClient/dataReceived(_:_:)``.
        public var dataReceived: (@Sendable (APIRequest, ResponseData) -> Void)?
        /// Parses a body as JSON: ``APIClient/parseJSON(_:)``.
        public var parseJSON: (@Sendable (ResponseData) throws -> ParsedJSON?)?
        /// Turns the service's own error fields into an error: ``APIClient/mapServiceError(_:)``.
        public var mapServiceError: (@Sendable (APIResponse) -> APIError?)?
        /// May replace an error that ends a request: ``APIClient/mapError(_:_:)``.
        public var mapError: (@Sendable (APIError, APIResponse) -> APIError)?
        /// The metrics of a request's exchanges: ``APIClient/metricsCollected(_:_:)``.
        public var metricsCollected: (@Sendable (APIRequest, RequestMetrics) -> Void)?
        /// A request has its response: ``APIClient/requestCompleted(_:_:)``.
        public var completed: (@Sendable (APIRequest, APIResponse) -> Void)?
        /// Receives the client's log lines: ``APIClient/writeLog(_:_:)``.
        public var writeLog: (@Sendable (LogLevel, String) -> Void)?
        /// The last handler of a closed client has returned: ``APIClient/sessionInvalidated()``.
        public var sessionInvalidated: (@Sendable () -> Void)?
        /// Decides what a request does next: ``APIClient/decide(_:)``.
        public var decide: (@Sendable (RequestDecision) -> Void)?
        /// The decisions that `decide` makes, all by default: ``APIClient/decisionKinds``.
        public var decisions: RequestDecision.Kinds

        /// - Parameters: the functions; a client does without those that are nil.
        public init(
            buildArgs: (@Sendable (_ command: String, _ args: inout [APIArg]) -> Void)? = nil,
            buildRequest: (@Sendable (_ request: inout HTTPRequest, _ options: APIOptions) -> Void)? = nil,
            started: (@Sendable (APIRequest) -> Void)? = nil,
            information: (@Sendable (APIRequest, _ status: Int, HTTPHeaders) -> Void)? = nil,
            uploadProgressed: (@Sendable (APIRequest, TransferProgress) -> Void)? = nil,
            downloadProgressed: (@Sendable (APIRequest, TransferProgress) -> Void)? = nil,
            dataReceived: (@Sendable (APIRequest, ResponseData) -> Void)? = nil,
            parseJSON: (@Sendable (ResponseData) throws -> ParsedJSON?)? = nil,
            mapServiceError: (@Sendable (APIResponse) -> APIError?)? = nil,
            mapError: (@Sendable (APIError, APIResponse) -> APIError)? = nil,
            metricsCollected: (@Sendable (APIRequest, RequestMetrics) -> Void)? = nil,
            completed: (@Sendable (APIRequest, APIResponse) -> Void)? = nil,
            writeLog: (@Sendable (LogLevel, String) -> Void)? = nil,
            sessionInvalidated: (@Sendable () -> Void)? = nil,
            decide: (@Sendable (RequestDecision) -> Void)? = nil,
            decisions: RequestDecision.Kinds = .all
        ) {
            self.buildArgs = buildArgs
            self.buildRequest = buildRequest
            self.started = started
            self.information = information
            self.uploadProgressed = uploadProgressed
            self.downloadProgressed = downloadProgressed
            self.dataReceived = dataReceived
            self.parseJSON = parseJSON
            self.mapServiceError = mapServiceError
            self.mapError = mapError
            self.metricsCollected = metricsCollected
            self.completed = completed
            self.writeLog = writeLog
            self.sessionInvalidated = sessionInvalidated
            self.decide = decide
            self.decisions = decisions
        }

        /// Those that are set.
        var kinds: HookKinds {
            var kinds: HookKinds = []
            if buildArgs != nil || buildRequest != nil { kinds.insert(.building) }
            if started != nil { kinds.insert(.requestStarted) }
            if information != nil { kinds.insert(.informationReceived) }
            if uploadProgressed != nil { kinds.insert(.uploadProgressed) }
            if downloadProgressed != nil { kinds.insert(.downloadProgressed) }
            if dataReceived != nil { kinds.insert(.dataReceived) }
            if parseJSON != nil { kinds.insert(.parseJSON) }
            if mapServiceError != nil { kinds.insert(.mapServiceError) }
            if mapError != nil { kinds.insert(.mapError) }
            if metricsCollected != nil { kinds.insert(.metricsCollected) }
            if completed != nil { kinds.insert(.requestCompleted) }
            if writeLog != nil { kinds.insert(.writeLog) }
            if sessionInvalidated != nil { kinds.insert(.sessionInvalidated) }
            return kinds
        }
    }

    /// The hooks that a client has. A hook that it does not have costs nothing.
    package struct HookKinds: OptionSet, Hashable, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let building = HookKinds(rawValue: 1)
        package static let requestStarted = HookKinds(rawValue: 2)
        package static let requestCompleted = HookKinds(rawValue: 4)
        package static let parseJSON = HookKinds(rawValue: 8)
        package static let mapServiceError = HookKinds(rawValue: 16)
        package static let writeLog = HookKinds(rawValue: 32)
        package static let metricsCollected = HookKinds(rawValue: 64)
        package static let sessionInvalidated = HookKinds(rawValue: 128)
        package static let informationReceived = HookKinds(rawValue: 256)
        package static let mapError = HookKinds(rawValue: 512)
        package static let uploadProgressed = HookKinds(rawValue: 1024)
        package static let downloadProgressed = HookKinds(rawValue: 2048)
        package static let dataReceived = HookKinds(rawValue: 4096)
        static let ofTransfers: HookKinds = [.uploadProgressed, .downloadProgressed, .dataReceived]
        static let ofResponses: HookKinds = [.requestCompleted, .parseJSON, .mapServiceError, .metricsCollected]
        static let all = HookKinds(rawValue: 8191)
    }
}

extension APIRequest {
    /// The hooks of the client that this request calls.
    var hookKinds: APIClient.HookKinds {
        let kinds = client.hookKinds
        return kinds.isEmpty || !isRevalidation ? kinds : []
    }

    /// The decisions that the client makes for this request.
    var clientDecisionKinds: RequestDecision.Kinds {
        let kinds = client.decisionKinds
        return kinds.isEmpty || !isRevalidation ? kinds : []
    }
}
