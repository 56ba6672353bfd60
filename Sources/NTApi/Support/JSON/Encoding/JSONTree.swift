/// JSON that is being written: what goes into it may be put in at any place, in any order.
final class JSONTree {
    private enum Content {
        case nothing
        case value(JSON)
        case array([JSONTree])
        case object([(key: String, value: JSONTree)], places: [String: Int])
    }

    /// Why something cannot be put where it is to be.
    struct Clash: Error {
        let message: String
    }

    private var content = Content.nothing

    var isEmpty: Bool { if case .nothing = content { true } else { false } }

    /// What there is; an empty object when nothing was written.
    var json: JSON {
        switch content {
        case .nothing: JSON([(String, JSON)]())
        case .value(let value): value
        case .array(let elements): JSON(elements.map(\.json))
        case .object(let members, _): JSON(members.map { ($0.key, $0.value.json) })
        }
    }

    func set(_ value: JSON) { content = .value(value) }

    /// Makes an object of it, if there is nothing yet.
    func makeObject() { if isEmpty { content = .object([], places: [:]) } }

    func makeArray() { if isEmpty { content = .array([]) } }

    var count: Int { if case .array(let elements) = content { elements.count } else { 0 } }

    func append() -> JSONTree {
        let element = JSONTree()
        if case .array(var elements) = content {
            content = .nothing  // or the array would be copied
            elements.append(element)
            content = .array(elements)
        } else {
            content = .array([element])
        }
        return element
    }

    /// The place at the end of a path, made where it is not there.
    func place(_ steps: [JSONPath.Step]) throws -> JSONTree {
        try steps.reduce(self) { tree, step in
            switch step {
            case .key(let key): try tree.member(key)
            case .index(let index): try tree.element(index)
            }
        }
    }

    private func member(_ key: String) throws -> JSONTree {
        makeObject()
        guard case .object(var members, var places) = content else {
            throw Clash(message: "an object is to be where something else is")
        }
        if let place = places[key] { return members[place].value }
        content = .nothing
        let member = JSONTree()
        places[key] = members.count
        members.append((key, member))
        content = .object(members, places: places)
        return member
    }

    private func element(_ index: Int) throws -> JSONTree {
        makeArray()
        guard case .array(let elements) = content else {
            throw Clash(message: "an array is to be where something else is")
        }
        guard index <= elements.count else { throw Clash(message: "the elements before it are to be written first") }
        return index < elements.count ? elements[index] : append()
    }
}
