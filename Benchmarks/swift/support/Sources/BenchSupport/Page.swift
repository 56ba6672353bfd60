/// The whole of the documents that the server sends, for those who decode them into structs.
public struct Page: Decodable, Sendable {
    public struct Person: Decodable, Sendable {
        public struct Place: Decodable, Sendable {
            public var city: String
            public var lat, lon: Double
        }

        public var id: Int
        public var name, email, url, avatar, about, created: String
        public var active: Bool
        public var manager: Int?
        public var place: Place
        public var roles: [String]
        public var score: Double
    }

    public struct Meta: Decodable, Sendable { public var page, total: Int }

    public var list: [Person]
    public var tags: [String]
    public var pad: String
    public var meta: Meta
}

/// What of a document is read by those who want one field.
public struct Answer: Decodable, Sendable {
    public struct Meta: Decodable, Sendable { public var total: Int }
    public var meta: Meta
}
