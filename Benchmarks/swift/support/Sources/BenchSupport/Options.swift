#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the command line asks for: `WORKLOAD BASE_URL COUNT CONCURRENCY [name=value...]`, as for the clients in C.
public struct Options: Sendable {
    public let workload: String
    public let base: String
    public let count: Int
    public let concurrency: Int
    public let values: [String: String]

    /// Reads the command line, or says how it should be and ends the process.
    public init() {
        let words = CommandLine.arguments.dropFirst()
        // A style, which the kit puts first, is an option like the others.
        let plain = words.filter { !$0.contains("=") }
        guard plain.count == 4, let count = Int(plain[2]), let concurrency = Int(plain[3]) else {
            fail("usage: WORKLOAD BASE_URL COUNT CONCURRENCY [name=value...]")
        }
        (workload, base, self.count, self.concurrency) = (plain[0], plain[1], count, concurrency)
        var values: [String: String] = [:]
        for word in words {
            guard let equals = word.firstIndex(of: "=") else { continue }
            values[String(word[..<equals])] = String(word[word.index(after: equals)...])
        }
        self.values = values
    }

    public var path: String { values["path"] ?? "" }
    public var style: String { values["style"] ?? "" }
    public var isParsed: Bool { workload != "raw" }
    /// Whether the body is decoded into structs, all of it, instead of one field.
    public var isWhole: Bool { workload == "whole" }
    public var warmup: Int { number("warmup") ?? 2 * concurrency }
    public var hanging: Int { number("hanging") ?? 0 }
    public var url: String { base + "/" + path }

    private func number(_ name: String) -> Int? { values[name].flatMap { Int($0) } }

    /// Ends the process unless the status is 200 and the number at `meta.total` is the right one.
    public func check(status: Int, total: Int?) {
        guard status == 200 else { fail("status \(status)") }
        guard let total, total == number("expect") else { fail("meta.total is \(total ?? -1)") }
    }

    /// Ends the process unless the status is 200 and the body has the right size.
    public func check(status: Int, bytes: Int) {
        guard status == 200 else { fail("status \(status)") }
        guard bytes == number("bytes") else { fail("\(bytes) bytes") }
    }
}

/// Ends the process with a message and status 1.
public func fail(_ message: String) -> Never {
    _ = (message + "\n").withCString { write(STDERR_FILENO, $0, strlen($0)) }
    exit(1)
}
