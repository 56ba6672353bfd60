#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A text that was parsed, and its tape. Shares the bytes of a body; nothing is built before it is asked for.
///
/// `@unchecked Sendable`, because the text and the tape are constant, but for what the tape says of an object's keys,
/// which is read and written atomically, and is the same whoever finds it out; and `extras` is guarded by a mutex.
final class JSONDocument: @unchecked Sendable {
    /// Valid as long as the document.
    let tape: JSONTape
    /// The levels of arrays and objects: 0 for a scalar, 1 for `[]`.
    let height: Int

    private let bytes: Bytes

    /// What was asked for and takes more than the tape. Guarded by `SharedMutex.documents`.
    private var extras: Extras?

    private struct Extras {
        var objects: [Int: JSONObjectIndex] = [:]
        var arrays: [Int: JSONArrayIndex] = [:]
        var texts: [Int: JSONLentText] = [:]
    }

    /// - Parameter scanned: what `JSONScanner` made of these very bytes. Takes over its tape.
    init(_ bytes: Bytes, text: UnsafePointer<UInt8>, _ scanned: JSONScanner.Result) {
        self.bytes = bytes
        tape = JSONTape(text: text, words: scanned.words)
        height = scanned.height
    }

    deinit { free(tape.words) }

    /// The index of an object's keys, made when it is needed first.
    func objectIndex(_ index: Int) -> JSONObjectIndex {
        extra(\.objects, index) { JSONObjectIndex(of: index, in: tape) }
    }

    /// The index of an array's elements, made when it is needed first.
    func arrayIndex(_ index: Int) -> JSONArrayIndex {
        extra(\.arrays, index) { JSONArrayIndex(of: index, in: tape) }
    }

    /// A string or key with a NUL behind it, kept as long as the document.
    func lend(_ index: Int) -> JSONLentText {
        extra(\.texts, index) { JSONLentText(of: index, in: tape) }
    }

    private func extra<Extra: AnyObject>(
        _ place: WritableKeyPath<Extras, [Int: Extra]>, _ index: Int, _ make: () -> Extra
    ) -> Extra {
        if let known = SharedMutex.documents.withLock({ extras?[keyPath: place][index] }) { return known }
        // Made without the lock: it may take a while. A thread that comes second throws its own away.
        let made = make()
        return SharedMutex.documents.withLock {
            if let known = extras?[keyPath: place][index] { return known }
            if extras == nil { extras = Extras() }
            extras?[keyPath: place][index] = made
            return made
        }
    }
}

/// A string of a document in C's manner, without escapes and with a NUL behind it.
final class JSONLentText: @unchecked Sendable {
    // Safe to share: written before anyone else has it.
    let pointer: UnsafeMutablePointer<CChar>
    let length: Int

    init(of index: Int, in tape: JSONTape) {
        let raw = tape.bytes(index)
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: raw.count + 1)
        if tape.kind(index) == .escapedString {
            length = JSONEscape.decode(raw, into: bytes)
        } else {
            length = raw.count
            if let from = raw.baseAddress { memcpy(bytes, from, raw.count) }
        }
        bytes[length] = 0
        pointer = UnsafeMutableRawPointer(bytes).assumingMemoryBound(to: CChar.self)
    }

    deinit { pointer.deallocate() }
}
