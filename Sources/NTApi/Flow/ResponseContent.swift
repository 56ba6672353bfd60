/// What a small, successful answer contains.
struct PlainAnswer: Sendable {
    let json: JSON?
}

/// The content of a response, without the request (which refers to this).
struct ResponseContent: Sendable {
    var status = 0
    var headers = HTTPHeaders()
    @Boxed var trailers: HTTPHeaders?
    var body = Bytes.empty
    var json: JSON?
    var prefixText: String?
    /// The file that the body was written to.
    var file: String?
    /// The same, but removed with the response.
    var temporaryFile: TemporaryFile?
    @Boxed var resumeData: ResumeData?
    /// The unfinished temporary file of the resume data: removed with the response unless the program has taken the
    /// resume data.
    var unfinishedFile: TemporaryFile?
    @Boxed var error: APIError?
    /// Whether a handler may have seen it already, in a process that has ended.
    var wasDeliveredBefore = false
    var url = ""
    var startTime: Double
    var endTime: Double
    var elapsed: Double
    var metrics = ResponseMetrics()
    /// The completed exchanges, without the last one if that can be derived from the other fields.
    var transactions: [TransactionMetrics]
    var lacksLastTransaction = false

    /// Shares the final content, which no longer changes.
    final class Box: Sendable {
        // Protected by: nobody else has it while `init` writes.
        @exclusivity(unchecked) nonisolated(unsafe) private(set) var content: ResponseContent
        /// Whether a hook is deciding what the error is. Then even the JSON of an error may be decoded.
        let isJudged: Bool

        init(_ content: ResponseContent, isJudged: Bool = false) {
            self.content = content
            self.isJudged = isJudged
        }

    }

    /// - Parameter error: the error of a request that got no answer.
    init(_ history: RequestHistory, error: APIError? = nil, _ now: MonotonicTime) {
        self.error = error
        startTime = history.startTime
        elapsed = now.seconds(since: history.started)
        endTime = startTime + elapsed
        url = history.current?.url ?? ""
        transactions = history.transactions
        lacksLastTransaction = history.lacksLast
        metrics.queued = history.queued
        metrics.redirects = history.redirects
        metrics.retries = history.retries
    }

    /// For a request of which nothing is known here.
    init(neverSent error: APIError, _ now: MonotonicTime) { self.init(RequestHistory(), error: error, now) }

    /// Sets the times to now.
    mutating func setTimes(_ history: RequestHistory, _ now: MonotonicTime) {
        elapsed = now.seconds(since: history.started)
        endTime = startTime + elapsed
        metrics.queued = history.queued
        metrics.retries = history.retries
    }

    /// Takes the result of the last exchange.
    @inline(__always) mutating func take(_ result: ExchangeResult) {
        status = result.head?.status ?? 0
        headers = result.head?.headers ?? HTTPHeaders()
        if let sent = result.trailers { trailers = sent }
        metrics.httpVersion = result.head?.httpVersion ?? 0
        body = result.body
        metrics.add(result.metrics)
    }
}
