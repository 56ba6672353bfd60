import CCurl

/// The header lines of a request in libcurl's form, kept as long as a handle refers to them.
final class HeaderLines {
    @exclusivity(unchecked) private(set) var state = State()

    struct State: ~Copyable {
        /// Set as an option of libcurl only if a proxy should also get it. Otherwise it is an ordinary line, because
        /// libcurl formats the option again for each transfer.
        fileprivate(set) var userAgent: String?
        fileprivate(set) var hasHost = false
        /// The size of all lines.
        fileprivate(set) var byteCount = 0
    }

    /// What the lines are made of, and nothing else. The next request of a client nearly always has the same.
    struct Source: Equatable {
        let headers: HTTPHeaders
        let announcesBody: Bool
        let isMultipart: Bool
        let isPlain: Bool
        /// Whether a proxy gets the User-Agent.
        let tellsProxy: Bool
        /// What Accept-Encoding lists, unless the request has the header.
        let encodings: AcceptedEncodings
        /// The answer to a Digest challenge.
        let authorization: [UInt8]?

        init(
            _ request: HTTPRequest, tellsProxy: Bool, _ encodings: AcceptedEncodings, authorization: [UInt8]?
        ) {
            headers = request.headers
            announcesBody = request.announcesBody
            isMultipart = request.body.isMultipart
            isPlain = request.settings.isPlain
            self.tellsProxy = tellsProxy
            self.encodings = encodings
            self.authorization = authorization
        }
    }

    let list: CurlList
    private let source: Source

    func are(from source: Source) -> Bool { self.source == source }

    init(_ source: Source) throws(APIError) {
        list = try CurlList()
        self.source = source
        var hasContentType = false
        var hasExpectation = false
        for field in source.headers {
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
            // The transport sets the length. A second, different length could be used to smuggle requests past proxies.
            if field.name.equalsIgnoringASCIICase("content-length") { continue }
            if field.name.equalsIgnoringASCIICase("transfer-encoding") { continue }
            state.byteCount += field.name.utf8.count + field.value.utf8.count + 4
            // A semicolon makes libcurl send an empty header. With a colon and no value it would remove the header.
            let isBlank = field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
            if source.tellsProxy, !isBlank, state.userAgent == nil, field.name.equalsIgnoringASCIICase("user-agent") {
                state.userAgent = field.value
                continue
            }
            // libcurl adds its own boundary to the type of a multipart body.
            if source.isMultipart, field.isNamed("content-type") {
                try list.append("\(field.name): \(HeaderSyntax.withoutBoundary(field.value))")
                continue
            }
            try list.append(isBlank ? Array("\(field.name);".utf8) : Array("\(field.name): ".utf8) + field.bytes)
        }
        if let authorization = source.authorization { try list.append(Array("Authorization: ".utf8) + authorization) }
        // Added here because libcurl would format its own line for each transfer.
        if source.headers["accept-encoding"] == nil, let names = source.encodings.names {
            try list.append("Accept-Encoding: \(names)")
        }
        // libcurl's own default.
        if source.isPlain, source.headers["accept"] == nil { try list.append("Accept:") }
        // Without a body libcurl adds neither of the following lines.
        guard source.announcesBody else { return }
        // Do not wait for "100 Continue": that costs a second with every server that does not send it.
        if !hasExpectation { try list.append("Expect:") }
        // Without this line libcurl would declare every body as form-encoded. The type of a multipart body contains the
        // boundary, so libcurl sets it.
        if !hasContentType, !source.isMultipart { try list.append("Content-Type:") }
    }
}

/// A list of libcurl's, kept as long as a handle refers to it.
final class CurlList {
    private(set) var first: UnsafeMutablePointer<curl_slist>?
    private var last: UnsafeMutablePointer<curl_slist>?

    init(_ lines: [String] = []) throws(APIError) { for line in lines { try append(line) } }

    deinit { curl_slist_free_all(first) }

    /// Adds a line after the last one. `curl_slist_append` would search for the end from the first line.
    func append(_ line: String) throws(APIError) { try append(Array(line.utf8)) }

    func append(_ line: [UInt8]) throws(APIError) {
        let added = (line + [0]).withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { curl_slist_append(nil, $0.baseAddress) }
        }
        guard let added else { throw EasyOptions.outOfMemory }
        if let last { last.pointee.next = added } else { first = added }
        last = added
    }
}

/// The encodings of a body that a request asks for. Deflate is left out: all servers that have it have gzip.
enum AcceptedEncodings {
    case none
    /// What `Inflater` decodes.
    case own
    /// What this libcurl decodes.
    case curl

    var names: String? {
        switch self {
        case .none: nil
        case .own: "gzip"
        case .curl: Self.namesOfCurl
        }
    }

    /// Those of the codings of an answer that cannot be decoded.
    func unknown(of codings: [String]) -> [String] {
        guard !codings.isEmpty, let names else { return [] }
        // Servers call gzip x-gzip, too, and deflate comes with it. "none" is no name of RFC 9110, but in use.
        let known = names.split(separator: ",").map { String($0.drop { $0 == " " }) } + ["x-gzip", "deflate"]
        return codings.filter { !known.contains($0) }
    }

    private static let namesOfCurl: String? = {
        let features = Int(ntapi_version()?.pointee.features ?? 0)
        let known = [
            ("gzip", CURL_VERSION_LIBZ), ("br", CURL_VERSION_BROTLI), ("zstd", CURL_VERSION_ZSTD),
        ]
        let names = known.filter { features & Int($0.1) != 0 }.map(\.0)
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }()
}

/// Sets the request's body.
extension EasyOptions {
    /// libcurl copies bodies up to this size and sends them together with the headers.
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
            let source = transfer.source(UploadFile(path, length: length))
            if length > 0 { source.begin() }
            setSource(source, length: length, of: transfer, data)
        case .stream(let stream):
            let source = transfer.state.source ?? transfer.source(stream)
            setSource(source, length: stream.length ?? -1, of: transfer, data)
        }
    }

    /// Frees a copied body. The handle is still set up to send a body.
    mutating func freeBody() { set(CURLOPT_COPYPOSTFIELDS, pointer: nil) }

    /// The next message has no body.
    mutating func removeBody() { set(CURLOPT_HTTPGET, 1) }

    private mutating func setCopied(_ bytes: [UInt8]) {
        set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(bytes.count))
        // With NULL, libcurl would ask a callback for the bytes.
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
        check(ntapi_easy_set_read(easy, readCallback, data))
        check(ntapi_easy_set_seek(easy, seekCallback, data))
        set(CURLOPT_UPLOAD, 1)
        set(CURLOPT_INFILESIZE_LARGE, offset: length)
    }
}

/// The content of one part of a multipart body, which libcurl reads. The transfer owns it.
final class MimePart {
    let name: String
    let source: any UploadSource
    unowned let transfer: CurlTransfer

    init(_ name: String, _ source: any UploadSource, of transfer: CurlTransfer) {
        self.name = name
        self.source = source
        self.transfer = transfer
    }
}

extension EasyOptions {
    private static let copiedPartSize = 65536

    /// Makes the parts with libcurl's mime API, which also quotes their names.
    mutating func setMultipart(_ parts: [HTTPRequest.Part], of transfer: CurlTransfer) throws(APIError) {
        guard let mime = curl_mime_init(easy) else { throw Self.outOfMemory }
        transfer.state.mime = mime
        for part in parts {
            guard let entry = curl_mime_addpart(mime) else { throw Self.outOfMemory }
            func check(_ code: CURLcode) throws(APIError) {
                guard code != CURLE_OK else { return }
                throw .invalidRequest("part '\(part.name)': \(String(cString: curl_easy_strerror(code)))")
            }
            for text in [part.name, part.filename, part.contentType].compactMap(\.self) where text.utf8.contains(0) {
                throw .invalidRequest("part '\(part.name)': a name or type contains a NUL byte")
            }
            if let type = part.contentType, type.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 }) {
                throw .invalidRequest(
                    "part '\(part.name)': the content type contains a line break or control character")
            }
            try check(curl_mime_name(entry, part.name))
            if let filename = part.filename { try check(curl_mime_filename(entry, filename)) }
            if let type = part.contentType ?? Self.fallbackType(part) { try check(curl_mime_type(entry, type)) }
            switch part.content {
            case .bytes(let bytes) where bytes.count <= Self.copiedPartSize:
                try check(
                    bytes.isEmpty
                        ? curl_mime_data(entry, "", 0)
                        : bytes.withUnsafeBytes {
                            curl_mime_data(entry, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
                        })
            case .bytes(let bytes):
                try check(setData(entry, MimePart(part.name, BytesSource(bytes), of: transfer), Int64(bytes.count)))
            case .file(let path, let length):
                guard let length else { throw .invalidRequest("part '\(part.name)': its length is not known") }
                let file = transfer.source(UploadFile(path, length: length))
                try check(setData(entry, MimePart(part.name, file, of: transfer), length))
            }
        }
        check(ntapi_easy_set_mime(easy, mime))
    }

    /// The type for a file part without one, where libcurl would send no type and the server would assume text/plain
    /// (RFC 7578, 4.4). Nil where libcurl knows the type from the file name.
    static func fallbackType(_ part: HTTPRequest.Part) -> String? {
        guard let filename = part.filename?.lowercasedASCII() else { return nil }
        let known = [".gif", ".jpg", ".jpeg", ".png", ".svg", ".txt", ".htm", ".html", ".pdf", ".xml"]
        return known.contains { filename.hasSuffix($0) } ? nil : "application/octet-stream"
    }

    private func setData(_ entry: OpaquePointer, _ part: MimePart, _ length: Int64) -> CURLcode {
        part.transfer.state.parts.append(part)
        return curl_mime_data_cb(
            entry, curl_off_t(length), mimeReadCallback, mimeSeekCallback, nil,
            Unmanaged.passUnretained(part).toOpaque())
    }
}
