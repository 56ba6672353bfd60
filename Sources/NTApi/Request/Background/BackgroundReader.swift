/// Reads what a background session has on disk. An unreadable file is set aside, so that the others can still be used.
struct BackgroundReader {
    private let folder: LockedFolder
    private(set) var records: [Int64: BackgroundRecord] = [:]
    private(set) var numbers: BackgroundNumbers
    /// Transfers whose handler was called in a process that could not record it.
    private(set) var marked: Set<Int64> = []
    private(set) var setAside: [BackgroundStore.SetAside] = []

    init(_ folder: LockedFolder, block: Int64) {
        self.folder = folder
        numbers = BackgroundNumbers(block: block)
    }

    static func name(of identifier: Int64) -> String { "\(identifier).json" }

    static func markedName(of identifier: Int64) -> String { "\(identifier).told.json" }

    /// Whether a session writes files of this name.
    static func isName(_ name: String) -> Bool { name == BackgroundNumbers.name || number(of: name) != nil }

    mutating func read(_ sessionIdentifier: String) throws(APIError) {
        for name in try folder.names() {
            guard let (number, isMarked) = Self.number(of: name) else { continue }
            numbers.use(number)
            try check(name) { (reader, content) throws(APIError) in
                var record = try BackgroundRecord(parsing: content)
                guard record.identifier == number else {
                    throw .invalidRecord("field \"identifier\": \(record.identifier) does not match the file name")
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
        // A case-insensitive file system may open the folder of another session.
        if let owner = numbers.owner, owner != sessionIdentifier {
            throw .invalidRequest(
                "the folder \(folder.path) is that of the background session \(quoted(owner)): choose another identifier"
            )
        }
    }

    /// The transfer that a file belongs to, and whether the file's name says that its handler was called.
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
            // It may be readable the next time.
            setAside.append(.init(path: "\(folder.path)/\(name)", reason: error.message))
            return
        }
        if let version = (try? JSON(parsing: content))?["version"]?.int, version > BackgroundRecord.version {
            // Set aside, it would be lost to the program that has written it.
            throw .invalidRequest(
                "\(folder.path)/\(name) was written by a newer version of the library (form \(version); this one reads "
                    + "\(BackgroundRecord.version)). It is kept as it is: open the session with that version")
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
        // If it cannot be renamed, it stays and is skipped.
        let isAside = (try? folder.rename(name, to: aside)) != nil
        setAside.append(.init(path: "\(folder.path)/\(isAside ? aside : name)", reason: error.message))
    }
}

/// The identifiers of a session's transfers. They are never reused, so that each one always means the same transfer.
///
/// The count is written once for many. Those that a process does not use before it ends are skipped.
struct BackgroundNumbers {
    static let name = "session.json"

    /// How many are reserved by one write.
    private let block: Int64
    private var last: Int64 = 0
    /// The last one that is reserved on disk.
    private var reserved: Int64 = 0
    /// The session that the count belongs to.
    private(set) var owner: String?

    init(block: Int64) { self.block = block }

    /// This identifier is in use, even if the count says otherwise.
    mutating func use(_ number: Int64) {
        last = max(last, number)
        reserved = max(reserved, last)
    }

    /// - Throws: `generic` when the count cannot be read.
    mutating func read(_ content: [UInt8]) throws(APIError) {
        guard let json = try? JSON(parsing: content), json.kind == .object else {
            throw .invalidRecord("it is not a JSON object")
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
            let json: JSON = [
                "version": JSON(BackgroundRecord.version), "identifier": JSON(sessionIdentifier),
                "reserved": JSON(more),
            ]
            try folder.store(json.utf8(), as: Self.name)
            reserved = more
        }
        last = number
        return number
    }
}
