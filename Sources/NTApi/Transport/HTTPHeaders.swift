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

        fileprivate func isNamed(_ other: String) -> Bool { name.equalsIgnoringASCIICase(other) }
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
        guard let first = fields.firstIndex(where: { $0.isNamed(name) }) else { return nil }
        let value = fields[first].value
        let others = fields[(first + 1)...].filter { $0.isNamed(name) }
        if others.isEmpty || name.equalsIgnoringASCIICase("set-cookie") { return value }
        return others.reduce(value) { $0 + ", " + $1.value }
    }

    /// Every value of a header, in order.
    public func all(_ name: String) -> [String] {
        fields.filter { $0.isNamed(name) }.map(\.value)
    }

    /// Sets a header, in the place of those of the same name.
    public mutating func set(_ name: String, _ value: String, isSecret: Bool = false) {
        let field = Field(name: name, value: value, isSecret: isSecret)
        guard let index = fields.firstIndex(where: { $0.isNamed(name) }) else {
            fields.append(field)
            return
        }
        fields[index] = field
        var position = 0
        fields.removeAll { other in
            defer { position += 1 }
            return position > index && other.isNamed(name)
        }
    }

    /// Adds a header beside those of the same name.
    public mutating func add(_ name: String, _ value: String, isSecret: Bool = false) {
        fields.append(Field(name: name, value: value, isSecret: isSecret))
    }

    mutating func setIfAbsent(_ name: String, _ value: String) {
        if !fields.contains(where: { $0.isNamed(name) }) { add(name, value) }
    }

    /// Adds those of other headers whose names are not here.
    mutating func addMissing(from others: HTTPHeaders) {
        if fields.isEmpty {
            self = others
        } else {
            for field in others where !fields.contains(where: { $0.isNamed(field.name) }) { fields.append(field) }
        }
    }

    public mutating func remove(_ name: String) {
        fields.removeAll { $0.isNamed(name) }
    }

    /// Appends to the value added last, after a space: a folded line of a response.
    mutating func continueLast(_ value: String) {
        guard let last = fields.indices.last else { return }
        fields[last].value += fields[last].value.isEmpty ? value : " " + value
    }

    mutating func removeSecrets() { fields.removeAll(where: \.isSecret) }

    mutating func removeAll() { fields.removeAll() }

    /// Whether these are the very same fields as those of a copy that was kept: nothing was changed.
    func isUnchanged(since copy: HTTPHeaders) -> Bool {
        fields.withUnsafeBufferPointer { mine in
            copy.fields.withUnsafeBufferPointer { $0.baseAddress == mine.baseAddress && $0.count == mine.count }
        }
    }

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
