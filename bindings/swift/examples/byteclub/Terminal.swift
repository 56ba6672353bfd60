import Dispatch
import NTApi
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

let isTerminal = isatty(STDOUT_FILENO) != 0

/// An error that ends the program with a status: 1, or 2 when the command line is wrong.
struct Failure: Error {
    let text: String
    let status: Int32

    init(_ text: String, status: Int32 = 1) { (self.text, self.status) = (text, status) }
}

/// A progress bar, at a terminal.
func draw(_ progress: TransferProgress) {
    guard isTerminal, let fraction = progress.fraction else { return }
    let percent = Int(min(fraction, 1) * 100)
    let done = String(repeating: "#", count: percent / 5)
    let rest = String(repeating: " ", count: 20 - done.count)
    print("\r[\(done)\(rest)] \(percent) %", terminator: "\u{1b}[K")
    fflush(nil)
}

/// Prints a line in place of the bar.
func finish(_ text: String) {
    print(isTerminal ? "\r\(text)\u{1b}[K" : text)
    fflush(nil)
}

/// Prints an error when the terminal is free.
func complain(_ text: String) {
    if isTerminal { print("\r", terminator: "\u{1b}[K") }
    fflush(nil)
    write(STDERR_FILENO, "\(text)\n", text.utf8.count + 1)
}

/// A variable of the environment; an empty one counts as missing.
func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
}

/// Runs something that Ctrl-C cancels.
func cancellable<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let task = Task { try await work() }
    signal(SIGINT, SIG_IGN)
    let interrupts = DispatchSource.makeSignalSource(signal: SIGINT)
    interrupts.setEventHandler { task.cancel() }
    interrupts.resume()
    defer { interrupts.cancel() }
    return try await task.value
}

/// Lets people change a text in their editor; nil when that fails.
func edited(_ text: String) -> String? {
    var name = Array("/tmp/byteclub-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    guard descriptor >= 0 else { return nil }
    close(descriptor)
    let path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { remove(path) }
    let editor = variable("EDITOR") ?? "vi"
    guard write(text, to: path), system("\(editor) \(path)") == 0 else { return nil }
    return contents(of: path)
}

func contents(of path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var (bytes, piece): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 4096))
    while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
    return String(decoding: bytes, as: UTF8.self)
}

func write(_ text: String, to path: String) -> Bool {
    guard let file = fopen(path, "w") else { return false }
    let isWritten = fputs(text, file) >= 0
    return fclose(file) == 0 && isWritten
}
