/// The bytes of a body, shared without copying. `Array(data)` copies them.
public struct ResponseData: Sendable, RandomAccessCollection {
    package let bytes: Bytes

    package init(bytes: Bytes) { self.bytes = bytes }

    /// No bytes.
    public init() { self.init(bytes: .empty) }

    /// A copy of some bytes.
    public init(_ copied: some Sequence<UInt8>) {
        let bytes = Bytes()
        let array = Array(copied)
        self.init(bytes: array.withUnsafeBytes { bytes.append($0) } ? bytes : .empty)
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { bytes.count }
    public subscript(position: Int) -> UInt8 { bytes.buffer[position] }

    /// Calls the body with the bytes, which are valid during the call.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(bytes.buffer)
    }

    public func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        try bytes.buffer.withMemoryRebound(to: UInt8.self, body)
    }
}
