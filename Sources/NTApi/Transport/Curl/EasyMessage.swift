import CCurl

/// The header lines of a request as libcurl takes them, kept as long as a handle refers to them.
final class HeaderLines {
    @exclusivity(unchecked) private(set) var state = State()

    struct State {
        fileprivate(set) var list: UnsafeMutablePointer<curl_slist>?
        fileprivate var last: UnsafeMutablePointer<curl_slist>?
        /// Given to libcurl by itself where a proxy is to have it, too. Elsewhere it is a line like any other: libcurl would
        /// write it once more for each transfer, letter by letter.
        fileprivate(set) var userAgent: String?
        fileprivate(set) var hasHost = false
    }

    let tellsProxy: Bool
    let decompresses: Bool
    private let headers: HTTPHeaders
    private let announcesBody: Bool
    private let isMultipart: Bool

    deinit { curl_slist_free_all(state.list) }

    /// Whether they are those of a request: of one client's requests they nearly always are.
    func are(of request: HTTPRequest) -> Bool {
        announcesBody == request.announcesBody && isMultipart == request.body.isMultipart && headers == request.headers
    }

    /// - Parameters:
    ///   - tellsProxy: whether a proxy is to be told the User-Agent.
    ///   - decompresses: whether the encodings are named that libcurl decodes.
    init(of request: HTTPRequest, tellsProxy: Bool, decompresses: Bool) throws(APIError) {
        self.tellsProxy = tellsProxy
        self.decompresses = decompresses
        headers = request.headers
        announcesBody = request.announcesBody
        isMultipart = request.body.isMultipart
        var hasContentType = false
        var hasExpectation = false
        for field in request.headers {
            let name = field.name.utf8
            guard !name.isEmpty, name.allSatisfy(\.isTokenCharacter) else {
                throw .invalidRequest("the name of a header is not a token (RFC 9110, 5.1)")
            }
            guard !field.value.utf8.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else {
                throw .invalidRequest("header '\(field.name)': the value contains a line break or NUL byte")
            }
            if field.name.equalsIgnoringASCIICase("content-type") { hasContentType = true }
            if field.name.equalsIgnoringASCIICase("expect") { hasExpectation = true }
            if field.name.equalsIgnoringASCIICase("host") { state.hasHost = true }
            // The framing is the transport's: a second, different length is how requests are smuggled past proxies.
            if field.name.equalsIgnoringASCIICase("content-length") { continue }
            if field.name.equalsIgnoringASCIICase("transfer-encoding") { continue }
            // With a colon and nothing behind it, libcurl would take the header away instead.
            let isBlank = field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
            if tellsProxy, !isBlank, state.userAgent == nil, field.name.equalsIgnoringASCIICase("user-agent") {
                state.userAgent = field.value
                continue
            }
            try append(isBlank ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        // As with the User-Agent: libcurl would write its own for each transfer.
        if decompresses, request.headers["accept-encoding"] == nil, let encodings = Self.encodings {
            try append("Accept-Encoding: \(encodings)")
        }
        // Without a body libcurl adds neither of these.
        guard announcesBody else { return }
        // Waiting for a "100 Continue" costs a second on every server that does not send one.
        if !hasExpectation { try append("Expect:") }
        // Form encoding is what libcurl would claim of any body. A multipart body's type has the boundary: libcurl's part.
        if !hasContentType, !isMultipart { try append("Content-Type:") }
    }

    /// What this libcurl decodes, save deflate: some that send it leave out zlib's header and some do not, and all have gzip.
    /// Nil is nothing.
    static let encodings: String? = {
        let features = Int(ntapi_version()?.pointee.features ?? 0)
        let known = [
            ("gzip", CURL_VERSION_LIBZ), ("br", CURL_VERSION_BROTLI), ("zstd", CURL_VERSION_ZSTD),
        ]
        let names = known.filter { features & Int($0.1) != 0 }.map(\.0)
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }()

    /// Behind the last one: libcurl would look for it from the first line on.
    private func append(_ line: String) throws(APIError) {
        guard let added = curl_slist_append(nil, line) else { throw EasyOptions.outOfMemory }
        if let last = state.last { last.pointee.next = added } else { state.list = added }
        state.last = added
    }
}

/// The request's body.
extension EasyOptions {
    /// Up to this size libcurl keeps a copy and sends it together with the headers.
    static let copiedBodySize = 65536

    /// - Parameter data: the `EasyHandle`, for the callbacks that read a body.
    mutating func setBody(
        _ request: HTTPRequest, of transfer: CurlTransfer, data: UnsafeMutableRawPointer
    ) throws(APIError) {
        switch request.body {
        case .none:
            if request.announcesBody { setCopied([]) }
        case .bytes(let bytes) where bytes.count <= Self.copiedBodySize: setCopied(bytes)
        case .bytes(let bytes):
            setSource(BytesSource(bytes), length: Int64(bytes.count), of: transfer, data)
        case .multipart(let parts): try setMultipart(parts, of: transfer)
        case .file(let path, let length):
            let file = try FileSource(path: path, announcedLength: length)
            setSource(file, length: file.length, of: transfer, data)
        case .stream(let stream):
            guard let source = transfer.state.source else { throw Self.outOfMemory }
            setSource(source, length: stream.length ?? -1, of: transfer, data)
        }
    }

    /// Frees a copied body; the handle stays one that has a body to send.
    mutating func freeBody() { set(CURLOPT_COPYPOSTFIELDS, pointer: nil) }

    /// The next message has no body.
    mutating func removeBody() { set(CURLOPT_HTTPGET, 1) }

    private mutating func setCopied(_ bytes: [UInt8]) {
        set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(bytes.count))
        // Not NULL for no bytes, which would mean that a callback has them.
        if bytes.isEmpty { return set(CURLOPT_COPYPOSTFIELDS, "") }
        // libcurl only reads, whatever the pointer's type.
        bytes.withUnsafeBytes {
            set(CURLOPT_COPYPOSTFIELDS, pointer: UnsafeMutableRawPointer(mutating: $0.baseAddress))
        }
    }

    private mutating func setSource(
        _ source: any UploadSource, length: Int64, of transfer: CurlTransfer, _ data: UnsafeMutableRawPointer
    ) {
        transfer.state.source = source
        check(ntapi_easy_set_read(easy, curlReadsBody, data))
        check(ntapi_easy_set_seek(easy, curlSeeksBody, data))
        set(CURLOPT_UPLOAD, 1)
        set(CURLOPT_INFILESIZE_LARGE, offset: length)
    }
}
