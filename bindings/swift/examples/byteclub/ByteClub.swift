import NTApi

private let activity = Activity()

extension APIClient {
    /// A session with one of the servers of the storage.
    static func storage(_ url: String, _ token: Token, maximumConnections: Int? = nil) -> APIClient {
        var configuration = SessionConfiguration.ephemeral
        configuration.additionalHeaders = ["Authorization": token.header]
        configuration.requestTimeout = 30
        configuration.retry = .storage
        configuration.maximumConnectionsPerHost = maximumConnections
        let hooks = Hooks(
            started: { _ in activity.begin() }, mapServiceError: storageError, completed: { _, _ in activity.end() })
        let client = APIClient(baseURL: url, configuration: configuration, hooks: hooks)
        client.logFlags = []  // errors are printed by the program
        return client
    }

    /// `{"error": "…"}` says more than the status.
    @Sendable private static func storageError(in response: APIResponse) -> APIError? {
        guard var error = response.error, let text = response.json?["error"]?.string else { return nil }
        error.message = text
        return error
    }
}

/// The notes and photos of a club, in a folder that its members share.
final class ByteClub: Sendable {
    /// The folder of the notes; photos are in a folder below it.
    static let folder = variable("BYTECLUB_FOLDER") ?? "byteclub"

    let api: APIClient
    let content: APIClient
    /// Uploads use one connection, so that other requests have room.
    let uploads: APIClient

    init(_ session: Session) {
        api = .storage(session.url, session.credentials)
        content = .storage(session.content, session.credentials)
        uploads = .storage(session.content, session.credentials, maximumConnections: 1)
    }

    func account() async throws(APIError) -> Account { try await api.call(AccountInfo()) }

    func notes() async throws(APIError) -> [Entry] {
        do {
            return try await api.call(Metadata(path: "/\(Self.folder)")).contents?.filter { !$0.isDir } ?? []
        } catch  where error.httpStatus == 404 {
            return []
        }
    }

    func photos() async throws(APIError) -> [Entry] { try await search(".jpg", in: "/\(Self.folder)/photos") }

    func search(_ words: String) async throws(APIError) -> [Entry] { try await search(words, in: "/\(Self.folder)") }

    func read(_ note: String) async throws(APIError) -> Note {
        try await content.call(ReadNote(path: "/\(Self.folder)/\(note)"))
    }

    /// - Parameter replacing: the version that the writer has read; nil for a new note.
    /// - Returns: what was written. It has another name if there was another note with this name.
    func write(_ note: String, _ text: String, replacing: Entry? = nil) async throws(APIError) -> Entry {
        let body = APIArg.data(Array(text.utf8), contentType: "text/plain; charset=utf-8")
        return try await content.call(
            WriteFile(path: "/\(Self.folder)/\(note)", body: body, parentRev: replacing?.rev))
    }

    func delete(_ path: String) async throws(APIError) {
        _ = try await api.call(Delete(path: "/\(Self.folder)/\(path)"))
    }

    func thumbnail(of photo: Entry, for display: PictureDisplay) async throws(APIError) -> [UInt8] {
        try await content.call(Thumbnail(path: photo.path, size: display.size, kind: display.kind))
    }

    /// Adds a photo, under a name that no other photo has.
    func upload(
        _ file: String, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws(APIError) -> Entry {
        let name = "photo-\(String(UInt32.random(in: 0x1000_0000...UInt32.max), radix: 16)).jpg"
        let service = WriteFile(path: "/\(Self.folder)/photos/\(name)", body: .file(file))
        return try await uploads.call(service, uploadProgress: progress)
    }

    /// - Parameter resuming: the resume data of an earlier response.
    /// - Returns: the response, which has resume data if the download was stopped.
    func download(
        _ photo: String, to file: String, resuming: ResumeData?,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async -> APIResponse {
        let path = "\(Self.folder)/photos/\(photo)"
        return await content.response(
            "1/files/dropbox/{path*}",
            args: resuming.map { [.resume($0)] } ?? [.path("path", path), .download(to: file)],
            downloadProgress: progress)
    }

    /// A missing folder is empty: it is made when something is written.
    private func search(_ words: String, in folder: String) async throws(APIError) -> [Entry] {
        do {
            return try await api.call(Search(path: folder, query: words))
        } catch  where error.httpStatus == 404 {
            return []
        }
    }
}

/// The text that people see for an error.
func explanation(of error: APIError) -> String {
    let wait = error.retryAfter.map { "try again in \(Int(min($0, 1e9).rounded(.up))) s" } ?? "try again later"
    return switch error.httpStatus {
    case 400: "the service does not accept this: \(error.message)"
    case 401: "not signed in any more: byteclub login URL"
    case 403: "not allowed: \(error.message)"
    case 404: "no such file or folder"
    case 405: "the service does not know this call: is the URL right?"
    case 429: "too many requests: \(wait)"
    case 503: "the service is busy: \(wait)"
    case 507: "no room left: delete something first"
    default: error.message
    }
}
