import Synchronization

/// Foundation's types that come out wrong in a decoder and an encoder that are not Foundation's own.
///
/// They leave their form to Foundation's `JSONDecoder` and `JSONEncoder`. Elsewhere they write what nobody means: `Date`
/// the seconds since 2001, `URL` and `Decimal` objects of their parts, `Data` an array of numbers. The core must not import
/// Foundation, so it knows them by their names.
enum ForeignTypes {
    /// What to use in the place of a type; nil for all types but those.
    static func advice(for type: Any.Type) -> String? {
        // Asked for each value, and the name of a type costs far more than the rest of a small value.
        let address = UInt(bitPattern: ObjectIdentifier(type))
        let place = fine + Int((address >> 4 ^ address >> 12) % UInt(capacity))
        if place.pointee.load(ordering: .relaxed) == address { return nil }
        let advice = advice(named: _typeName(type, qualified: true))
        if advice == nil { place.pointee.store(address, ordering: .relaxed) }
        return advice
    }

    private static func advice(named name: String) -> String? {
        guard let dot = name.firstIndex(of: "."), ["Foundation", "FoundationEssentials"].contains(name[..<dot]) else {
            return nil
        }
        return switch name[name.index(after: dot)...] {
        case "Date": "Foundation's Date: use an APIDate, and Date(timeIntervalSince1970: date.secondsSince1970)"
        case "URL": "Foundation's URL: use an APIURL or a String, and URL(string: url.text)"
        case "Decimal": "Foundation's Decimal: use a JSON, and Decimal(string: number.text)"
        case "Data": "Foundation's Data: use a String, and Data(base64Encoded: text)"
        default: nil
        }
    }

    private static let capacity = 256

    // Safe to share: made once and never freed, and what is in it is atomic. Each place holds one type that was found fine;
    // the types are never freed either.
    nonisolated(unsafe) private static let fine: UnsafeMutablePointer<Atomic<UInt>> = {
        let places = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: capacity)
        for number in 0..<capacity { (places + number).initialize(to: Atomic(0)) }
        return places
    }()
}
