/// The header fields of a request or response: in order, repeats kept, names compared without case.
public struct HTTPHeaders: Sendable, Equatable, RandomAccessCollection, CustomStringConvertible {
    /// One header line.
    public struct Field: Sendable, Equatable {
        public var name: String
        public var value: String
        /// Whether the value is redacted in logs and kept from other origins.
        public var isSecret: Bool

        public init(name: String, value: String, isSecret: Bool = false) {
            self.name = name
            self.value = value
            self.isSecret = isSecret || Secrets.isSecretHeader(name)
        }
    }

    private var fields: [Field] = []

    public init() {}

    public init(_ pairs: [(name: String, value: String)]) {
        fields = pairs.map { Field(name: $0.name, value: $0.value) }
    }

    public var startIndex: Int { fields.startIndex }
    public var endIndex: Int { fields.endIndex }
    public subscript(position: Int) -> Field { fields[position] }

    /// The value of a header; several of a name are joined with ", " (RFC 9110, 5.3), of Set-Cookie it is the first.
    public subscript(name: String) -> String? {
        let values = all(name)
        guard let first = values.first else { return nil }
        return values.count == 1 || name.equalsIgnoringASCIICase("set-cookie") ? first : values.joined(separator: ", ")
    }

    /// Every value of a header, in order.
    public func all(_ name: String) -> [String] {
        fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }

    /// Sets a header, in the place of those of the same name.
    public mutating func set(_ name: String, _ value: String, isSecret: Bool = false) {
        let field = Field(name: name, value: value, isSecret: isSecret)
        guard let index = fields.firstIndex(where: { $0.name.equalsIgnoringASCIICase(name) }) else {
            fields.append(field)
            return
        }
        fields[index] = field
        var position = 0
        fields.removeAll { other in
            defer { position += 1 }
            return position > index && other.name.equalsIgnoringASCIICase(name)
        }
    }

    /// Adds a header beside those of the same name.
    public mutating func add(_ name: String, _ value: String, isSecret: Bool = false) {
        fields.append(Field(name: name, value: value, isSecret: isSecret))
    }

    public mutating func remove(_ name: String) {
        fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
    }

    /// Appends to the value added last, after a space: a folded line of a response.
    mutating func continueLast(_ value: String) {
        guard let last = fields.indices.last else { return }
        fields[last].value += fields[last].value.isEmpty ? value : " " + value
    }

    mutating func removeSecrets() { fields.removeAll(where: \.isSecret) }

    mutating func removeAll() { fields.removeAll() }

    /// The lines as they are sent, secrets redacted.
    public var description: String {
        fields.map { field in
            let isURL = ["location", "content-location", "referer", "link", "refresh"].contains(
                field.name.lowercasedASCII())
            let value = isURL ? Secrets.redactURL(field.value) : field.value
            return "\(field.name): \(field.isSecret ? Secrets.redacted : value)"
        }.joined(separator: "\n")
    }
}
