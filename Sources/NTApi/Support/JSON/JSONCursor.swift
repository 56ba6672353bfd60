/// Walks the children of one array or object in document order; finds none in a scalar.
///
/// Every loop over a value (writing, comparing, measuring) keeps a list of cursors instead of calling itself, so that no
/// depth of nesting can use up the stack of the thread that reads, which may be the host program's.
struct JSONCursor {
    let container: JSON
    let isObject: Bool
    private var number = 0
    private var walk: Walk

    private enum Walk {
        case none
        case array(JSONArray)
        case object(JSONObject)
        /// The place of the next child, and how many are left.
        case tape(JSONDocument, next: Int, left: Int)
        case index(JSONDocument, JSONObjectIndex)
    }

    struct Child {
        /// Of a member of an object.
        let key: JSONChildKey?
        let value: JSON
    }

    init(_ container: JSON) {
        self.container = container
        var isObject = container.kind == .object
        switch container.storage {
        case .array(let array): walk = .array(array)
        case .object(let object): walk = .object(object)
        case .parsed(let document, let index) where document.tape.isContainer(Int(index)):
            let index = Int(index)
            if isObject, case .indexed(let members) = document.members(of: index) {
                walk = .index(document, members)
            } else {
                walk = .tape(document, next: index + 2, left: document.tape.count(index))
            }
        default:
            walk = .none
            isObject = false
        }
        self.isObject = isObject
    }

    mutating func next() -> Child? {
        defer { number += 1 }
        switch walk {
        case .none: return nil
        case .array(let array):
            return array.elements.indices.contains(number) ? Child(key: nil, value: array.elements[number]) : nil
        case .object(let object):
            guard object.members.indices.contains(number) else { return nil }
            return Child(key: .built(object.members[number].key), value: object.members[number].value)
        case .index(let document, let members):
            guard let member = members.member(at: number) else { return nil }
            return Child(key: .parsed(document, member.key), value: JSON(document, member.value))
        case .tape(let document, let place, let left):
            guard left > 0 else { return nil }
            let value = isObject ? place + 1 : place
            walk = .tape(document, next: document.tape.next(value), left: left - 1)
            return Child(key: isObject ? .parsed(document, place) : nil, value: JSON(document, value))
        }
    }
}

/// The key of a member, wherever it stands.
enum JSONChildKey {
    case built(Bytes)
    case parsed(JSONDocument, Int)

    /// Lends its bytes, without escapes.
    func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        switch self {
        case .built(let bytes): body(bytes.buffer)
        case .parsed(let document, let index):
            document.withUTF8(at: index, body) ?? body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    var string: String { withUTF8 { String(decoding: $0, as: UTF8.self) } }
}
