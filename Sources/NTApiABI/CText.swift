import NTApi

extension String {
    /// A NUL-terminated text of C; nil for NULL and for bytes that are not UTF-8.
    init?(c text: UnsafePointer<CChar>?) {
        guard let text else { return nil }
        self.init(validatingCString: text)
    }
}

extension SharedMutex {
    /// Calls the body while no other body runs under this mutex.
    @inline(__always) func withLock<Result>(_ body: () -> Result) -> Result {
        lock()
        defer { unlock() }
        return body()
    }
}

/// What a handle stands for when C may borrow texts from it: they are kept until the handle's last owner has gone.
class TextLender: @unchecked Sendable {
    // Safe to share: touched only under `SharedMutex.texts`, by nothing that could come back here.
    @exclusivity(unchecked) private var texts: [LentText: UnsafeMutablePointer<CChar>] = [:]

    deinit {
        for text in texts.values { text.deallocate() }
    }

    /// The text as it was when it was asked for first; nil is NULL.
    final func text(_ name: LentText, _ make: () -> String?) -> UnsafePointer<CChar>? {
        if let known = SharedMutex.texts.withLock({ texts[name] }) { return UnsafePointer(known) }
        guard let made = make().map(Self.copy) else { return nil }
        let first = SharedMutex.texts.withLock {
            if let known = texts[name] { return known }
            texts[name] = made
            return made
        }
        if first != made { made.deallocate() }
        return UnsafePointer(first)
    }

    /// The same, of bytes that need not be UTF-8.
    final func text(_ name: LentText, bytes make: () -> [UInt8]?) -> UnsafePointer<CChar>? {
        if let known = SharedMutex.texts.withLock({ texts[name] }) { return UnsafePointer(known) }
        guard let bytes = make() else { return nil }
        let made = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
        made.initialize(from: bytes.map { CChar(bitPattern: $0) } + [0], count: bytes.count + 1)
        let first = SharedMutex.texts.withLock {
            if let known = texts[name] { return known }
            texts[name] = made
            return made
        }
        if first != made { made.deallocate() }
        return UnsafePointer(first)
    }

    /// The text as it is now, lent like the others: one that was lent before stays where it is. For few texts, as each is
    /// kept.
    final func text(now text: String?) -> UnsafePointer<CChar>? {
        text.flatMap { content in self.text(.content(content)) { content } }
    }

    private static func copy(_ text: String) -> UnsafeMutablePointer<CChar> { newText(text) }
}

/// A text that the caller frees with `ntapi_text_free`.
///
/// For texts that change. They cannot be lent: while one thread reads such a text, another one may change it, or ask for it
/// and so end what was lent before. A binding that gives its own lock up between calls always has such threads.
func newText(_ text: String) -> UnsafeMutablePointer<CChar> {
    // A text's own NUL bytes are copied with the rest.
    let count = text.utf8.count + 1
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: count)
    text.withCString { copy.initialize(from: $0, count: count) }
    return copy
}

/// Which of its texts an object has lent.
enum LentText: Hashable {
    case host, scheme, realm, token, version, identifier, curlCommand, message, jsonText, method, url, redactedURL
    case prefixText, file
    case resumeData, temporaryFile, noBytes
    case header(String)
    case link(String)
    case certificate(Int)
    case headerName(Int)
    case headerValue(Int)
    /// One whose source may change: what is lent once stays as it is.
    case content(String)
    case body([UInt8])
}

/// What a C callback was registered with: its destroy function runs once, when the last call is over.
final class UserData: @unchecked Sendable {
    // Safe to share: constant. What the pointer leads to is the caller's business.
    let pointer: UnsafeMutableRawPointer?
    private let destroy: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?

    init(_ pointer: UnsafeMutableRawPointer?, _ destroy: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?) {
        self.pointer = pointer
        self.destroy = destroy
    }

    deinit { destroy?(pointer) }
}
