import Synchronization

// How the clients of a recorder with the mode `newEpisodes` are answered from its file.
extension Recorder {
    /// The innermost interceptor of its clients; nil when the file is not asked before a server.
    var interceptor: Interceptor? {
        guard let recording = replayedFirst else { return nil }
        return Interceptor(.attempt, of: self) { RecordedAnswerRun(recording) }
    }
}

/// A passage of a request that a recording answers, if it has the request.
private final class RecordedAnswerRun: InterceptorRun {
    private let recording: Stub
    private let isOver = Atomic<Bool>(false)

    init(_ recording: Stub) { self.recording = recording }

    func intercept(_ interception: Interception) {
        var request = interception.httpRequest
        do throws(APIError) {
            // If a file cannot be read, the transport says why.
            guard let body = try bytes(of: request.body) else {
                interception.proceed()
                return
            }
            // A stream may be readable only once, and comparing has read it.
            if case .stream = request.body { request.body = .bytes(body) }
            switch recording.answer(StubRequest(request, body: body)) {
            case .failure(let error) where error.code == .noStub: interception.proceed(with: request)
            case .failure(let error): throw error
            case .success(let answer):
                if let error = answer.fault?.error(request, Origin(of: request)) { throw error }
                interception.respond(HTTPResponse(answer))
            }
        } catch {
            interception.fail(error)
        }
    }

    func end() { isOver.store(true, ordering: .relaxed) }

    /// The whole body; nil when a file cannot be read. Calls the program's code if the body is a stream.
    private func bytes(of body: HTTPRequest.Body) throws(APIError) -> [UInt8]? {
        switch body {
        case .none: return []
        case .bytes(let bytes): return bytes
        case .multipart(let parts): return try? MultipartText.bytes(parts)
        case .file(let path, let length):
            return ((try? SystemFile.read(path)) ?? nil).map { Array($0.prefix(Int(length))) }
        case .stream(let stream):
            var bytes: [UInt8] = []
            while !isOver.load(ordering: .relaxed) {
                let piece = try StreamSource.piece(of: stream, after: Int64(bytes.count)).get()
                if piece.isEmpty { break }
                bytes += piece
            }
            return bytes
        }
    }
}

extension HTTPResponse {
    fileprivate init(_ answer: StubAnswer) {
        self.init(status: answer.status, headers: answer.headers, body: ResponseData(answer.body))
        if !answer.trailers.isEmpty { trailers = answer.trailers }
        httpVersion = answer.httpVersion
    }
}
