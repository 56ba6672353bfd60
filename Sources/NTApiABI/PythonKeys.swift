import CNTApi
import NTApi

/// The keys of earlier documents, as Python strings. Most documents have the same keys as the one before, and so have
/// most objects.
///
/// Each key has two possible places, by its hash. A new key takes the first, and the key that was there moves to the
/// second. So frequent keys stay, and documents with many different keys cost little. Each place owns a reference. The
/// memory belongs to the caller.
struct PythonKeys {
    typealias Object = JSONForeignValues.Value

    /// A line of the processor's cache: a string, how many bytes it has, and the bytes.
    private static let place = 64
    /// How many bytes a key may have.
    static let longest = 48
    private static let size = Int(NTAPI_PYTHON_KEYS_SIZE)

    private let room: UnsafeMutableRawPointer
    /// Whether the keys are kept for one document only, because the caller has no memory for them.
    private let isOwn: Bool

    init(_ given: UnsafeMutableRawPointer?) {
        isOwn = given == nil
        room = given ?? .allocate(byteCount: Self.size, alignment: Self.place)
        if isOwn { room.initializeMemory(as: UInt8.self, repeating: 0, count: Self.size) }
    }

    /// The end of a document.
    func end(_ release: (Object?) -> Void) {
        guard isOwn else { return }
        for place in stride(from: 0, to: Self.size, by: Self.place) {
            if let text = text(room + place) { release(text) }
        }
        room.deallocate()
    }

    /// - Parameter key: without escapes, of at most `longest` bytes.
    /// - Returns: its string, borrowed until the next key; nil when there is none.
    @inline(__always)
    func find(_ key: UnsafeRawBufferPointer, _ hash: UInt64) -> Object? {
        let first = firstPlace(hash)
        if holds(first, key) { return text(first) }
        let second = first + Self.place
        return holds(second, key) ? text(second) : nil
    }

    /// Takes over the string of a key.
    ///
    /// - Returns: the string that had to go, for the caller to release.
    @inline(never)
    func remember(_ made: Object, _ key: UnsafeRawBufferPointer, _ hash: UInt64) -> Object? {
        let first = firstPlace(hash)
        let second = first + Self.place
        let gone = text(second)
        second.copyMemory(from: first, byteCount: Self.place)
        first.storeBytes(of: made, as: Object?.self)
        first.storeBytes(of: key.count, toByteOffset: 8, as: Int.self)
        if let bytes = key.baseAddress { (first + 16).copyMemory(from: bytes, byteCount: key.count) }
        return gone
    }

    /// There are as many pairs of places as eight bits can tell apart.
    @inline(__always)
    private func firstPlace(_ hash: UInt64) -> UnsafeMutableRawPointer {
        room + Int(truncatingIfNeeded: hash >> 56) &* (2 &* Self.place)
    }

    @inline(__always)
    private func text(_ place: UnsafeMutableRawPointer) -> Object? { place.load(as: Object?.self) }

    @inline(__always)
    private func holds(_ place: UnsafeMutableRawPointer, _ key: UnsafeRawBufferPointer) -> Bool {
        // A free place has the length of an empty key, but no string.
        let count = place.load(fromByteOffset: 8, as: Int.self)
        return UnsafeRawBufferPointer(start: place + 16, count: count).isEqual(to: key) && text(place) != nil
    }
}
