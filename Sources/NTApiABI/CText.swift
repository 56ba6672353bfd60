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

/// The object behind a handle that lends texts to C. It keeps them until its last owner is gone.
class TextLender: @unchecked Sendable {
    // Safe to share: only accessed under `SharedMutex.texts`, by code that never calls back.
    @exclusivity(unchecked) private var texts: [LentText: UnsafeMutablePointer<CChar>] = [:]
    @exclusivity(unchecked) private var headers: HandleOwner<HeadersBox>?

    deinit {
        for text in texts.values { text.deallocate() }
    }

    /// The text as of the first call; nil is NULL.
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

    /// The same for bytes that need not be UTF-8.
    final func text(_ name: LentText, bytes make: () -> [UInt8]?) -> UnsafePointer<CChar>? {
        if let known = SharedMutex.texts.withLock({ texts[name] }) { return UnsafePointer(known) }
        guard let bytes = make() else { return nil }
        let made = newText(bytes)
        let first = SharedMutex.texts.withLock {
            if let known = texts[name] { return known }
            texts[name] = made
            return made
        }
        if first != made { made.deallocate() }
        return UnsafePointer(first)
    }

    /// The bytes NUL-terminated. Each is kept, so they are parts of something that never changes.
    final func lend(_ bytes: [UInt8]?) -> UnsafePointer<CChar>? {
        bytes.flatMap { bytes in text(.bytes(bytes), bytes: { bytes }) }
    }

    /// The handle of the header lines as of the first call.
    final func lendHeaders(_ make: () -> HTTPHeaders) -> OpaquePointer? {
        if let known = SharedMutex.texts.withLock({ headers }) { return known.handle }
        let made = HandleOwner(HeadersBox(make()))
        return SharedMutex.texts.withLock {
            if headers == nil { headers = made }
            return headers?.handle
        }
    }

    private static func copy(_ text: String) -> UnsafeMutablePointer<CChar> { newText(text) }
}

/// A text that the caller frees with `ntapi_text_free`.
///
/// For texts that change. They cannot be lent: while one thread reads the text, another may change it, or request it
/// and so end the earlier loan. A binding that releases its own lock between calls always has such threads.
func newText(_ text: String) -> UnsafeMutablePointer<CChar> {
    var text = text
    return text.withUTF8 { newText($0) }
}

/// The same for bytes that need not be UTF-8.
// NUL bytes inside are copied, too.
func newText(_ bytes: some Collection<UInt8>) -> UnsafeMutablePointer<CChar> {
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
    let room = UnsafeMutableRawBufferPointer(start: copy, count: bytes.count + 1)
    room.copyBytes(from: bytes)
    room[bytes.count] = 0
    return copy
}

/// The texts that an object can lend.
enum LentText: Hashable {
    case token, refreshToken, version, versionText, curlCommand, message, jsonText, method, url, redactedURL
    case prefixText, file, reason
    case resumeData, temporaryFile, noBytes
    case link(String)
    case bytes([UInt8])
}

/// The user data of a C callback. Its destroy function runs once, after the last call.
final class UserData: @unchecked Sendable {
    // Safe to share: constant. The caller is responsible for the memory behind the pointer.
    let pointer: UnsafeMutableRawPointer?
    private let destroy: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?

    init(_ pointer: UnsafeMutableRawPointer?, _ destroy: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?) {
        self.pointer = pointer
        self.destroy = destroy
    }

    deinit { destroy?(pointer) }
}
