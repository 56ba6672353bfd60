/// Where a program wants the body of a response to go.
enum DownloadPlace: Sendable {
    case file(String)
    /// A file that is removed with the response.
    case temporary
}

/// The file for the body of a response: a new one, or one to continue.
struct DownloadTarget: Sendable {
    /// An absolute path.
    var destination: String
    /// Whether the file is removed with the response.
    var isTemporary = false
    var resumeData: ResumeData?
    /// The absolute path that a background session has recorded; nil makes a file beside the destination.
    var temporaryFile: String?
}

extension DownloadTarget {
    /// - Parameters:
    ///   - place: nil is the place in the resume data.
    ///   - resumeData: where to continue.
    init(_ place: DownloadPlace?, _ resumeData: ResumeData? = nil) throws(APIError) {
        switch place {
        case .file(let path): self.init(destination: try DownloadFile.check(path))
        case nil where resumeData?.isTemporary == false:
            self.init(destination: try DownloadFile.check(resumeData?.destination ?? ""))
        case nil, .temporary:
            let known = resumeData.flatMap { $0.isTemporary ? $0.destination : nil }
            let path = known ?? TemporaryName.complete()
            self.init(destination: try DownloadFile.check(path), isTemporary: true)
        }
        self.resumeData = resumeData
    }
}

/// The download of a request over all its exchanges. A value that the request's lock protects.
struct Download: Sendable {
    let destination: String
    let isTemporary: Bool
    /// Where to continue; nil when the download starts from the beginning.
    private(set) var resumeData: ResumeData?
    /// The temporary file that a background session has recorded. The file is then also synced to disk before it is
    /// renamed.
    private let temporaryFile: String?
    /// How many bytes of the temporary file are kept: the start of the range that was asked for.
    private(set) var offset: Int64 = 0
    /// The head of the response that is being received.
    private(set) var head: ResponseHead?
    private(set) var file: DownloadFile?
    /// The file's length at the end of this exchange, and in all.
    private var end: Int64?
    private var total: Int64?
    /// Whether the server answered that nothing is missing.
    private(set) var isComplete = false
    /// Why the existing bytes cannot be used.
    private(set) var startsOver: String?

    init(_ target: DownloadTarget) {
        destination = target.destination
        isTemporary = target.isTemporary
        resumeData = target.resumeData
        temporaryFile = target.temporaryFile
    }

    /// Returns the request to send. If there are bytes to continue from, it asks for the missing range.
    mutating func begin(_ http: HTTPRequest) -> HTTPRequest {
        guard let resumeData else { return http }
        offset = ResumeDecision.offset(of: resumeData, fileSize: DownloadFile.size(of: resumeData.temporaryFile))
        var http = http
        for field in ResumeDecision.headers(for: resumeData, offset: offset) {
            http.headers.set(field.name, toReceived: field)
        }
        return http
    }

    /// Opens the file for the body of an answer.
    ///
    /// - Parameter request: the request as it was sent.
    /// - Returns: nil when the body goes into memory.
    mutating func open(for head: ResponseHead, of request: HTTPRequest?) throws(APIError) -> DownloadFile? {
        self.head = head
        guard let resumeData, offset > 0 else {
            if request?.headers["Range"] == nil, let problem = ResumeDecision.unaskedPart(head) {
                throw DownloadFile.error(destination, "is not whole: \(problem)")
            }
            file = try openAtStart()
            return file
        }
        switch ResumeDecision.decide(resumeData, offset: offset, head) {
        case .append(let end, let total):
            if let limit = request?.settings.maximumResponseSize, max(end, total ?? 0) > limit {
                throw APIError(
                    domain: .network, code: .responseTooLarge,
                    message: "the file is larger than the allowed \(limit) bytes")
            }
            self.end = end
            self.total = total
            file = try open(resumeData.temporaryFile, at: offset)
        case .replace:
            offset = 0
            file = try openAtStart()
        case .startOver(let reason):
            startsOver = reason
            throw DownloadFile.error(destination, "starts over: \(reason)")
        case .complete: isComplete = true
        case .fail: break
        }
        return file
    }

    /// Opens a file for all bytes. It is a new one, unless a session has recorded its name: a program may have stored
    /// resume data of the earlier file, and must never find bytes of another version in it.
    private func openAtStart() throws(APIError) -> DownloadFile {
        if let temporaryFile { return try open(temporaryFile, at: 0) }
        if let resumeData { try open(resumeData.temporaryFile, at: 0).discard() }
        return try DownloadFile(for: destination, isPrivate: isTemporary)
    }

    private func open(_ file: String, at offset: Int64) throws(APIError) -> DownloadFile {
        try DownloadFile(for: destination, continuing: file, at: offset, isPrivate: isTemporary)
    }

    private mutating func restart(_ resumeData: ResumeData?) {
        self = Download(
            DownloadTarget(
                destination: destination, isTemporary: isTemporary, resumeData: resumeData, temporaryFile: temporaryFile
            ))
    }

    /// Whether the body of such a response goes to the file, or the response says that nothing is missing.
    func concerns(_ status: Int) -> Bool { status < 300 || (status == 416 && offset > 0) }

    /// Whether another request follows when an exchange ends and the file is incomplete.
    func hasNext(after error: APIError?) -> Bool {
        if startsOver != nil { return true }
        guard error == nil, file != nil, let end, let total, resumeData != nil else { return false }
        return end < total
    }

    /// Continues with the existing bytes, or starts over.
    ///
    /// - Returns: the request to send next, without the range; nil when none follows.
    mutating func next(_ http: HTTPRequest) -> HTTPRequest? {
        if startsOver != nil {
            var http = http
            http.headers.remove("Range")
            http.headers.remove("If-Range")
            if let resumeData {
                // No other download locks the file: this request had it open, or nobody has.
                DownloadFile.removeTemporary(resumeData.temporaryFile, for: destination, resumeData)
            }
            restart(nil)
            return http
        }
        guard let file, let end, let total, file.size == end, let resumeData,
            let further = try? resumeData.advanced(to: end, of: total)
        else { return nil }
        file.keep()
        restart(further)
        return http
    }

    /// Returns the request to send again: for the rest if the existing bytes can be continued, otherwise for all.
    mutating func again(_ http: HTTPRequest, _ history: RequestHistory) -> HTTPRequest {
        let known = resumeData(http, history)
        if known == nil { file?.discard() } else { file?.keep() }
        restart(known)
        return begin(http)
    }

    /// The file is complete: renames it to its destination.
    func finish() throws(APIError) {
        if isComplete, let resumeData {
            let whole = try DownloadFile(for: destination, continuing: resumeData.temporaryFile, at: offset)
            return try whole.finish(expected: offset, isDurable: temporaryFile != nil)
        }
        try file?.finish(expected: end ?? announcedSize, isDurable: temporaryFile != nil)
    }

    // With a content encoding the announced length counts encoded bytes, which libcurl has checked.
    private var announcedSize: Int64? {
        guard let head, head.hasIdentityEncoding, case .bytes(let count) = head.announcedLength else { return nil }
        return count
    }

    /// Whether the existing bytes belong to the file that this response describes.
    func keepsBytes(_ head: ResponseHead) -> Bool {
        guard let resumeData, offset > 0 else { return false }
        switch ResumeDecision.decide(resumeData, offset: offset, head) {
        case .append, .complete, .fail: return true
        case .replace, .startOver: return false
        }
    }

    /// How many bytes of the file this response continues.
    func bytesContinued(by head: ResponseHead) -> Int64 {
        guard let resumeData, offset > 0 else { return 0 }
        guard case .append = ResumeDecision.decide(resumeData, offset: offset, head) else { return 0 }
        return offset
    }

    /// Resume data that holds for any number of received bytes; nil when the server's copy cannot be identified.
    func resumeDataAtStart(_ http: HTTPRequest, _ history: RequestHistory) -> ResumeData? {
        guard let file, let head else { return nil }
        return makeResumeData(http, history, file, head, received: 0).flatMap { try? $0.withAllBytes() }
    }

    /// Resume data for a later request; nil when there is nothing to continue, or the copy cannot be identified.
    func resumeData(_ http: HTTPRequest, _ history: RequestHistory) -> ResumeData? {
        guard let file, let head else { return resumeData }
        // What is not written yet will be. If it is not, the next request goes on from what is there.
        let size = file.expectedSize ?? DownloadFile.size(of: file.temporary)
        guard size > 0 else { return nil }
        return makeResumeData(http, history, file, head, received: size)
    }

    private func makeResumeData(
        _ http: HTTPRequest, _ history: RequestHistory, _ file: DownloadFile, _ head: ResponseHead, received: Int64
    ) -> ResumeData? {
        // A file that is continued is beside the destination of its first request.
        let first = file.temporary == resumeData?.temporaryFile ? resumeData : nil
        return try? ResumeData.make(
            history.current ?? http, url: resumeData?.url ?? http.url, head: head,
            destination: first?.destination ?? destination, temporaryFile: file.temporary,
            isTemporary: first?.isTemporary ?? isTemporary, received: received,
            previous: head.status == 200 || offset > 0 ? resumeData : nil,
            startTime: resumeData?.startTime ?? history.startTime)
    }
}

extension ResumeData {
    /// Removes the temporary file: the download will not be continued.
    public func discard() {
        // A file that is being written is locked and stays.
        DownloadFile.removeTemporary(temporaryFile, for: destination, self)
    }
}
