/// A type whose parts may hold secrets. `print`, `dump`, `Mirror` and debuggers show its description, and no part.
protocol RedactedMirror: CustomStringConvertible, CustomReflectable {}

extension RedactedMirror {
    /// The name of the type.
    public var description: String { "\(type(of: self))" }

    /// For debuggers and `dump`. It has no children: a child would show its own, and so on, down to the secrets.
    public var customMirror: Mirror { Mirror(self, children: [], ancestorRepresentation: .suppressed) }
}
