/// A piece of the body for the program. The next piece comes when this one is released.
package final class BodyPiece: Sendable {
    private struct State {
        var offset = 0
        var isRead = false
    }

    private let request: APIRequest
    private let stream: RequestStream?
    private let bytes: Bytes
    /// Whether the body ends with it.
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
        // Lines and events cross the ends of pieces, so the parser must see the whole piece even if nobody wants it.
        while next() != nil {}
    }

    /// The whole piece.
    package var data: ResponseData { ResponseData(bytes: bytes) }

    /// The next line or event that ends in this piece. For plain bytes: the whole piece, once.
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
        if element == nil, stream.failure != nil { request.entered(request.dropExchange) }
        return element
    }
}

/// Reports, when it is released, that a piece has been handled.
package final class DataReceipt: Sendable {
    private let request: APIRequest

    init(_ request: APIRequest) { self.request = request }

    deinit { request.dataReturned() }
}
