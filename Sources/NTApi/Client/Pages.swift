/// The pages of a list: see ``APIClient/pages(_:args:following:)``.
public struct Pages: AsyncSequence, Sendable, RedactedMirror {
    /// Makes the args that the request of the next page has beside those of the first.
    public typealias Following = @Sendable (APIResponse) throws(APIError) -> [APIArg]

    fileprivate let client: APIClient
    fileprivate let command: String
    fileprivate let args: [APIArg]
    fileprivate let following: Following?

    /// Sends the first request at the first element. Each iteration begins at the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Returns the pages, one after the other.
    public struct Iterator: AsyncIteratorProtocol, RedactedMirror {
        private enum Place {
            case first
            case after(APIResponse)
            case ended
        }

        private let pages: Pages
        private var place = Place.first

        fileprivate init(_ pages: Pages) { self.pages = pages }

        /// The next page; nil after the last.
        ///
        /// - Throws: the error of its response.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(APIError)
            -> APIResponse?
        {
            let before = place
            // If this throws, the pages have ended.
            place = .ended
            guard let (command, args) = try request(before) else { return nil }
            let page = try await pages.client.send(command, args: args)
            place = .after(page)
            return page
        }

        /// The next page; nil after the last.
        public mutating func next() async throws(APIError) -> APIResponse? { try await next(isolation: nil) }

        private func request(_ place: Place) throws(APIError) -> (command: String, args: [APIArg])? {
            switch place {
            case .first: return (pages.command, pages.args)
            case .after(let page):
                guard let following = pages.following else { return page.nextPage(of: pages.args).map { ("", $0) } }
                let more = try following(page).filter { !$0.isSuppressed }
                return more.isEmpty ? nil : (pages.command, pages.args + more)
            case .ended: return nil
            }
        }
    }
}

extension APIClient {
    /// Sends a request for each page of a list, one after the other, as `send` does.
    ///
    ///     for try await page in client.pages("issues", args: [.url("per_page", 100)]) {
    ///         titles += try page.decode([Issue].self).map(\.title)
    ///     }
    ///
    /// The header `Link` has the URL of the next page (RFC 8288, rel="next"), on the same origin. If the JSON names the
    /// next page, pass `following`: it gets the response of a page and returns the args to add to `args` for the next
    /// request. The series ends when all of them are nil:
    ///
    ///     client.pages("items", following: { page in [.url("cursor", page.json?["next"]?.string)] })
    ///
    /// Cancelling the task cancels the request of a page. After an error the series has ended.
    public func pages(_ command: String = "", args: [APIArg] = [], following: Pages.Following? = nil) -> Pages {
        Pages(client: self, command: command, args: args, following: following)
    }
}

extension APIResponse {
    /// The args of the request for the page after this one, whose URL is in the header `Link` (RFC 8288, rel="next"). Its
    /// command is "".
    ///
    /// A link to another origin makes args with which a request fails: the credentials are for this origin.
    ///
    /// - Parameter args: those of this page's request. Those of its URL are left out, because the link has them.
    /// - Returns: nil when this is the last page.
    package func nextPage(of args: [APIArg]) -> [APIArg]? {
        guard let link = link("next") else { return nil }
        // The origin of the request and not that of the page: a redirect may have led elsewhere, without credentials.
        guard Origin(url: link) == Origin(url: request.built.request?.http.url ?? url) else {
            return [
                APIArg(
                    .invalid(
                        "the next page of \(request.summary) is at another origin, where this request's credentials are not "
                            + "sent: read its URL with link(\"next\") and decide which args it gets"))
            ]
        }
        return args.filter { !$0.isOfURL } + [.baseURL(link)]
    }
}

extension APIArg {
    fileprivate var isOfURL: Bool {
        switch kind {
        case .url, .urlDefault, .path, .baseURL: true
        default: false
        }
    }
}
