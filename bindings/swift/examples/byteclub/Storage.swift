import NTApi

/// A file or a folder, as the service describes it.
struct Entry: Decodable, Sendable {
    let path: String
    let bytes: Int64
    let size: String
    let isDir: Bool
    let thumbExists: Bool
    /// Nil for the root.
    let rev: String?
    let modified: APIDate?
    /// Only for a folder that was listed.
    let contents: [Entry]?

    var name: String { path.split(separator: "/").last.map(String.init) ?? "/" }
}

struct Account: Decodable, Sendable {
    enum CodingKeys: String, CodingKey {
        case name = "display_name"
        case email
        case used = "quota_info.normal"
        case quota = "quota_info.quota"
    }

    let name: String
    let email: String
    let used: Int64
    let quota: Int64
}

struct Note: Sendable {
    let text: String
    let entry: Entry
}

struct AccountInfo: APIService {
    typealias Response = Account

    var command: String { "1/account/info" }
    var decoding: DecodingOptions { DecodingOptions(keys: .paths) }
}

/// The shared part of calls with a path: the path goes into the command, with all its segments.
protocol StorageService: APIService {
    var call: String { get }
    var path: String { get }
    var options: [APIArg] { get }
}

extension StorageService {
    var command: String { "1/\(call)/dropbox/{path*}" }
    var parameters: [APIArg] { [.path("path", path)] + options }
    var options: [APIArg] { [] }
    var decoding: DecodingOptions { .storage }
}

extension DecodingOptions {
    /// HTTP dates, but with another zone: `Sat, 21 Aug 2010 22:31:20 +0000`.
    static let storage = DecodingOptions(
        keys: .snakeCase,
        dates: [
            .custom("Sat, 21 Aug 2010 22:31:20 +0000") { json in
                guard let text = json.string, text.hasSuffix(" +0000") else { return nil }
                return APIDate(http: text.dropLast(5) + "GMT")
            }
        ])
}

extension RetryPolicy {
    /// Tries again when the service is busy or does not answer.
    static let storage = RetryPolicy(attempts: 3, maximumRetryAfter: 30)
    /// Tries again only when the service has refused the last attempt.
    static let refused = RetryPolicy(attempts: 3, maximumRetryAfter: 30, statuses: [429, 503], networkErrors: false)
}

/// An entry and its contents.
struct Metadata: StorageService {
    typealias Response = Entry

    let call = "metadata"
    let path: String
    var options: [APIArg] { [.url("list", true)] }
}

struct ReadNote: StorageService {
    let call = "files"
    let path: String
    /// The body is the note, whether it is JSON or not.
    var options: [APIArg] { [.option(.rawData)] }

    func makeResponse(_ response: APIResponse) throws -> Note {
        let about = try JSON(parsing: response.headers["x-dropbox-metadata"] ?? "null")
        return Note(text: response.text, entry: try about.decode(Entry.self, options: decoding))
    }
}

/// Writes a file. If the existing file was changed since `parentRev`, or must not be overwritten, it is kept, and the
/// new one gets another name.
///
/// Sending the file twice would store it twice. So it is sent again only if the service says that it did nothing.
struct WriteFile: StorageService {
    typealias Response = Entry

    let call = "files_put"
    let path: String
    let body: APIArg
    var overwrite = false
    var parentRev: String?

    var method: String? { "PUT" }
    var options: [APIArg] { [.url("overwrite", overwrite), .url("parent_rev", parentRev), .retry(.refused), body] }
}

struct Search: StorageService {
    typealias Response = [Entry]

    let call = "search"
    let path: String
    let query: String
    var options: [APIArg] { [.url("query", query)] }
}

/// A small version of a photo, in the format that the client asks for.
struct Thumbnail: StorageService {
    let call = "thumbnails"
    let path: String
    let size: String
    let kind: String
    var options: [APIArg] {
        [.url("size", size), .url("format", "png"), .header("Accept", kind), .option(.rawData)]
    }

    func makeResponse(_ response: APIResponse) -> [UInt8] { Array(response.data) }
}

struct Delete: APIService {
    typealias Response = NoContent

    let path: String

    var command: String { "1/fileops/delete" }
    var parameters: [APIArg] { [.form("root", "dropbox"), .form("path", path)] }
}
