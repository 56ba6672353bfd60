// Questions and answers of a Stack Exchange site.
//
//     swift run qanda URL search WORDS COUNT   the first COUNT questions with these words
//     swift run qanda URL question NUMBER      a question and its answers
//     swift run qanda URL user NUMBER          a user
//
// URL is https://api.stackexchange.com, or what `python3 Tests/servers/qanda.py` prints. The environment may set
// STACKEXCHANGE_SITE (stackoverflow) and STACKEXCHANGE_KEY, an API key.

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
    var isFound = false
    for try await question in stack.search(words).prefix(count) {
        show(question.questionID, question.score, "\(question.title)", question.owner)
        isFound = true
    }
    if !isFound { print("nothing found") }
}

func showQuestion(_ stack: StackExchange, _ number: Int) async throws {
    guard let question = try await stack.question(number) else { throw Failure("no such question: \(number)") }
    print("\(question.title) [\(question.tags.joined(separator: ", "))]")
    print("\(question.owner.displayName), \(question.creationDate)")
    show(question.body)
    for try await answer in stack.answers(number) {
        show(answer.answerID, answer.score, answer.isAccepted ? "accepted answer" : "answer", answer.owner)
        show(answer.body)
    }
}

func showUser(_ stack: StackExchange, _ number: Int) async throws {
    guard let user = try await stack.user(number) else { throw Failure("no such user: \(number)") }
    let place = user.location.map { " of \($0)" } ?? ""
    print("\(user.displayName)\(place): \(user.reputation), since \("\(user.creationDate)".prefix(10))")
}

/// An error that ends the program with a status: 1, or 2 when the command line is wrong.
struct Failure: Error {
    let text: String
    let status: Int32

    init(_ text: String, status: Int32 = 1) { (self.text, self.status) = (text, status) }
}

func number(_ word: String, _ name: String, upTo most: Int = 2_147_483_647) throws(Failure) -> Int {
    if let number = Int(word), 1...most ~= number { return number }
    throw Failure("\(name) must be a whole number from 1 to \(most): \(word)", status: 2)
}

/// False when the words are not one of the three commands.
func run(_ words: [String]) async throws -> Bool {
    let stack = StackExchange(url: words.first)
    stack.client.logFlags = []  // errors are printed below
    stack.client.defaults["site"] = JSON(environment("STACKEXCHANGE_SITE") ?? "stackoverflow")
    stack.client.defaults["key"] = environment("STACKEXCHANGE_KEY").map { JSON($0) }
    stack.client.defaults["pagesize"] = 10
    switch (words.dropFirst().first, words.count) {
    case ("search", 4): try await search(stack, words[2], number(words[3], "COUNT", upTo: 1000))
    case ("question", 3): try await showQuestion(stack, number(words[2], "NUMBER"))
    case ("user", 3): try await showUser(stack, number(words[2], "NUMBER"))
    default: return false
    }
    if let left = stack.quotaRemaining { print("\(left) requests left today") }
    return true
}

/// The text that people see for an error.
func explanation(of error: APIError) -> String {
    switch error.code {
    case StackExchange.throttled: "too many requests: \(error.message)"
    case StackExchange.internalError, StackExchange.unavailable: "the service has trouble: try again later"
    default: error.message
    }
}

func complain(_ text: String) { write(STDERR_FILENO, "\(text)\n", text.utf8.count + 1) }

func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

do {
    if try await run(Array(CommandLine.arguments.dropFirst())) { exit(0) }
    complain("usage: qanda URL search WORDS COUNT | question NUMBER | user NUMBER")
    exit(2)
} catch let failure as Failure {
    complain("error: \(failure.text)")
    exit(failure.status)
} catch let error as APIError {
    complain("error: \(explanation(of: error))")
    exit(1)
} catch {
    complain("error: \(error)")
    exit(1)
}
