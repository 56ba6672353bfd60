/// Where a program wants the body of a response to go.
enum DownloadPlace: Sendable {
    case file(String)
    /// A file that is removed with the response.
    case temporary
}

/// The file that the body of a response becomes: a new one, or one to continue.
struct DownloadTarget: Sendable {
    /// An absolute path.
    var destination: String
    /// Whether the file is removed with the response.
    var isTemporary = false
    var resumeData: ResumeData?
    /// An absolute path, where a background session has recorded it; nil makes one beside the destination.
    var temporaryFile: String?
}

extension DownloadTarget {
    /// - Parameters:
    ///   - place: nil is that of the resume data.
    ///   - resumeData: what is gone on from.
    init(_ place: DownloadPlace?, _ resumeData: ResumeData? = nil) throws(APIError) {
        switch place {
        case .file(let path): self.init(destination: try DownloadFile.check(path))
        case nil where resumeData?.isTemporary == false:
            self.init(destination: try DownloadFile.check(resumeData?.destination ?? ""))
        case nil, .temporary:
            let known = resumeData.flatMap { $0.isTemporary ? $0.destination : nil }
            let path = known ?? TemporaryFile.newPath()
            self.init(destination: try DownloadFile.check(path), isTemporary: true)
        }
        self.resumeData = resumeData
    }
}

/// The download of a request, over all its exchanges. A value of the request's, under its lock.
struct Download: Sendable {
    let destination: String
    let isTemporary: Bool
    /// Whether the program has the resume data.
    var isTaken: Bool
    /// What it goes on from; nil when it begins, or begins anew.
    private(set) var resumeData: ResumeData?
    /// Where a background session has recorded it: the file is then on the disk, too, before it gets its name.
    private let temporaryFile: String?
    /// How many bytes of the temporary file are gone on from: what was asked for.
    private(set) var offset: Int64 = 0
    /// Of the response whose body is being received.
    private(set) var head: ResponseHead?
    private(set) var file: DownloadFile?
    /// How long the file is at the end of this exchange, and in all.
    private var end: Int64?
    private var total: Int64?
    /// The answer was that nothing is missing.
    private(set) var isComplete = false
    /// Why what is there is of no use.
    private(set) var startsOver: String?

    init(_ target: DownloadTarget) {
        destination = target.destination
        isTemporary = target.isTemporary
        isTaken = target.resumeData != nil
        resumeData = target.resumeData
        temporaryFile = target.temporaryFile
    }

    /// The request as it is sent: with the range that is missing, if there are bytes to go on from.
    mutating func begin(_ http: HTTPRequest) -> HTTPRequest {
        guard let resumeData else { return http }
        offset = ResumeDecision.offset(of: resumeData, fileSize: DownloadFile.size(of: resumeData.temporaryFile))
        var http = http
        for (name, value) in ResumeDecision.headers(for: resumeData, offset: offset) { http.headers.set(name, value) }
        return http
    }

    /// Where the body goes: on the transport's thread.
    mutating func route(_ head: ResponseHead) throws(APIError) -> BodyRoute {
        self.head = head
        guard let resumeData, offset > 0 else {
            // Where the temporary file is gone there may be a new one of its name.
            let new: DownloadFile
            if let resumeData {
                new = try open(resumeData.temporaryFile, at: 0)
            } else if let temporaryFile {
                new = try open(temporaryFile, at: 0)
            } else {
                new = try DownloadFile(for: destination, isPrivate: isTemporary)
            }
            file = new
            return .sink(new)
        }
        switch ResumeDecision.decide(resumeData, offset: offset, head) {
        case .append(let end, let total):
            self.end = end
            self.total = total
            file = try open(resumeData.temporaryFile, at: offset)
        case .replace:
            offset = 0
            file = try open(resumeData.temporaryFile, at: 0)
        case .startOver(let reason):
            startsOver = reason
            throw DownloadFile.error(destination, "starts over: \(reason)")
        case .complete:
            isComplete = true
            return .memory
        case .fail: return .memory
        }
        return file.map { .sink($0) } ?? .memory
    }

    private func open(_ file: String, at offset: Int64) throws(APIError) -> DownloadFile {
        try DownloadFile(for: destination, continuing: file, at: offset, isPrivate: isTemporary)
    }

    private mutating func restart(_ resumeData: ResumeData?) {
        let isTaken = isTaken
        self = Download(
            DownloadTarget(
                destination: destination, isTemporary: isTemporary, resumeData: resumeData, temporaryFile: temporaryFile
            ))
        self.isTaken = isTaken
    }

    /// Whether the body of such a response is received as the file's, or tells that nothing is missing.
    func concerns(_ status: Int) -> Bool { status < 300 || (status == 416 && offset > 0) }

    /// Whether something is to be sent next, when an exchange has ended and the file is not whole.
    func hasNext(after error: APIError?) -> Bool {
        if startsOver != nil { return true }
        guard error == nil, file != nil, let end, let total, resumeData != nil else { return false }
        return end < total
    }

    /// Goes on with what is there, or starts over.
    ///
    /// - Returns: what is sent next, as it was given; nil when nothing is.
    mutating func next(_ http: HTTPRequest) -> HTTPRequest? {
        if startsOver != nil {
            var http = http
            http.headers.remove("Range")
            http.headers.remove("If-Range")
            if let resumeData {
                // Not locked by anybody else: this request had it open, or nobody has.
                try? DownloadFile(for: destination, continuing: resumeData.temporaryFile, at: 0).discard()
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

    /// The request as it is sent once more: for the rest, if what is there can be gone on from, and else for all.
    mutating func again(_ http: HTTPRequest, _ history: RequestHistory) -> HTTPRequest {
        let known = resumeData(http, history)
        if known == nil { file?.discard() } else { file?.keep() }
        restart(known)
        return begin(http)
    }

    /// The file is whole: it gets its name.
    func finish() throws(APIError) {
        if isComplete, let resumeData {
            let whole = try DownloadFile(for: destination, continuing: resumeData.temporaryFile, at: offset)
            return try whole.finish(expected: offset, isDurable: temporaryFile != nil)
        }
        try file?.finish(expected: end ?? announcedSize, isDurable: temporaryFile != nil)
    }

    // With a content encoding the length is that of the encoded bytes, which libcurl has checked.
    private var announcedSize: Int64? {
        guard let head, head.hasIdentityEncoding, case .bytes(let count) = head.announcedLength else { return nil }
        return count
    }

    /// Whether the bytes that are there are of the file that such a response is of.
    func keepsBytes(_ head: ResponseHead) -> Bool {
        guard let resumeData, offset > 0 else { return false }
        switch ResumeDecision.decide(resumeData, offset: offset, head) {
        case .append, .complete, .fail: return true
        case .replace, .startOver: return false
        }
    }

    /// What can be gone on from once bytes come, whatever their number; nil when that could not be trusted.
    func resumeDataAtStart(_ http: HTTPRequest, _ history: RequestHistory) -> ResumeData? {
        guard let file, let head else { return nil }
        let data = try? ResumeData.make(
            history.current ?? http, url: resumeData?.url ?? http.url, head: head, destination: destination,
            temporaryFile: file.temporary, isTemporary: isTemporary, received: 0,
            previous: head.status == 200 ? resumeData : nil, startTime: resumeData?.startTime ?? history.startTime)
        return data.flatMap { try? $0.withAllBytes() }
    }

    /// What a later request can go on from; nil when there is nothing, or it could not be trusted.
    func resumeData(_ http: HTTPRequest, _ history: RequestHistory) -> ResumeData? {
        guard let file, let head else { return resumeData }
        // Another thread may be writing just now, so the file itself says how long it is.
        let size = DownloadFile.size(of: file.temporary)
        guard size > 0 else { return nil }
        return try? ResumeData.make(
            history.current ?? http, url: resumeData?.url ?? http.url, head: head, destination: destination,
            temporaryFile: file.temporary, isTemporary: isTemporary, received: size,
            previous: offset > 0 ? resumeData : nil, startTime: resumeData?.startTime ?? history.startTime)
    }
}

extension ResumeData {
    /// Removes the temporary file: nobody will go on with the download.
    public func discard() {
        // One that is being written is not taken away from under its writer.
        try? DownloadFile(for: destination, continuing: temporaryFile, at: 0).discard()
    }
}
