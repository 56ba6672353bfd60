/// The record on disk of one transfer of a background session: enough to make it, and to say how it ended.
struct BackgroundRecord: Sendable, Equatable {
    /// What the transfer does with files. Paths are absolute, because the next process may have another working
    /// directory.
    enum Work: Sendable, Equatable {
        /// - Parameter resume: how to continue with the temporary file; nil while there is nothing to continue.
        case download(destination: String, temporaryFile: String, resume: ResumeData?)
        case upload(file: String)
    }

    enum State: Sendable, Equatable {
        case waiting
        /// On the network, or it was when its process ended.
        case running
        case finished(BackgroundOutcome)
        /// The handler has been called. If the process has ended since, nobody knows whether the handler returned.
        case delivering(BackgroundOutcome)
    }

    /// Never reused in the session, and in the order of creation.
    let identifier: Int64
    /// Higher ones go first; among equals, the older ones.
    var priority = 0.5
    var method: String
    /// An absolute URL with its query.
    var url: String
    /// The headers as they are sent, credentials included. So only the user may read the file.
    var headers = HTTPHeaders()
    var work: Work
    /// The program's own description.
    var description: String?
    /// All other settings of the request.
    var settings: JSON = [:]
    /// Seconds since 1970-01-01 00:00 UTC.
    var created: Double
    private(set) var state = State.waiting

    init(identifier: Int64, method: String, url: String, work: Work, created: Double) {
        self.identifier = identifier
        self.method = method
        self.url = url
        self.work = work
        self.created = created
    }

    init(
        identifier: Int64, priority: Double, method: String, url: String, headers: HTTPHeaders, work: Work,
        description: String?, settings: JSON, created: Double, state: State
    ) {
        self.init(identifier: identifier, method: method, url: url, work: work, created: created)
        self.priority = priority
        self.headers = headers
        self.description = description
        self.settings = settings
        self.state = state
    }

    /// How it ended; nil when it has not.
    var outcome: BackgroundOutcome? {
        switch state {
        case .waiting, .running: nil
        case .finished(let outcome), .delivering(let outcome): outcome
        }
    }

    /// The order in which transfers begin and outcomes are delivered.
    static func isBefore(_ left: BackgroundRecord, _ right: BackgroundRecord) -> Bool {
        (right.priority, left.identifier) < (left.priority, right.identifier)
    }

    // MARK: Steps. Each one is written to disk before it is taken.

    mutating func run() throws(APIError) {
        guard outcome == nil else { throw ended("begin") }
        state = .running
    }

    /// Back to waiting: it was suspended, or there is no network.
    mutating func wait() throws(APIError) {
        guard outcome == nil else { throw ended("wait") }
        state = .waiting
    }

    mutating func finish(_ outcome: BackgroundOutcome) throws(APIError) {
        guard self.outcome == nil else { throw ended("end") }
        state = .finished(outcome)
    }

    /// - Returns: whether the outcome may have been delivered before.
    mutating func deliver() throws(APIError) -> Bool {
        switch state {
        case .waiting, .running:
            throw .invalidRequest("background transfer \(identifier) has no outcome to deliver yet")
        case .delivering: return true
        case .finished(let outcome):
            state = .delivering(outcome)
            return false
        }
    }

    /// The handler was called in a process that could not record that, and perhaps not the outcome either.
    mutating func wasTold() throws(APIError) {
        if outcome == nil { try finish(BackgroundOutcome(error: .outcomeNotKept(identifier))) }
        _ = try deliver()
    }

    private func ended(_ verb: String) -> APIError {
        .invalidRequest("background transfer \(identifier) cannot \(verb): it has ended")
    }
}

extension APIError {
    fileprivate static func outcomeNotKept(_ identifier: Int64) -> APIError {
        APIError(
            domain: .request, code: .generic,
            message:
                "background transfer \(identifier) has ended and its handler was called, but the outcome could not be "
                + "stored and is unknown")
    }
}

/// How a background transfer ended, as its handler sees it.
struct BackgroundOutcome: Sendable, Equatable {
    /// 0 when there was no answer.
    var status = 0
    var headers = HTTPHeaders()
    /// The URL that answered.
    var url = ""
    var error: APIError?
    /// The answer to an upload, or the body of an error. The body of a download is its file.
    var body: [UInt8] = []
    /// Seconds since 1970-01-01 00:00 UTC.
    var ended = 0.0
}
