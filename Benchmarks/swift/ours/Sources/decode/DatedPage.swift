/// The same documents for a program that wants dates: a typed service with the fields that it needs.
struct DatedPage<Moment: Decodable>: Decodable {
    struct Person: Decodable {
        struct Place: Decodable { var city: String }

        var id: Int
        var name, email: String
        var created: Moment
        var active: Bool
        var manager: Int?
        var place: Place
        var roles: [String]
        var score: Double
    }

    struct Meta: Decodable { var total: Int }

    var list: [Person]
    var meta: Meta
}
