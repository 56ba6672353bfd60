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

    /// The text as it is now; the one lent before under this name is gone.
    final func replace(_ name: LentText, _ text: String?) -> UnsafePointer<CChar>? {
        let made = text.map(Self.copy)
        let old = SharedMutex.texts.withLock {
            let old = texts[name]
            texts[name] = made
            return old
        }
        old?.deallocate()
        return made.map { UnsafePointer($0) }
    }

    // A text's own NUL bytes are copied with the rest.
    private static func copy(_ text: String) -> UnsafeMutablePointer<CChar> {
        let count = text.utf8.count + 1
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: count)
        text.withCString { copy.initialize(from: $0, count: count) }
        return copy
    }
}

/// Which of its texts an object has lent.
enum LentText: Hashable {
    case host, scheme, realm, token, version, identifier, description, curlCommand, option, message, jsonText, method,
        url, prefixText, file
    case resumeData, noBytes
    case header(String)
    case link(String)
    case certificate(Int)
    case headerName(Int)
    case headerValue(Int)
    /// One whose source may change: what is lent once stays as it is.
    case content(String)
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
