/// Reads what a background session has on disk. What makes no sense is set aside, and keeps nobody from the rest.
struct BackgroundReader {
    private let folder: LockedFolder
    private(set) var records: [Int64: BackgroundRecord] = [:]
    private(set) var numbers: BackgroundNumbers
    /// Those whose handler was called in a process that could not write so.
    private(set) var marked: Set<Int64> = []
    private(set) var setAside: [BackgroundStore.SetAside] = []

    init(_ folder: LockedFolder, block: Int64) {
        self.folder = folder
        numbers = BackgroundNumbers(block: block)
    }

    static func name(of identifier: Int64) -> String { "\(identifier).json" }

    static func markedName(of identifier: Int64) -> String { "\(identifier).told.json" }

    mutating func read(_ sessionIdentifier: String) throws(APIError) {
        for name in try folder.names() {
            guard let (number, isMarked) = Self.number(of: name) else { continue }
            numbers.use(number)
            try check(name) { (reader, content) throws(APIError) in
                var record = try BackgroundRecord(parsing: content)
                guard record.identifier == number else {
                    throw .invalidRecord("field \"identifier\": \(record.identifier) is not its own")
                }
                if isMarked {
                    reader.marked.insert(number)
                    try record.wasTold()
                }
                reader.records[number] = record
            }
        }
        try check(BackgroundNumbers.name) { (reader, content) throws(APIError) in
            try reader.numbers.read(content)
        }
        // On a file system that takes capitals for small letters.
        if let owner = numbers.owner, owner != sessionIdentifier {
            throw .invalidRequest(
                "the folder \(folder.path) is that of the background session \(quoted(owner)): choose another identifier"
            )
        }
    }

    /// Whose record a file is, and whether its name says that the handler was called.
    private static func number(of name: String) -> (Int64, isMarked: Bool)? {
        guard let number = name.split(separator: ".").first.flatMap({ Int64($0) }) else { return nil }
        if name == Self.name(of: number) { return (number, false) }
        return name == markedName(of: number) ? (number, true) : nil
    }

    private mutating func check(
        _ name: String, _ body: (inout BackgroundReader, [UInt8]) throws(APIError) -> Void
    ) throws(APIError) {
        let content: [UInt8]
        do throws(APIError) {
            guard let found = try folder.content(of: name) else { return }
            content = found
        } catch {
            // Perhaps it can be read the next time.
            setAside.append(.init(path: "\(folder.path)/\(name)", reason: error.message))
            return
        }
        do throws(APIError) {
            try body(&self, content)
        } catch {
            try setAside(name, error)
        }
    }

    private mutating func setAside(_ name: String, _ error: APIError) throws(APIError) {
        var aside = "\(name).broken"
        let taken = try folder.names()
        for number in 2..<1000 where taken.contains(aside) { aside = "\(name).broken-\(number)" }
        // Where it cannot be, it stays, and is passed over.
        let isAside = (try? folder.rename(name, to: aside)) != nil
        setAside.append(.init(path: "\(folder.path)/\(isAside ? aside : name)", reason: error.message))
    }
}

/// The identifiers of a session's transfers: counted on for ever, so that none comes to mean another transfer.
///
/// The count is written for many at once. Those that are left of them when the process ends are never used.
struct BackgroundNumbers {
    static let name = "session.json"

    /// For how many it is written at once.
    private let block: Int64
    private var last: Int64 = 0
    /// The last one that was set apart on disk.
    private var reserved: Int64 = 0
    /// Whose count it is.
    private(set) var owner: String?

    init(block: Int64) { self.block = block }

    /// This one is taken, whatever the count says.
    mutating func use(_ number: Int64) {
        last = max(last, number)
        reserved = max(reserved, last)
    }

    /// - Throws: `generic` when the count makes no sense.
    mutating func read(_ content: [UInt8]) throws(APIError) {
        guard let json = try? JSON(parsing: content), json.kind == .object else {
            throw .invalidRecord("it is no JSON object")
        }
        let fields = JSONFields(json: json) { .invalidRecord("field \(quoted($0)): \($1)") }
        let number = try fields.integer("reserved")
        guard number >= 0 else { throw fields.error("reserved", "\(number) is negative") }
        owner = try fields.string("identifier")
        use(number)
    }

    mutating func next(in folder: LockedFolder, _ sessionIdentifier: String) throws(APIError) -> Int64 {
        let (number, overflow) = last.addingReportingOverflow(1)
        let (more, isTooMany) = last.addingReportingOverflow(block)
        guard !overflow, !isTooMany else {
            throw .invalidRequest("the background session \(quoted(sessionIdentifier)) has no identifiers left")
        }
        if number > reserved {
            let json: JSON = ["version": 1, "identifier": JSON(sessionIdentifier), "reserved": JSON(more)]
            try folder.store(json.utf8(), as: Self.name)
            reserved = more
        }
        last = number
        return number
    }
}
