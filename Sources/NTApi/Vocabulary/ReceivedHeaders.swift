/// The fields of a received response in one block of memory. The reason phrase and the lines fill it from the start. The positions of each
/// name and value fill it from the end downwards.
///
/// Most programs read few headers, so a `Field` is only made on access.
final class ReceivedHeaders: @unchecked Sendable {
    // Safe to share: only the loop's thread fills it, before any other thread has it. Then it is only read.
    @exclusivity(unchecked) private var state: State

    private struct State {
        var block: UnsafeMutableRawPointer
        var size: Int
        var textCount = 0
        var reasonCount = 0
        var count = 0
    }

    var count: Int { state.count }

    /// The position of a field. Heads are limited, so 32 bits are enough.
    private struct Line {
        var start: UInt32
        var nameEnd: UInt32
        var valueStart: UInt32
        var end: UInt32
    }

    /// - Parameter reason: the reason phrase of the status line.
    init(reason: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)) {
        // Enough for most heads, and small enough for the allocator's thread cache (1,032 bytes).
        let size = 1024
        state = State(block: .allocate(byteCount: size, alignment: MemoryLayout<Line>.alignment), size: size)
        guard reason.count > 0 else { return }
        makeRoom(for: reason.count)
        keep(reason)
        state.reasonCount = reason.count
    }

    deinit { state.block.deallocate() }

    // MARK: Filling

    /// - Parameters:
    ///   - line: from the name's first byte to the value's last.
    ///   - valueStart: where in the line the value begins.
    @inline(__always) func append(_ line: UnsafeRawBufferPointer, nameCount: Int, valueStart: Int) {
        makeRoom(for: line.count)
        let start = UInt32(truncatingIfNeeded: state.textCount)
        self.line(at: state.count).initialize(
            to: Line(
                start: start, nameEnd: start &+ UInt32(truncatingIfNeeded: nameCount),
                valueStart: start &+ UInt32(truncatingIfNeeded: valueStart),
                end: start &+ UInt32(truncatingIfNeeded: line.count)))
        state.count &+= 1
        keep(line)
    }

    /// Appends to the value of the last line, which is at the end of the text.
    func continueLast(_ text: UnsafeRawBufferPointer) {
        guard state.count > 0 else { return }
        makeRoom(for: text.count + 1)
        let last = line(at: state.count - 1)
        if last.pointee.valueStart < last.pointee.end {
            state.block.storeBytes(of: UInt8(ascii: " "), toByteOffset: state.textCount, as: UInt8.self)
            state.textCount += 1
        }
        keep(text)
        last.pointee.end = UInt32(truncatingIfNeeded: state.textCount)
    }

    /// Makes room for so many bytes and one more line.
    @inline(__always) private func makeRoom(for bytes: Int) {
        let needed = state.textCount &+ bytes &+ (state.count &+ 1) &* MemoryLayout<Line>.stride
        if needed > state.size { grow(to: needed) }
    }

    private func grow(to needed: Int) {
        // A power of two, so that the lines at the end stay aligned.
        var larger = state.size
        while larger < needed { larger *= 2 }
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: MemoryLayout<Line>.alignment)
        let linesSize = state.count * MemoryLayout<Line>.stride
        moved.copyMemory(from: state.block, byteCount: state.textCount)
        (moved + larger - linesSize).copyMemory(from: state.block + state.size - linesSize, byteCount: linesSize)
        state.block.deallocate()
        state.block = moved
        state.size = larger
    }

    @inline(__always) private func keep(_ text: UnsafeRawBufferPointer) {
        guard let start = text.baseAddress else { return }
        (state.block + state.textCount).copyMemory(from: start, byteCount: text.count)
        state.textCount &+= text.count
    }

    @inline(__always) private func line(at index: Int) -> UnsafeMutablePointer<Line> {
        (state.block + state.size).assumingMemoryBound(to: Line.self) - (index &+ 1)
    }

    // MARK: Reading

    /// The reason phrase of the status line; "" for none.
    var reason: String { HTTPHeaders.text(bytes(0, UInt32(truncatingIfNeeded: state.reasonCount))) }

    func field(at index: Int) -> HTTPHeaders.Field {
        precondition(index >= 0 && index < state.count)
        let line = self.line(at: index).pointee
        return HTTPHeaders.Field(received: bytes(line.start, line.nameEnd), bytes(line.valueStart, line.end))
    }

    func value(at index: Int) -> String { withValue(at: index, HTTPHeaders.text) }

    func withValue<Result>(at index: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        precondition(index >= 0 && index < state.count)
        let line = self.line(at: index).pointee
        return body(bytes(line.valueStart, line.end))
    }

    /// All lines as "name: value", each with CRLF behind it.
    var text: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(state.textCount + 4 * state.count)
        for index in 0..<state.count {
            let line = self.line(at: index).pointee
            text += bytes(line.start, line.nameEnd)
            text += [UInt8(ascii: ":"), UInt8(ascii: " ")]
            text += bytes(line.valueStart, line.end)
            text += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
        }
        return text
    }

    func firstIndex(named name: String, from start: Int) -> Int? {
        name.withBytes { name in
            for index in start..<max(start, state.count) {
                let line = self.line(at: index).pointee
                guard Int(line.nameEnd &- line.start) == name.count else { continue }
                if bytes(line.start, line.nameEnd).equalsIgnoringASCIICase(name) { return index }
            }
            return nil
        }
    }

    private func bytes(_ start: UInt32, _ end: UInt32) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(
            start: (state.block + Int(start)).assumingMemoryBound(to: UInt8.self), count: Int(end) - Int(start))
    }
}
