import NTApi

/// What OAuth 1.0 makes a signature of, in its simplest form, PLAINTEXT (RFC 5849, 3.4.4).
struct Credentials: Sendable {
    var key: String
    var secret: String
    var token: String
    var tokenSecret: String

    var header: String {
        let signature = "\(encoded(secret))&\(encoded(tokenSecret))"
        return """
            OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="\(encoded(key))", \
            oauth_token="\(encoded(token))", oauth_signature="\(encoded(signature))"
            """
    }

    /// All but the unreserved characters as %XX.
    private func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            if byte < 128, character.isLetter || character.isNumber || "-._~".contains(character) {
                return String(character)
            }
            return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}

/// A session with one of the servers of the storage.
final class StorageClient: APIClient, @unchecked Sendable {
    init(_ url: String, _ credentials: Credentials) {
        var configuration = SessionConfiguration.ephemeral
        configuration.additionalHeaders = ["Authorization": credentials.header]
        configuration.requestTimeout = 30
        configuration.retry = .storage
        super.init(baseURL: url, configuration: configuration)
        logFlags = []  // errors are printed by the program
    }

    /// `{"error": "…"}` says more than the status does.
    override func mapServiceError(_ response: APIResponse) -> APIError? {
        guard var error = response.error, let text = response.json?["error"]?.string else { return nil }
        error.message = text
        return error
    }
}

/// The notes and photos of a club, in folders that its members share.
final class ByteClub: Sendable {
    let api: StorageClient
    /// What has the files themselves; the same, where a service has one address for all.
    let content: StorageClient

    init(_ url: String, contentURL: String? = nil, _ credentials: Credentials) {
        api = StorageClient(url, credentials)
        content = contentURL.map { StorageClient($0, credentials) } ?? api
    }

    func account() async throws(APIError) -> Account { try await api.call(AccountInfo()) }

    func notes() async throws(APIError) -> [Entry] { try await files(in: "/notes") }

    func photos() async throws(APIError) -> [Entry] { try await files(in: "/photos").filter(\.thumbExists) }

    func read(_ note: String) async throws(APIError) -> Note {
        try await content.call(ReadNote(path: "/notes/\(note)"))
    }

    /// - Parameter replacing: what the writer has read; without it the note is a new one.
    /// - Returns: what was written: by another name, when another note was in its place.
    func write(_ note: String, _ text: String, replacing: Entry? = nil) async throws(APIError) -> Entry {
        let body = APIArg.data(Array(text.utf8), contentType: "text/plain; charset=utf-8")
        return try await content.call(WriteFile(path: "/notes/\(note)", body: body, parentRev: replacing?.rev))
    }

    func search(_ words: String) async throws(APIError) -> [Entry] {
        try await api.call(Search(path: "/", query: words))
    }

    func delete(_ path: String) async throws(APIError) { _ = try await api.call(Delete(path: path)) }

    func thumbnail(of photo: Entry) async throws(APIError) -> [UInt8] {
        try await content.call(Thumbnail(path: photo.path))
    }

    func upload(
        _ file: String, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws(APIError) -> Entry {
        let name = file.split(separator: "/").last ?? ""
        return try await content.call(WriteFile(path: "/photos/\(name)", body: .file(file)), uploadProgress: progress)
    }

    /// - Parameter resuming: what an earlier response has left.
    /// - Returns: the response, which has resume data when the download was stopped.
    func download(
        _ photo: String, to file: String, resuming: ResumeData?,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async -> APIResponse {
        await content.response(
            "1/files/dropbox/photos/{name}",
            args: resuming.map { [.resume($0)] } ?? [.path("name", photo), .download(to: file)],
            downloadProgress: progress)
    }

    /// A folder that is not there is an empty one: it is made when something is written.
    private func files(in folder: String) async throws(APIError) -> [Entry] {
        do {
            return try await api.call(Metadata(path: folder)).contents?.filter { !$0.isDir } ?? []
        } catch  where error.httpStatus == 404 {
            return []
        }
    }
}

/// What is said to people about an error.
func explanation(of error: APIError) -> String {
    let wait = error.retryAfter.map { "try again in \(Int($0.rounded(.up))) s" } ?? "try again later"
    return switch error.httpStatus {
    case 400: "the service does not accept this: \(error.message)"
    case 401: "not signed in: renew BYTECLUB_TOKEN and BYTECLUB_TOKEN_SECRET"
    case 403: "not allowed: \(error.message)"
    case 404: "no such file or folder"
    case 405: "the service does not know this call: is the URL right?"
    case 429: "too many requests: \(wait)"
    case 503: "the service is busy: \(wait)"
    case 507: "no room left: delete something first"
    default: error.message
    }
}
