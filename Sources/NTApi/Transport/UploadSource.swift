import CNTApiSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The source of a body's bytes. Called on the network thread, so it must not block for long.
protocol UploadSource: AnyObject {
    func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadChunk

    /// Continues at another offset, because libcurl sends the request on another connection. Returns false when it
    /// cannot.
    func seek(to offset: Int64) -> Bool
}

/// What a source returns.
enum UploadChunk {
    case bytes(Int)
    case end
    /// No bytes yet. The source says when to ask again.
    case wait
    case failed(APIError)
}

/// A body in memory. libcurl gets it piece by piece, so that it is not copied as a whole.
final class BytesSource: UploadSource {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadChunk {
        let count = min(buffer.count, bytes.count - offset)
        guard count > 0 else { return .end }
        bytes.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + count)]))
        }
        offset += count
        return .bytes(count)
    }

    func seek(to offset: Int64) -> Bool {
        guard let offset = Int(exactly: offset), (0...bytes.count).contains(offset) else { return false }
        self.offset = offset
        return true
    }
}

/// A regular file, read while it is sent.
final class FileSource: UploadSource {
    /// How many bytes to send: the announced length, or the file's current size.
    let length: Int64
    private let path: String
    private let descriptor: Int32
    private var offset: Int64 = 0

    init(path: String, announcedLength: Int64? = nil) throws(APIError) {
        guard !path.utf8.contains(0) else { throw .invalidRequest("file path contains a NUL byte") }
        // Without O_NONBLOCK, opening a named pipe would wait for a writer and block every other request.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.error(path, "cannot be opened: \(systemErrorText(errno))") }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw Self.error(path, "is not a regular file; send a pipe or device as a stream")
        }
        let size = Int64(status.st_size)
        if let announcedLength, announcedLength > size || announcedLength < 0 {
            close(descriptor)
            throw Self.error(path, "has \(size) bytes, but \(announcedLength) were announced")
        }
        do throws(APIError) {
            try Self.checkEnd(descriptor, path, size)
        } catch {
            close(descriptor)
            throw error
        }
        self.path = path
        self.descriptor = descriptor
        length = announcedLength ?? size
    }

    /// Refuses a file whose size is not the length of its content.
    private static func checkEnd(_ descriptor: Int32, _ path: String, _ size: Int64) throws(APIError) {
        var last: UInt8 = 0
        let count = pread(descriptor, &last, 1, off_t(max(0, size - 1)))
        guard count >= 0 else { throw error(path, "cannot be read: \(systemErrorText(errno))") }
        guard count == min(size, 1) else {
            throw error(
                path,
                "has a size of \(size) bytes, but its content is \(size == 0 ? "longer" : "shorter"), as in /proc and /sys: "
                    + "read it yourself and pass data or a stream")
        }
    }

    deinit { close(descriptor) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadChunk {
        let wanted = Int(min(Int64(buffer.count), length - offset))
        guard wanted > 0 else { return .end }
        let count = pread(descriptor, buffer.baseAddress, wanted, off_t(offset))
        if count > 0 {
            offset += Int64(count)
            return .bytes(count)
        }
        if count == 0 { return .failed(Self.error(path, "became shorter while it was sent")) }
        return .failed(Self.error(path, "cannot be read: \(systemErrorText(errno))"))
    }

    func seek(to offset: Int64) -> Bool {
        guard (0...length).contains(offset) else { return false }
        self.offset = offset
        return true
    }

    private static func error(_ path: String, _ reason: String) -> APIError {
        .invalidRequest("file '\(path)' \(reason)")
    }
}
