/// A piece of a body on its way through the program: the next one comes when nobody refers to this one any more.
package final class BodyPiece: Sendable {
    private struct State {
        var offset = 0
        var isRead = false
    }

    private let request: APIRequest
    private let stream: RequestStream?
    private let bytes: Bytes
    /// Whether the body is whole with it.
    private let isLast: Bool
    private let receipt: DataReceipt
    private let state = Lock(State())

    init(_ request: APIRequest, _ stream: RequestStream?, _ bytes: Bytes, isLast: Bool, _ receipt: DataReceipt) {
        self.request = request
        self.stream = stream
        self.bytes = bytes
        self.isLast = isLast
        self.receipt = receipt
    }

    deinit {
        // Lines and events go over the ends of pieces: what nobody wanted to see has to be read all the same.
        while next() != nil {}
    }

    /// All of it.
    package var data: ResponseData { ResponseData(bytes: bytes) }

    /// The next line or event that ends in this piece; of bytes, all of them, once.
    ///
    /// - Returns: nil when there are no more, or the request was cancelled.
    package func next() -> BodyElement? {
        guard !request.isCancelled else { return nil }
        guard let stream, stream.format != .bytes else {
            let isRead = state.withLock { state in
                defer { state.isRead = true }
                return state.isRead
            }
            return isRead || bytes.count == 0 ? nil : .bytes(data)
        }
        let element = state.withLock { state in
            var rest = UnsafeRawBufferPointer(rebasing: bytes.buffer[state.offset...])
            defer { state.offset = bytes.count - rest.count }
            return stream.next(&rest, isLast: isLast)
        }
        if element == nil, stream.failure != nil { request.dropExchange() }
        return element
    }
}

/// Says, when it goes, that a piece of a body is handled.
package final class DataReceipt: Sendable {
    private let request: APIRequest

    init(_ request: APIRequest) { self.request = request }

    deinit { request.dataReturned() }
}
