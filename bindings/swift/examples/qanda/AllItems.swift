import NTApi

/// The items of all pages. Each page is fetched when its first item is requested.
struct AllItems<Service: ListService>: AsyncSequence {
    typealias Element = Service.Item
    typealias Fetch = @Sendable (_ page: Int) async throws(APIError) -> Page<Element>

    let fetch: Fetch

    func makeAsyncIterator() -> Iterator { Iterator(fetch: fetch) }

    struct Iterator: AsyncIteratorProtocol {
        let fetch: Fetch
        private var number = 0
        private var page: Page<Element>?
        private var rest: ArraySlice<Element> = []

        init(fetch: @escaping Fetch) { self.fetch = fetch }

        mutating func next() async throws(APIError) -> Element? {
            while rest.isEmpty, page?.hasMore ?? true {
                let next = try await fetch(number + 1)
                (number, page, rest) = (number + 1, next, next.items[...])
            }
            return rest.popFirst()
        }
    }
}
