/// A store in a file, for processes of one host that share a token: see ``Authenticator/share(by:key:_:)``.
///
/// The file is JSON, readable by its owner only, and is replaced as a whole. Beside it is a file whose name ends in
/// `.lock`. It keeps tokens only: for limits and caches, use a server.
public final class FileStore: SharedStore, CustomStringConvertible {
    private typealias Tokens = [(key: String, token: SharedToken)]

    private let path: String

    /// - Parameter path: of the file. It is made with the first token, and so is its folder.
    public init(_ path: String) { self.path = path }

    public var description: String { "FileStore(\(path))" }

    public func run(_ script: StoreScript, keys: [String], arguments: [String], _ call: StoreCall) {
        guard script.name == StoreScript.token.name else {
            return call.fail("a FileStore keeps tokens only: it does not know the script \(script.name)")
        }
        guard let key = keys.first, let (ask, refresh) = SharedToken.Ask.read(arguments) else {
            return call.fail(StoreProblem.unknownArguments(of: script).text)
        }
        switch change(key, { $0.answer(ask, of: refresh, Int64(wallClockSeconds() * 1e6)) }) {
        case .success(let reply): call.reply(reply.values)
        case .failure(let problem): call.fail(problem.text)
        }
    }

    /// Changes one token. Nobody else reads or changes the file meanwhile. A damaged file is not touched.
    private func change(
        _ key: String, _ body: (inout SharedToken) -> SharedToken.Reply
    ) -> Result<SharedToken.Reply, StoreProblem> {
        var result: Result<SharedToken.Reply, StoreProblem> = .success(.done)
        do throws(SystemError) {
            if let folder { try SystemFile.makeFolder(folder) }
            try SystemFile.withLock("\(path).lock", patience: 2) { () throws(SystemError) in
                let before = try SystemFile.read(path)
                switch Result(catching: { () throws(StoreProblem) in try tokens(before) }) {
                case .failure(let problem): result = .failure(problem)
                case .success(var tokens):
                    let index = tokens.firstIndex { $0.key == key } ?? tokens.endIndex
                    if index == tokens.endIndex { tokens.append((key, SharedToken())) }
                    result = .success(body(&tokens[index].token))
                    let after = JSON(tokens.map { ($0.key, $0.token.json) }).utf8()
                    if after != before { try SystemFile.replace(path, with: after) }
                }
            }
        } catch {
            return .failure(StoreProblem(text: "\(error)"))
        }
        return result
    }

    private func tokens(_ bytes: [UInt8]?) throws(StoreProblem) -> Tokens {
        guard let bytes else { return [] }
        guard let members = (try? JSON(parsing: bytes))?.object else { throw damage("it is not a JSON object") }
        var tokens: Tokens = []
        for (key, json) in members {
            do throws(APIError) {
                tokens.append((key, try SharedToken(json)))
            } catch {
                throw damage("\(quoted(key)): \(error.message)")
            }
        }
        return tokens
    }

    private func damage(_ reason: String) -> StoreProblem {
        StoreProblem(text: "the file \(path) is damaged: \(reason); repair or remove it")
    }

    private var folder: String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return parts.contains { !$0.isEmpty } ? parts.joined(separator: "/") : nil
    }
}
