import CZlib

/// A body as a store keeps it: compressed (RFC 1950), if it is large and becomes smaller.
enum StoredBody {
    /// Smaller ones are not worth it.
    private static let smallest = 4096

    static func value(of body: Bytes) -> [UInt8] {
        withExtendedLifetime(body) { body in
            let plain = body.buffer
            guard plain.count >= smallest, let compressed = compressed(plain), compressed.count < plain.count / 10 * 9
            else { return Array(plain) }
            return compressed
        }
    }

    /// - Parameter length: of the body, as the record says. The caller checks the content.
    /// - Returns: nil for a damaged value.
    static func read(_ value: [UInt8], length: Int64) -> Bytes? {
        guard let length = Int(exactly: length), (0...SharedCache.largest).contains(length) else { return nil }
        let bytes = Bytes()
        guard value.count != length else { return value.withUnsafeBytes(bytes.append) ? bytes : nil }
        var count = uLongf(length)
        let body = [UInt8](unsafeUninitializedCapacity: length) { target, filled in
            let code = uncompress(target.baseAddress, &count, value, uLong(value.count))
            filled = code == Z_OK ? Int(count) : 0
        }
        return body.count == length && body.withUnsafeBytes(bytes.append) ? bytes : nil
    }

    private static func compressed(_ plain: UnsafeRawBufferPointer) -> [UInt8]? {
        let bound = compressBound(uLong(plain.count))
        let compressed = [UInt8](unsafeUninitializedCapacity: Int(bound)) { target, filled in
            var count = uLongf(bound)
            let source = plain.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let code = compress2(target.baseAddress, &count, source, uLong(plain.count), Z_BEST_SPEED)
            filled = code == Z_OK ? Int(count) : 0
        }
        return compressed.isEmpty ? nil : compressed
    }
}
