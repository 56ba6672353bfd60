// Questions and answers of a Stack Exchange site.
//
//     swift run qanda URL search WORDS COUNT   the first so many questions that have the words
//     swift run qanda URL question NUMBER      a question and its answers
//     swift run qanda URL user NUMBER          a user
//
// URL is https://api.stackexchange.com, or what `python3 Tests/servers/qanda.py` prints. In the environment may be
// STACKEXCHANGE_SITE (stackoverflow) and STACKEXCHANGE_KEY, a key of the API.

import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

func show(_ number: Int, _ score: Int, _ text: String, _ owner: Owner) {
    print("\(aligned(number, 10)) \(aligned(score, 5))  \(text) (\(owner.displayName))")
}

func aligned(_ number: Int, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - "\(number)".count)) + "\(number)"
}

func show(_ text: HTMLText?) {
    for line in "\(text ?? HTMLText(html: ""))".split(separator: "\n") { print("    \(line)") }
}

func search(_ stack: StackExchange, _ words: String, _ count: Int) async throws {
    for try await question in stack.search(words).prefix(count) {
        show(question.questionID, question.score, "\(question.title)", question.owner)
    }
}

func showQuestion(_ stack: StackExchange, _ number: Int) async throws {
    guard let question = try await stack.question(number) else { return print("no such question") }
    print("\(question.title) [\(question.tags.joined(separator: ", "))]")
    print("\(question.owner.displayName), \(question.creationDate)")
    show(question.body)
    for try await answer in stack.answers(number) {
        show(answer.answerID, answer.score, answer.isAccepted ? "accepted answer" : "answer", answer.owner)
        show(answer.body)
    }
}

func showUser(_ stack: StackExchange, _ number: Int) async throws {
    guard let user = try await stack.user(number) else { return print("no such user") }
    let place = user.location.map { " of \($0)" } ?? ""
    print("\(user.displayName)\(place): \(user.reputation), since \("\(user.creationDate)".prefix(10))")
}

func run(_ words: [String]) async throws -> Bool {
    let stack = StackExchange(url: words.first)
    stack.logFlags = []  // errors are printed below
    guard words.count > 2, let number = Int(words[words.count - 1]) else { return false }
    switch (words[1], words.count) {
    case ("search", 4): try await search(stack, words[2], number)
    case ("question", 3): try await showQuestion(stack, number)
    case ("user", 3): try await showUser(stack, number)
    default: return false
    }
    print("\(stack.quotaRemaining ?? 0) requests left today")
    return true
}

func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

StackExchange.defaults["site"] = JSON(environment("STACKEXCHANGE_SITE") ?? "stackoverflow")
StackExchange.defaults["key"] = environment("STACKEXCHANGE_KEY").map { JSON($0) }
StackExchange.defaults["pagesize"] = 10
do {
    if try await !run(Array(CommandLine.arguments.dropFirst())) {
        print("usage: qanda URL search WORDS COUNT | question NUMBER | user NUMBER")
        exit(2)
    }
} catch let error as APIError where error.code == StackExchange.throttled {
    print("too many requests: \(error.message)")
    exit(1)
} catch let error as APIError where [StackExchange.internalError, StackExchange.unavailable].contains(error.code) {
    print("the service has trouble: try again later")
    exit(1)
} catch {
    print("error: \(error)")
    exit(1)
}
