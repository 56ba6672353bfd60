// What the C ABI lends: pointers that stay valid as long as any JSON value that contains them, the value itself or the
// document it was taken out of. A document keeps what it has lent.
extension JSON {
    /// The string NUL-terminated, with its length in bytes; nil for any other kind.
    ///
    /// The string may contain NUL. The pointer is valid while this value, or a document that contains it, is alive.
    package var cString: (pointer: UnsafePointer<CChar>, length: Int)? {
        switch storage {
        case .string(let bytes): return (bytes.cString, bytes.count)
        case .parsed(let document, let index) where kind == .string:
            let text = document.lend(Int(index))
            return (UnsafePointer(text.pointer), text.length)
        default: return nil
        }
    }

    /// The key of the member at an index in document order, NUL-terminated; nil when there is no such member.
    ///
    /// The pointer is valid while this value, or a document that contains it, is alive.
    package func cKey(at index: Int) -> UnsafePointer<CChar>? {
        switch storage {
        case .object(let object):
            return object.members.indices.contains(index) ? object.members[index].key.cString : nil
        case .parsed(let document, let place) where kind == .object:
            return document.key(at: index, of: Int(place)).map { UnsafePointer(document.lend($0).pointer) }
        default: return nil
        }
    }
}

extension Bytes {
    /// The bytes with the NUL behind them; valid as long as this object.
    fileprivate var cString: UnsafePointer<CChar> {
        guard let start = buffer.baseAddress else { return Self.noText }
        return start.assumingMemoryBound(to: CChar.self)
    }

    // A literal's bytes are constant and stay for ever.
    private static var noText: UnsafePointer<CChar> {
        let literal: StaticString = ""
        return UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
