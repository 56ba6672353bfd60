/// What a response holds, without the request it answers (which holds it).
struct ResponseContent: Sendable {
    var status = 0
    var headers = HTTPHeaders()
    var body = Bytes.empty
    var json: JSON?
    var prefixText: String?
    /// The file that the body was written to.
    var file: String?
    /// The same, of one that is removed with the response.
    var temporaryFile: TemporaryFile?
    @Boxed var resumeData: ResumeData?
    /// What the resume data goes on from, of a temporary file: removed with the response, unless the program has taken that.
    var unfinishedFile: TemporaryFile?
    @Boxed var error: APIError?
    /// Whether a handler may have seen it, in a process that ended meanwhile.
    var wasDeliveredBefore = false
    var url = ""
    var startTime: Double
    var endTime: Double
    var elapsed: Double
    var metrics = ResponseMetrics()
    /// The exchanges, save the last one where it is what the rest of this says.
    var transactions: [TransactionMetrics]
    var lacksLastTransaction = false

    /// Shares what stands and does not change any more.
    final class Box: Sendable {
        // Protected by: nobody else has it while `init` writes.
        @exclusivity(unchecked) nonisolated(unsafe) private(set) var content: ResponseContent
        /// Whether a hook is asked what the error is: there the JSON of one may be decoded.
        let isJudged: Bool

        init(_ content: ResponseContent, isJudged: Bool = false) {
            self.content = content
            self.isJudged = isJudged
        }

        /// Of a plain answer: its one transaction can be derived from the rest.
        init(
            plain history: borrowing RequestHistory, _ result: borrowing ExchangeResult, _ json: JSON?,
            _ now: MonotonicTime
        ) {
            isJudged = false
            // Changed here, and not before: each copy counts all that it refers to.
            content = ResponseContent(copy history, now)
            content.take(copy result)
            content.json = json
            content.lacksLastTransaction = true
        }
    }

    /// - Parameter error: of a request that never got an answer.
    @inline(__always) init(_ history: RequestHistory, error: APIError? = nil, _ now: MonotonicTime) {
        self.error = error
        startTime = history.startTime
        elapsed = now.seconds(since: history.started)
        endTime = startTime + elapsed
        url = history.current?.url ?? ""
        transactions = history.transactions
        metrics.queued = history.queued
        metrics.redirects = history.redirects
        metrics.retries = history.retries
    }

    /// Says what it took until now.
    mutating func setTimes(_ history: RequestHistory, _ now: MonotonicTime) {
        elapsed = now.seconds(since: history.started)
        endTime = startTime + elapsed
        metrics.queued = history.queued
        metrics.retries = history.retries
    }

    /// Takes what the last exchange brought.
    @inline(__always) mutating func take(_ result: ExchangeResult) {
        status = result.head?.status ?? 0
        headers = result.head?.headers ?? HTTPHeaders()
        metrics.httpVersion = result.head?.httpVersion ?? 0
        body = result.body
        metrics.add(result.metrics)
    }
}
