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

    /// Prevents further calls of the program's code, or further use of a file.
    ///
    /// - Returns: whether code of the program is running, which the end of the exchange has to wait for.
    func close() -> Bool
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

    func close() -> Bool { false }
}

/// A regular file. A worker opens and reads it: a slow disk must not hold up other transfers.
final class UploadFile: PieceReader {
    private let path: String
    /// How many bytes to send.
    private let size: Int64
    /// Opened for the first piece. Only one worker at a time uses it.
    private let descriptor = Lock<Int32?>(nil)

    init(_ path: String, length: Int64) {
        self.path = path
        size = length
    }

    deinit { close() }

    var length: Int64? { size }
    var isRewindable: Bool { true }
    var isOfProgram: Bool { false }

    /// The length of a file that can be sent.
    static func length(of path: String) throws(APIError) -> Int64 {
        let (descriptor, length) = try open(path)
        closeDescriptor(descriptor)
        return length
    }

    func piece(after pulled: Int64) -> Result<[UInt8], APIError> {
        Result { () throws(APIError) in
            let descriptor = try opened()
            let wanted = Int(min(Int64(StreamSource.chunkSize), size - pulled))
            guard wanted > 0 else { return [] }
            var (count, number) = (0, Int32(0))
            let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, initialized in
                repeat {
                    (count, number) = Self.read(descriptor, buffer.baseAddress, wanted, pulled)
                } while count < 0 && number == EINTR
                initialized = max(0, count)
            }
            guard count >= 0 else { throw Self.error(path, "cannot be read: \(systemErrorText(number))") }
            guard count > 0 else { throw Self.error(path, "became shorter while it was sent") }
            return bytes
        }
    }

    func startOver() -> Bool { true }

    func close() {
        if let descriptor = descriptor.withLock({ $0.take() }) { closeDescriptor(descriptor) }
    }

    private func opened() throws(APIError) -> Int32 {
        if let descriptor = descriptor.withLock({ $0 }) { return descriptor }
        let (opened, found) = try Self.open(path)
        descriptor.withLock { $0 = opened }
        guard (0...found).contains(size) else {
            throw Self.error(path, "has \(found) bytes, but \(size) were announced")
        }
        return opened
    }

    private static func open(_ path: String) throws(APIError) -> (Int32, size: Int64) {
        guard !path.utf8.contains(0) else { throw .invalidRequest("file path contains a NUL byte") }
        // Without O_NONBLOCK, opening a named pipe would wait for a writer.
        let (descriptor, number) = LibraryCode.outside { (openFile(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), errno) }
        guard descriptor >= 0 else { throw error(path, "cannot be opened: \(systemErrorText(number))") }
        do throws(APIError) {
            return (descriptor, try size(of: descriptor, path))
        } catch {
            closeDescriptor(descriptor)
            throw error
        }
    }

    /// Refuses a file whose size is not the length of its content.
    private static func size(of descriptor: Int32, _ path: String) throws(APIError) -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw error(path, "is not a regular file; send a pipe or device as a stream")
        }
        let size = Int64(status.st_size)
        var last: UInt8 = 0
        let (count, number) = read(descriptor, &last, 1, max(0, size - 1))
        guard count >= 0 else { throw error(path, "cannot be read: \(systemErrorText(number))") }
        guard count == min(size, 1) else {
            throw error(
                path,
                "has a size of \(size) bytes, but its content is \(size == 0 ? "longer" : "shorter"), as in /proc and /sys: "
                    + "read it yourself and pass data or a stream")
        }
        return size
    }

    /// May wait for the disk. Forks do not wait for it.
    private static func read(
        _ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int, _ offset: Int64
    ) -> (count: Int, errno: Int32) {
        LibraryCode.outside { (pread(descriptor, bytes, count, off_t(offset)), errno) }
    }

    private static func error(_ path: String, _ reason: String) -> APIError {
        .invalidRequest("file '\(path)' \(reason)")
    }
}

// The system's functions, beside methods of the same name.
private func openFile(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }
