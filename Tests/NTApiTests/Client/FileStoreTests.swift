import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Tokens in a file that the processes of one host share.
@Suite struct FileStoreTests {
    private let folder = "/tmp/ntapi-tokens-\(UInt64.random(in: 0 ... .max))"
    private var path: String { "\(folder)/below/tokens.json" }

    private func ask(
        _ store: FileStore, _ ask: SharedToken.Ask, of refresh: Int64 = 1, key: String = "a"
    ) -> Result<SharedToken.Reply, StoreProblem> {
        let reply = Lock<Result<[String], StoreProblem>>(.success([]))
        store.run(
            .token, keys: [key], arguments: ask.arguments(refresh),
            StoreCall { answer in reply.withLock { $0 = answer.map(\.texts) } })
        return reply.withLock { $0 }.flatMap(SharedToken.Reply.read)
    }

    private func problem(_ result: Result<SharedToken.Reply, StoreProblem>) -> String? {
        if case .failure(let problem) = result { problem.text } else { nil }
    }

    private let take = SharedToken.Ask.take(fence: 0, isRejected: false, turn: 60_000_000, refreshToken: "")

    @Test func storesOfOneFileShareATokenForEachKey() throws {
        defer { _ = shell("rm -rf \(folder)") }
        let (one, other) = (FileStore(path), FileStore(path))
        #expect(try ask(one, take).get() == .turn(fence: 0, refreshToken: ""))
        guard case .wait = try ask(other, take, of: 2).get() else {
            Issue.record("the other has got the turn, too")
            return
        }
        #expect(try ask(other, take, of: 2, key: "b").get() == .turn(fence: 0, refreshToken: ""))
        let token = SharedToken.Token(text: "ü", refreshToken: "r\n")
        guard case .token(let fence, let user, token) = try ask(one, .put(fence: 0, token)).get() else {
            Issue.record("it is another token")
            return
        }
        #expect(try ask(other, take, of: 2).get() == .token(fence: fence, user: user, token))
        #expect("\(one)" == "FileStore(\(path))")
        // Only the user can read it, and no other file is left.
        #expect(String(decoding: shell("stat -c %a \(path) \(folder)"), as: UTF8.self) == "600\n700\n")
        #expect(String(decoding: shell("ls \(folder)/below"), as: UTF8.self) == "tokens.json\ntokens.json.lock\n")
    }

    /// Several threads store their tokens, one after the other.
    @Test func threadsTakeTurns() async throws {
        defer { _ = shell("rm -rf \(folder)") }
        let fences = await withTaskGroup(of: [Int64].self) { group in
            for thread in 0..<4 {
                group.addTask { [path] in
                    await onThread {
                        let store = FileStore(path)
                        return (0..<5).compactMap { number in
                            let token = SharedToken.Token(text: "t", refreshToken: "r")
                            let reply = ask(store, .set(token), of: Int64(thread * 10 + number + 1))
                            guard case .success(.token(let fence, _, token)) = reply else { return nil }
                            return fence
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(fences).count == 20)
    }

    @Test func aFileThatCannotBeUsedIsLeftAlone() throws {
        defer { _ = shell("rm -rf \(folder)") }
        let store = FileStore(path)
        _ = try ask(store, take).get()
        for (content, reason) in [
            ("", "it is not a JSON object"), ("[1]", "it is not a JSON object"), ("{", "it is not a JSON object"),
            (#"{"a": 1}"#, "\"a\": the token: it is not an object"),
            (#"{"a": {"fence": "x"}}"#, "\"a\": fence: it is not an integer"),
            (#"{"a": {"refresh": 1}}"#, "\"a\": turn: it is missing"),
            (#"{"a": {}, "b": {"failure": ""}}"#, "\"b\": status: it is missing"),
            (
                #"{"a": {"fence": 9223372036854775807}}"#,
                "\"a\": the token: it has a number below 0 or above 4503599627370496"
            ),
            (#"{"a": {"end": -1}}"#, "\"a\": the token: it has a number below 0 or above 4503599627370496"),
        ] {
            try SystemFile.replace(path, with: Array(content.utf8))
            #expect(
                problem(ask(store, take)) == "the file \(path) is damaged: \(reason); repair or remove it")
            #expect(try SystemFile.read(path) == Array(content.utf8))
        }
        #expect(problem(ask(FileStore("/proc/none/a"), take))?.hasPrefix("cannot make /proc/none: ") == true)
        #expect(problem(ask(FileStore(folder), take))?.hasPrefix("cannot read \(folder): ") == true)
    }

    @Test func itKeepsNoLimits() {
        let answers = Lock<[String]>([])
        for (script, arguments) in [(StoreScript.permits, ["1"]), (.token, ["x"])] {
            FileStore(path).run(
                script, keys: ["a"], arguments: arguments,
                StoreCall { answer in
                    if case .failure(let problem) = answer { answers.withLock { $0.append(problem.text) } }
                })
        }
        #expect(
            answers.withLock { $0 } == [
                "a FileStore keeps tokens only: it does not know the script ntapi.permits.1",
                "the keys or arguments are none of the script ntapi.token.1",
            ])
    }
}
