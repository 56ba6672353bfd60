#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A parsed text and its tape. It shares the bytes of a body, and builds nothing until it is needed.
///
/// `@unchecked Sendable`: the text and the tape are constant, except for what the tape records about an object's keys.
/// That is read and written atomically, and every thread computes the same. A mutex guards `extras`.
final class JSONDocument: @unchecked Sendable {
    /// Valid as long as the document.
    let tape: JSONTape
    /// The levels of arrays and objects: 0 for a scalar, 1 for `[]`.
    let height: Int

    private let bytes: Bytes

    /// Derived data beyond the tape, made on demand. Guarded by `SharedMutex.documents`.
    private var extras: Extras?

    private struct Extras {
        var objects: [Int: JSONObjectIndex] = [:]
        var arrays: [Int: JSONArrayIndex] = [:]
        var texts: [Int: JSONLentText] = [:]
    }

    /// - Parameter scanned: the scanner's result for these bytes. Takes over its tape.
    init(_ bytes: Bytes, text: UnsafePointer<UInt8>, _ scanned: JSONScanner.Result) {
        self.bytes = bytes
        tape = JSONTape(text: text, words: scanned.words)
        height = scanned.height
    }

    deinit { free(tape.words) }

    /// The index of an object's keys, made on first use.
    func objectIndex(_ index: Int) -> JSONObjectIndex {
        extra(\.objects, index) { JSONObjectIndex(of: index, in: tape) }
    }

    /// The index of an array's elements, made on first use.
    func arrayIndex(_ index: Int) -> JSONArrayIndex {
        extra(\.arrays, index) { JSONArrayIndex(of: index, in: tape) }
    }

    /// A string or key with a final NUL, kept as long as the document.
    func lend(_ index: Int) -> JSONLentText {
        extra(\.texts, index) { JSONLentText(of: index, in: tape) }
    }

    private func extra<Extra: AnyObject>(
        _ place: WritableKeyPath<Extras, [Int: Extra]>, _ index: Int, _ make: () -> Extra
    ) -> Extra {
        if let known = SharedMutex.documents.withLock({ extras?[keyPath: place][index] }) { return known }
        // Made without the lock, because it may take long. If two threads make it, the second discards its result.
        let made = make()
        return SharedMutex.documents.withLock {
            if let known = extras?[keyPath: place][index] { return known }
            if extras == nil { extras = Extras() }
            extras?[keyPath: place][index] = made
            return made
        }
    }
}

/// A string of a document as a C string: without escapes, with a final NUL.
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

// The value at a place on the tape; nil when it is of another kind.
extension JSONDocument {
    func bool(at index: Int) -> Bool? {
        switch tape.kind(index) {
        case .yes: true
        case .no: false
        default: nil
        }
    }

    func int64(at index: Int) -> Int64? {
        switch tape.kind(index) {
        case .int: JSONNumber.int64(tape.bytes(index))
        case .double: JSONNumber.integral(JSONNumber.double(tape.bytes(index)))
        default: nil
        }
    }

    func double(at index: Int) -> Double? {
        switch tape.kind(index) {
        case .int: Double(JSONNumber.int64(tape.bytes(index)))
        case .double: JSONNumber.double(tape.bytes(index))
        default: nil
        }
    }

    func string(at index: Int) -> String? {
        switch tape.kind(index) {
        case .plainString: String(decoding: tape.bytes(index), as: UTF8.self)
        case .escapedString: JSONEscape.decode(tape.bytes(index))
        default: nil
        }
    }

    /// Calls the body with the bytes of a string or key, without escapes; nil for other kinds.
    func withUTF8<Result>(at index: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        switch tape.kind(index) {
        case .plainString: return body(tape.bytes(index))
        case .escapedString:
            let raw = tape.bytes(index)
            return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: raw.count) { buffer in
                let count = buffer.baseAddress.map { JSONEscape.decode(raw, into: $0) } ?? 0
                return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            }
        default: return nil
        }
    }
}

// Arrays and objects of a document. An object's keys are examined when it is first read.
extension JSONDocument {
    /// The members of an object.
    enum Members {
        /// As many as the tape says, in order.
        case plain
        case indexed(JSONObjectIndex)
    }

    func members(of index: Int) -> Members {
        var keys = tape.keys(index)
        if keys == .unknown {
            keys = JSONKeyCheck.keys(of: index, in: tape)
            tape.setKeys(index, keys)
        }
        return keys == .plain ? .plain : .indexed(objectIndex(index))
    }

    /// How many elements an array has, or members an object; 0 for a scalar.
    func count(of index: Int) -> Int {
        guard tape.isContainer(index) else { return 0 }
        guard tape.kind(index) == .object, case .indexed(let members) = members(of: index) else {
            return tape.count(index)
        }
        return members.count
    }

    /// The member of an object with this key.
    func member(_ key: UnsafeRawBufferPointer, of index: Int) -> Int? {
        switch members(of: index) {
        case .indexed(let members): return members.value(key)
        case .plain:
            var position = index + 2
            for _ in 0..<tape.count(index) {
                if tape.bytes(position).isEqual(to: key) { return position + 1 }
                position = tape.next(position + 1)
            }
            return nil
        }
    }

    /// The place of an object's key, in document order.
    func key(at number: Int, of index: Int) -> Int? {
        switch members(of: index) {
        case .indexed(let members): return members.key(at: number)
        case .plain:
            guard number >= 0, number < tape.count(index) else { return nil }
            var position = index + 2
            for _ in 0..<number { position = tape.next(position + 1) }
            return position
        }
    }

    /// The place of an element of an array.
    func element(_ number: Int, of index: Int) -> Int? {
        let count = tape.count(index)
        guard number >= 0, number < count else { return nil }
        // Scalars take a word each.
        if tape.next(index) == index + 2 + count { return index + 2 + number }
        if number >= JSONArrayIndex.stride { return arrayIndex(index).element(number, in: tape) }
        var position = index + 2
        for _ in 0..<number { position = tape.next(position) }
        return position
    }
}

/// The places of every 16th element of an array, so that any element is found in a few hops.
final class JSONArrayIndex: Sendable {
    static let stride = 16

    private let places: [Int32]

    init(of index: Int, in tape: JSONTape) {
        var places: [Int32] = []
        let count = tape.count(index)
        places.reserveCapacity(count / Self.stride + 1)
        var position = index + 2
        for number in 0..<count {
            // A tape has less than 2^31 words.
            if number % Self.stride == 0 { places.append(Int32(truncatingIfNeeded: position)) }
            position = tape.next(position)
        }
        self.places = places
    }

    /// - Parameter number: of an element that there is.
    func element(_ number: Int, in tape: JSONTape) -> Int {
        var position = Int(places[number / Self.stride])
        for _ in 0..<(number % Self.stride) { position = tape.next(position) }
        return position
    }
}

/// The members of one object of a document by their keys, for objects that are large or have duplicate or escaped keys.
///
/// Of duplicates the last value counts, at the position of the first. Keys are hashed with a seed that the author of a
/// text cannot predict.
final class JSONObjectIndex: @unchecked Sendable {
    // Safe to share: constant after `init`. It only holds places on the tape of its document.
    private let tape: JSONTape
    private var members: [(key: Int32, value: Int32)] = []
    /// Numbers of members plus one, by hash; 0 is free. At most half of the slots are taken.
    private var slots: [Int32] = []
    /// Keys with escapes, in unescaped form, by their place.
    private var unescaped: [Int32: [UInt8]] = [:]

    init(of index: Int, in tape: JSONTape) {
        self.tape = tape
        let count = tape.count(index)
        members.reserveCapacity(count)
        var size = 4
        while size < 2 * count { size *= 2 }
        slots = Array(repeating: 0, count: size)
        var position = index + 2
        for _ in 0..<count {
            add(key: Int32(truncatingIfNeeded: position))
            position = tape.next(position + 1)
        }
    }

    var count: Int { members.count }

    func member(at number: Int) -> (key: Int, value: Int)? {
        guard members.indices.contains(number) else { return nil }
        return (Int(members[number].key), Int(members[number].value))
    }

    func key(at number: Int) -> Int? { member(at: number)?.key }

    func value(_ key: UnsafeRawBufferPointer) -> Int? {
        let number = slots[slot(of: key)]
        return number == 0 ? nil : Int(members[Int(number) - 1].value)
    }

    private func add(key place: Int32) {
        if tape.kind(Int(place)) == .escapedString {
            let raw = tape.bytes(Int(place))
            unescaped[place] = Array(unsafeUninitializedCapacity: raw.count) { buffer, count in
                count = buffer.baseAddress.map { JSONEscape.decode(raw, into: $0) } ?? 0
            }
        }
        withKey(place) { key in
            let slot = slot(of: key)
            if slots[slot] != 0 {
                members[Int(slots[slot]) - 1].value = place + 1
            } else {
                members.append((place, place + 1))
                slots[slot] = Int32(truncatingIfNeeded: members.count)
            }
        }
    }

    /// The slot of a key, or the free one where it belongs.
    private func slot(of key: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: key)
        var slot = hasher.finalize() & (slots.count - 1)
        while slots[slot] != 0 {
            if withKey(members[Int(slots[slot]) - 1].key, { $0.isEqual(to: key) }) { break }
            slot = (slot + 1) & (slots.count - 1)
        }
        return slot
    }

    private func withKey<Result>(_ place: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let key = unescaped[place] { return key.withUnsafeBytes(body) }
        return body(tape.bytes(Int(place)))
    }
}
