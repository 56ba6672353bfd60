import NTApi

extension String {
    /// A NUL-terminated text of C; nil for NULL and for bytes that are not UTF-8.
    init?(c text: UnsafePointer<CChar>?) {
        guard let text else { return nil }
        self.init(validatingCString: text)
    }
}

/// Texts that were handed out to C, kept as long as this object: borrowed, in the words of the header.
final class BorrowedTexts: Sendable {
    private let texts = Lock<[String: Text]>([:], sharing: .texts)

    /// One copy in C's memory.
    private final class Text: @unchecked Sendable {
        // Safe to share: written once, before anyone else has it.
        let pointer: UnsafeMutablePointer<CChar>

        init(_ text: String) {
            let bytes = text.utf8CString
            pointer = .allocate(capacity: bytes.count)
            for (index, byte) in bytes.enumerated() { pointer[index] = byte }
        }

        deinit { pointer.deallocate() }
    }

    /// The text known by this name, made when it is asked for first; nil stays NULL.
    func text(_ name: String, _ make: () -> String?) -> UnsafePointer<CChar>? {
        if let known = texts.withLock({ $0[name] }) { return UnsafePointer(known.pointer) }
        guard let made = make().map(Text.init) else { return nil }
        return texts.withLock { texts in
            if let known = texts[name] { return UnsafePointer(known.pointer) }
            texts[name] = made
            return UnsafePointer(made.pointer)
        }
    }

    /// The text as it is now; the one handed out before under this name is gone.
    func replace(_ name: String, _ text: String?) -> UnsafePointer<CChar>? {
        let made = text.map(Text.init)
        texts.withLock { $0[name] = made }
        return made.map { UnsafePointer($0.pointer) }
    }
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
