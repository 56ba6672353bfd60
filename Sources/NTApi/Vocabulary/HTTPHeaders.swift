/// The header fields of a request or response, in order, with repeats. Names are compared without case.
public struct HTTPHeaders: Sendable, Equatable, RandomAccessCollection, RedactedMirror {
    /// One header line.
    public struct Field: Sendable, Equatable, RedactedMirror {
        /// The name, as it was received or is to be sent.
        public var name: String
        /// The value, not redacted.
        public var value: String
        /// Whether the value is redacted in logs and never sent to another origin.
        public var isSecret: Bool

        /// The received bytes of the value, if it is not UTF-8.
        private var received: [UInt8]?

        init(received name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
            let text = HTTPHeaders.text(value)
            self.init(name: HTTPHeaders.text(name), value: text)
            if !text.utf8.elementsEqual(value) { received = Array(value) }
        }

        init(name: String, received value: [UInt8]) {
            self = Array(name.utf8).withUnsafeBufferPointer { name in
                value.withUnsafeBufferPointer { Field(received: name, $0) }
            }
        }

        fileprivate mutating func takeReceived(from other: Field) { received = other.received }

        /// The bytes of the value: the received ones, unless the value was changed.
        package var bytes: [UInt8] {
            if let received, received.withUnsafeBufferPointer(HTTPHeaders.text) == value { return received }
            return Array(value.utf8)
        }

        /// Whether text keeps the value: all its bytes are UTF-8.
        var isText: Bool { bytes.elementsEqual(value.utf8) }

        /// The value as a reference to a URL: received bytes that are not UTF-8 are percent-encoded, so that the server
        /// gets the same ones back.
        var reference: String {
            guard received != nil else { return value }
            return bytes.reduce(into: "") { text, byte in
                if byte >= 0x80 {
                    text += "%" + String(byte, radix: 16, uppercase: true)
                } else {
                    text.unicodeScalars.append(Unicode.Scalar(byte))
                }
            }
        }

        /// A header line. Authorization and similar headers are always secret.
        public init(name: String, value: String, isSecret: Bool = false) {
            self.name = name
            self.value = value
            self.isSecret = isSecret || Secrets.isSecretHeader(name)
        }

        /// A line of a head, as it was sent.
        init(line: String) {
            let name = line.prefix { $0 != ":" }
            self.init(name: String(name), value: String(line.dropFirst(name.count + 1).drop { $0 == " " }))
        }

        /// The line as it is sent, secrets redacted.
        public var description: String { printable("\(HeaderSyntax.shown(name)): \(shownValue())") }

        /// The value for logs and messages.
        ///
        /// - Parameter names: additional names of secrets.
        func shownValue(alsoNamed names: Set<String> = []) -> String {
            if isSecret || names.contains(where: isNamed) { return Secrets.redacted }
            let isURL = ["location", "content-location", "referer"].contains(name.lowercasedASCII())
            return isURL
                ? Secrets.redactURL(value, alsoNamed: names) : Secrets.redact(value, alsoNamed: names)
        }

        func isNamed(_ other: String) -> Bool { name.equalsIgnoringASCIICase(other) }
    }

    /// The fields that a server sent, as long as nothing is changed. `fields` is empty then.
    private var received: ReceivedHeaders?
    private var fields: [Field] = []
    /// For many fields, the index of the first field of each name and their number. Without it, setting each field
    /// would search all earlier ones.
    private var places: [String: (first: Int, count: Int)]?

    private static let many = 64

    /// No fields.
    public init() {}

    /// Fields in this order; a name may repeat.
    public init(_ pairs: [(name: String, value: String)]) {
        fields = pairs.map { Field(name: $0.name, value: $0.value) }
    }

    init(_ received: ReceivedHeaders) { self.received = received }

    public var startIndex: Int { 0 }
    public var endIndex: Int { received?.count ?? fields.count }
    public subscript(position: Int) -> Field { received?.field(at: position) ?? fields[position] }

    public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.isUnchanged(since: right) || left.elementsEqual(right)
    }

    /// The value of a header. Several values are joined with ", " (RFC 9110, 5.3); for Set-Cookie it is the first one.
    ///
    /// Setting it replaces all fields of that name, and nil removes them. A value that replaces a secret is also
    /// secret.
    public subscript(name: String) -> String? {
        get { value(named: name) }
        set {
            guard let newValue else { return remove(name) }
            set(name, newValue, isSecret: contains { $0.isSecret && $0.isNamed(name) })
        }
    }

    private func value(named name: String) -> String? {
        guard let first = firstIndex(named: name) else { return nil }
        var joined = value(at: first)
        guard !name.equalsIgnoringASCIICase("set-cookie") else { return joined }
        var last = first
        while let next = firstIndex(named: name, from: last + 1) {
            joined += ", " + value(at: next)
            last = next
        }
        return joined
    }

    /// The text of a received header. Bytes that are not UTF-8 are read as ISO-8859-1, which older servers send.
    static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Unicode.Scalar(byte)) }
        return String(text)
    }

    /// The received bytes of a header. Several values are joined, as in the subscript.
    package func bytes(_ name: String) -> [UInt8]? {
        let values = filter { $0.isNamed(name) }.map(\.bytes)
        guard let first = values.first, !name.equalsIgnoringASCIICase("set-cookie") else { return values.first }
        return values.dropFirst().reduce(first) { $0 + Array(", ".utf8) + $1 }
    }

    /// The reason phrase of the status line that they came with; "" when there is none, or they were changed.
    package var reason: String { received?.reason ?? "" }

    /// All lines as "name: value", each with CRLF behind it.
    package var text: [UInt8] {
        received?.text ?? fields.flatMap { Array("\($0.name): ".utf8) + $0.bytes + Array("\r\n".utf8) }
    }

    /// Every value of a header, in order.
    public func all(_ name: String) -> [String] {
        var values: [String] = []
        var next = firstIndex(named: name)
        while let index = next {
            values.append(value(at: index))
            next = firstIndex(named: name, from: index + 1)
        }
        return values
    }

    /// Every value of a header that refers to URLs, in order.
    func references(_ name: String) -> [String] { filter { $0.isNamed(name) }.map(\.reference) }

    /// Calls the body with the bytes of every value of a header, in order, until it returns false.
    func forEachValue(of name: String, _ body: (UnsafeBufferPointer<UInt8>) -> Bool) {
        var next = firstIndex(named: name)
        while let index = next {
            let goesOn = received?.withValue(at: index, body) ?? fields[index].value.withBytes(body)
            next = goesOn ? firstIndex(named: name, from: index + 1) : nil
        }
    }

    private func firstIndex(named name: String, from start: Int = 0) -> Int? {
        received.map { $0.firstIndex(named: name, from: start) }
            ?? fields[start...].firstIndex { $0.isNamed(name) }
    }

    private func value(at index: Int) -> String { received?.value(at: index) ?? fields[index].value }

    // MARK: Changes

    private mutating func unpack() {
        guard received != nil else { return }
        fields = Array(self)
        received = nil
    }

    /// Sets a header, and replaces all fields of that name.
    public mutating func set(_ name: String, _ value: String, isSecret: Bool = false) {
        unpack()
        let field = Field(name: name, value: value, isSecret: isSecret)
        if fields.count >= Self.many, setAmongMany(field) { return }
        guard let index = firstIndex(named: name) else {
            fields.append(field)
            return
        }
        places = nil
        fields[index] = field
        while let other = firstIndex(named: name, from: index + 1) { fields.remove(at: other) }
    }

    /// - Returns: false when there are several fields of the name.
    private mutating func setAmongMany(_ field: Field) -> Bool {
        var places =
            self.places
            ?? fields.indices.reduce(into: [:]) { $0[fields[$1].name.lowercasedASCII(), default: ($1, 0)].count += 1 }
        // Move the table out, so that it is not copied.
        self.places = nil
        let name = field.name.lowercasedASCII()
        switch places[name] {
        case nil:
            places[name] = (fields.count, 1)
            fields.append(field)
        case (let index, 1)?: fields[index] = field
        case _?: return false
        }
        self.places = places
        return true
    }

    /// Sets a header to the bytes that were received in another one.
    mutating func set(_ name: String, toReceived field: Field) {
        set(name, field.value, isSecret: field.isSecret)
        guard let index = firstIndex(named: name) else { return }
        fields[index].takeReceived(from: field)
    }

    /// Adds a header after existing ones of the same name.
    public mutating func add(_ name: String, _ value: String, isSecret: Bool = false) {
        unpack()
        places = nil
        fields.append(Field(name: name, value: value, isSecret: isSecret))
    }

    /// Adds a received header with its bytes.
    mutating func add(_ field: Field) {
        unpack()
        places = nil
        fields.append(field)
    }

    /// Sets fields that the program made.
    ///
    /// - Returns: the name of one that may not be sent, and is left out; nil for none.
    mutating func set(_ others: HTTPHeaders) -> String? {
        var refused: String?
        for index in others.indices {
            let field = others[index]
            if HeaderSyntax.allows(name: field.name, value: field.value) {
                self[field.name] = field.value
            } else {
                refused = field.name
            }
        }
        return refused
    }

    mutating func setIfAbsent(_ name: String, _ value: String) {
        if firstIndex(named: name) == nil { add(name, value) }
    }

    /// Adds the other headers whose names are missing here.
    mutating func addMissing(from others: HTTPHeaders) {
        guard !isEmpty else {
            self = others
            return
        }
        unpack()
        places = nil
        for field in others where firstIndex(named: field.name) == nil { fields.append(field) }
    }

    /// Removes all fields of a name.
    public mutating func remove(_ name: String) {
        unpack()
        places = nil
        fields.removeAll { $0.isNamed(name) }
    }

    mutating func removeSecrets() {
        unpack()
        places = nil
        fields.removeAll(where: \.isSecret)
    }

    /// Whether nothing was changed since a copy was made. Cheap: compares references.
    func isUnchanged(since copy: HTTPHeaders) -> Bool {
        received === copy.received
            && fields.withUnsafeBufferPointer { mine in
                copy.fields.withUnsafeBufferPointer { $0.baseAddress == mine.baseAddress && $0.count == mine.count }
            }
    }

    /// Whether a header of this name may be sent with this value.
    package static func canHave(_ name: String, _ value: String) -> Bool {
        HeaderSyntax.allows(name: name, value: value)
    }

    /// Whether the program may send a header of this name with this value.
    package static func canBeSent(_ name: String, _ value: String) -> Bool {
        HeaderSyntax.allows(name: name, value: value)
    }

    /// Whether an answer may have a header of this name with this value.
    package static func canArrive(_ name: String, _ value: String) -> Bool {
        HeaderSyntax.allowsReceived(name: name, value: value)
    }

    /// Whether each field is well-formed.
    var areWellFormed: Bool { allSatisfy { HeaderSyntax.allowsReceived(name: $0.name, value: $0.value) } }

    /// The lines to send, with secrets redacted.
    public var description: String {
        map(\.description).joined(separator: "\n")
    }
}
