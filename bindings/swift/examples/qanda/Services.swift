import NTApi

/// What all methods of the API have in common: they answer with a list, one page at a time.
protocol ListService<Item>: APIService where Response == Page<Item> {
    associatedtype Item: Decodable & Sendable
}

extension ListService {
    var decoding: DecodingOptions { DecodingOptions(keys: .snakeCase, dates: [.seconds]) }
}

/// Questions that contain all the words, the most relevant first.
struct SearchQuestions: ListService {
    typealias Item = Question

    let text: String

    var command: String { "2.3/search/advanced" }
    var parameters: [APIArg] { [.url("q", text), .url("order", "desc"), .url("sort", "relevance")] }
}

/// A question with its text, which the API otherwise leaves out.
struct FindQuestion: ListService {
    typealias Item = Question

    let questionID: Int

    var command: String { "2.3/questions/{ids}" }
    var parameters: [APIArg] { [.path("ids", questionID), .url("filter", "withbody")] }
}

/// The answers to a question, the best first.
struct FindAnswers: ListService {
    typealias Item = Answer

    let questionID: Int

    var command: String { "2.3/questions/{ids}/answers" }
    var parameters: [APIArg] {
        [.path("ids", questionID), .url("filter", "withbody"), .url("order", "desc"), .url("sort", "votes")]
    }
}

/// A user.
struct FindUser: ListService {
    typealias Item = User

    let userID: Int

    var command: String { "2.3/users/{ids}" }
    var parameters: [APIArg] { [.path("ids", userID)] }
}
