@testable import NTApi

/// Feeds a stream in pieces. The result must not depend on where the stream is cut.
enum StreamSplits {
    /// The stream as one piece, byte by byte, cut at every place, and, if it is short, at every pair of places.
    static func pieces(of stream: [UInt8]) -> [[ArraySlice<UInt8>]] {
        var all = [[stream[...]], stream.indices.map { stream[$0...$0] }]
        for first in 0...stream.count {
            all.append([stream[..<first], stream[first...]])
            guard stream.count <= 36 else { continue }
            for second in first...stream.count {
                all.append([stream[..<first], stream[first..<second], stream[second...]])
            }
        }
        return all
    }

    /// Calls the body with each piece until it throws.
    static func feed(
        _ pieces: [ArraySlice<UInt8>], _ body: (inout UnsafeRawBufferPointer) throws(APIError) -> Void
    ) -> APIError? {
        for piece in pieces {
            // Each piece is in its own memory, so that the address sanitizer sees a read past its end.
            let copy = Array(piece)
            let problem = copy.withUnsafeBytes { (bytes) -> APIError? in
                var rest = bytes
                do throws(APIError) {
                    try body(&rest)
                    return rest.isEmpty ? nil : APIError(code: .generic, message: "\(rest.count) bytes were not read")
                } catch {
                    return error
                }
            }
            if let problem { return problem }
        }
        return nil
    }
}
