import NTApi

/// The wrapper around every answer. The client handles its `backoff` and its errors.
struct Page<Item: Decodable & Sendable>: Decodable, Sendable {
    let items: [Item]
    let hasMore: Bool
}

/// The author of a post. If the account is gone, only a name is known.
struct Owner: Decodable, Sendable {
    let displayName: HTMLText
    let userID: Int?
}

struct Question: Decodable, Sendable {
    let questionID: Int
    let title: HTMLText
    let score: Int
    let answerCount: Int
    let creationDate: APIDate
    let owner: Owner
    let tags: [String]
    let body: HTMLText?
}

struct Answer: Decodable, Sendable {
    let answerID: Int
    let score: Int
    let isAccepted: Bool
    let owner: Owner
    let body: HTMLText?
}

struct User: Decodable, Sendable {
    let userID: Int
    let displayName: HTMLText
    let reputation: Int
    let creationDate: APIDate
    let location: HTMLText?
}
