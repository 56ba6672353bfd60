/// The defaults of client classes, one place for each.
enum ClassDefaults {
    private static let places = Lock<[ObjectIdentifier: Defaults]>([:], survivesFork: true)

    /// The defaults of a class, which inherit from those of its superclass, up to `APIClient`'s and the global ones.
    static func of(_ type: APIClient.Type) -> Defaults {
        if let known = places.withLock({ $0[ObjectIdentifier(type)] }) { return known }
        let parent = (_getSuperclass(type) as? APIClient.Type).map(of)
        let made = Defaults(name: String(describing: type), parent: parent)
        return places.withLock { places in
            if let known = places[ObjectIdentifier(type)] { return known }
            places[ObjectIdentifier(type)] = made
            return made
        }
    }
}
