import CCurl

/// The content of one part of a multipart body, while libcurl reads it. Owned by its transfer.
final class MimePart {
    let source: any UploadSource
    unowned let transfer: CurlTransfer

    init(_ source: any UploadSource, of transfer: CurlTransfer) {
        self.source = source
        self.transfer = transfer
    }
}

extension EasyOptions {
    private static let copiedPartSize = 65536

    /// Makes the parts through libcurl's mime API, which also quotes their names.
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
                try check(setData(entry, BytesSource(bytes), Int64(bytes.count), transfer))
            case .file(let path):
                let file: FileSource
                do { file = try FileSource(path: path) } catch {
                    throw .invalidRequest("part '\(part.name)': \(error.message)")
                }
                try check(setData(entry, file, file.length, transfer))
            }
        }
        check(ntapi_easy_set_mime(easy, mime))
    }

    /// What a file part without a type of its own is, where libcurl would leave the type out and the server would read
    /// text/plain (RFC 7578, 4.4); nil where libcurl knows the type by the file name.
    static func fallbackType(_ part: HTTPRequest.Part) -> String? {
        guard let filename = part.filename?.lowercasedASCII() else { return nil }
        let known = [".gif", ".jpg", ".jpeg", ".png", ".svg", ".txt", ".htm", ".html", ".pdf", ".xml"]
        return known.contains { filename.hasSuffix($0) } ? nil : "application/octet-stream"
    }

    private func setData(
        _ entry: OpaquePointer, _ source: any UploadSource, _ length: Int64, _ transfer: CurlTransfer
    ) -> CURLcode {
        let part = MimePart(source, of: transfer)
        transfer.state.parts.append(part)
        return curl_mime_data_cb(
            entry, curl_off_t(length), curlReadsPart, curlSeeksPart, nil, Unmanaged.passUnretained(part).toOpaque())
    }
}
