import CCurl

/// The request's own message: its headers and body.
extension EasyOptions {
    /// Up to this size libcurl keeps a copy and sends it together with the headers.
    private static let copiedBodySize = 65536

    /// Methods for which a server expects to be told that there is no body (RFC 9110, 8.6).
    private static let methodsWithBody: Set<String> = ["POST", "PUT", "PATCH"]

    mutating func setHeaders(_ request: HTTPRequest, of transfer: CurlTransfer) throws(APIError) {
        var hasContentType = false
        var hasExpectation = false
        for field in request.headers {
            let name = field.name.utf8
            guard !name.isEmpty, name.allSatisfy(\.isTokenCharacter) else {
                throw .invalidRequest("header name '\(field.name)' is not a token (RFC 9110, 5.1)")
            }
            guard !field.value.utf8.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else {
                throw .invalidRequest("header '\(field.name)': the value contains a line break or NUL byte")
            }
            if field.name.equalsIgnoringASCIICase("content-type") { hasContentType = true }
            if field.name.equalsIgnoringASCIICase("expect") { hasExpectation = true }
            // The framing is the transport's: a second, different length is how requests are smuggled past proxies.
            if field.name.equalsIgnoringASCIICase("content-length") { continue }
            if field.name.equalsIgnoringASCIICase("transfer-encoding") { continue }
            // With a colon and nothing behind it, libcurl would take the header away instead.
            let isBlank = field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
            try append(isBlank ? "\(field.name);" : "\(field.name): \(field.value)", to: transfer)
        }
        // Waiting for a "100 Continue" costs a second on every server that does not send one.
        if !hasExpectation { try append("Expect:", to: transfer) }
        // Form encoding is what libcurl would claim of any body. A multipart body's type has the boundary: libcurl's part.
        if !hasContentType, !request.body.isMultipart { try append("Content-Type:", to: transfer) }
        check(ntapi_easy_set_list(easy, CURLOPT_HTTPHEADER, transfer.headerList))
    }

    private func append(_ line: String, to transfer: CurlTransfer) throws(APIError) {
        guard let list = curl_slist_append(transfer.headerList, line) else { throw Self.outOfMemory }
        transfer.headerList = list
    }

    mutating func setBody(_ request: HTTPRequest, of transfer: CurlTransfer) throws(APIError) {
        switch request.body {
        case .none:
            if Self.methodsWithBody.contains(request.method) { setCopied([]) }
        case .bytes(let bytes) where bytes.count <= Self.copiedBodySize: setCopied(bytes)
        case .bytes(let bytes): setSource(BytesSource(bytes), length: Int64(bytes.count), of: transfer)
        case .multipart(let parts): try setMultipart(parts, of: transfer)
        case .file(let path, let length):
            let file = try FileSource(path: path, announcedLength: length)
            setSource(file, length: file.length, of: transfer)
        case .stream(let stream):
            guard let source = transfer.source else { throw Self.outOfMemory }
            setSource(source, length: stream.length ?? -1, of: transfer)
        }
    }

    private mutating func setCopied(_ bytes: [UInt8]) {
        set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(bytes.count))
        // Not NULL for no bytes, which would mean that a callback has them.
        if bytes.isEmpty { return set(CURLOPT_COPYPOSTFIELDS, "") }
        // libcurl only reads, whatever the pointer's type.
        bytes.withUnsafeBytes {
            set(CURLOPT_COPYPOSTFIELDS, pointer: UnsafeMutableRawPointer(mutating: $0.baseAddress))
        }
    }

    private mutating func setSource(_ source: any UploadSource, length: Int64, of transfer: CurlTransfer) {
        let data = Unmanaged.passUnretained(transfer).toOpaque()
        transfer.source = source
        check(ntapi_easy_set_read(easy, curlReadsBody, data))
        check(ntapi_easy_set_seek(easy, curlSeeksBody, data))
        set(CURLOPT_UPLOAD, 1)
        set(CURLOPT_INFILESIZE_LARGE, offset: length)
    }
}

extension HTTPRequest.Body {
    fileprivate var isMultipart: Bool {
        if case .multipart = self { return true }
        return false
    }
}
