/// The keys of earlier documents, as Python strings. Most documents have the same keys as the one before, and so have
/// most objects.
///
/// Each key has two possible places, by its hash. A new key takes the first, and the key that was there moves to the
/// second. So frequent keys stay, and documents with many different keys cost little. Each place owns a reference. The
/// memory belongs to the caller.
struct JSONPythonKeys {
    typealias Object = PythonFunctions.Object

    /// A line of the processor's cache: a string, how many bytes it has, and the bytes.
    private static let place = 64
    /// How many bytes a key may have.
    static let longest = 48
    private static let pairs = 256
    /// NTAPI_PYTHON_KEYS_SIZE.
    package static let size = pairs * 2 * place

    private let python: UnsafePointer<PythonFunctions>
    private let room: UnsafeMutableRawPointer
    /// Whether the keys are kept for one document only, because the caller has no memory for them.
    private let isOwn: Bool

    init(_ python: UnsafePointer<PythonFunctions>) {
        self.python = python
        isOwn = python.pointee.keys == nil
        room = python.pointee.keys ?? .allocate(byteCount: Self.size, alignment: Self.place)
        if isOwn { room.initializeMemory(as: UInt8.self, repeating: 0, count: Self.size) }
    }

    /// The end of a document.
    func end() {
        guard isOwn else { return }
        for place in stride(from: 0, to: Self.size, by: Self.place) {
            if let text = text(room + place) { python.pointee.release(text) }
        }
        room.deallocate()
    }

    /// - Parameter key: without escapes, of at most `longest` bytes.
    /// - Returns: its string, borrowed until the next key; nil when it could not be made.
    @inline(__always)
    func find(_ key: UnsafeRawBufferPointer) -> Object? {
        // As many pairs as eight bits can tell apart.
        let first = room + Int(truncatingIfNeeded: JSONKeyCheck.hash(key) >> 56) &* (2 &* Self.place)
        if holds(first, key) { return text(first) }
        let second = first + Self.place
        if holds(second, key) { return text(second) }
        return remember(key, first, second)
    }

    @inline(never)
    private func remember(
        _ key: UnsafeRawBufferPointer, _ first: UnsafeMutableRawPointer, _ second: UnsafeMutableRawPointer
    ) -> Object? {
        guard key.count <= Self.longest, let made = python.pointee.text(key) else { return nil }
        let gone = text(second)
        second.copyMemory(from: first, byteCount: Self.place)
        first.storeBytes(of: made, as: Object?.self)
        first.storeBytes(of: key.count, toByteOffset: 8, as: Int.self)
        if let bytes = key.baseAddress { (first + 16).copyMemory(from: bytes, byteCount: key.count) }
        if let gone { python.pointee.release(gone) }
        return made
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
