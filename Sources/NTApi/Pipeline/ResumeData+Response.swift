// Which downloads can be gone on with. Where there is doubt they are not: a file glued together of two versions is worse
// than one that is fetched twice.
extension ResumeData {
    /// Why there is no resume data, for the log.
    struct NotResumable: Error, Equatable {
        let reason: String

        init(_ reason: String) { self.reason = reason }
    }

    /// Makes the resume data of a download that ends before it is whole.
    ///
    /// - Parameters:
    ///   - request: what was sent, with the range that was asked for; its URL may be that of a redirect.
    ///   - url: what was asked for, before redirects.
    ///   - head: of the response whose body was being received.
    ///   - received: how many bytes of the temporary file are sure.
    ///   - previous: what the request went on from, if it did.
    static func make(
        _ request: HTTPRequest, url: String, head: ResponseHead, destination: String, temporaryFile: String,
        isTemporary: Bool = false, received: Int64, previous: ResumeData?, startTime: Double?
    ) throws(NotResumable) -> ResumeData {
        if head.status == 206, let previous {
            var total: Int64?
            if case .part(_, _, let length) = ContentRange(head.headers) { total = length }
            return try checked { () throws(APIError) in try previous.advanced(to: received, of: total) }
        }
        let validator = try resumable(request, head, isContinuation: previous != nil).get()
        var total: Int64?
        if case .bytes(let length) = head.announcedLength { total = length }
        return try checked { () throws(APIError) in
            try ResumeData(
                url: url, destination: destination, temporaryFile: temporaryFile, isTemporary: isTemporary,
                offset: received,
                validator: validator, totalLength: total, startTime: startTime)
        }
    }

    private static func checked(_ make: () throws(APIError) -> ResumeData) throws(NotResumable) -> ResumeData {
        do throws(APIError) {
            return try make()
        } catch {
            throw NotResumable(error.message)
        }
    }

    /// Whether a download can be gone on with, should it end before it is whole.
    ///
    /// - Parameter isContinuation: whether the range in the request is the library's own.
    /// - Returns: the validator to go on with.
    static func resumable(
        _ request: HTTPRequest, _ head: ResponseHead, isContinuation: Bool = false
    ) -> Result<Validator, NotResumable> {
        guard request.method == "GET" else { return .failure(.init("the method is \(request.method), not GET")) }
        guard head.status == 200 else { return .failure(.init("the status is \(head.status), not 200")) }
        guard isContinuation || request.headers["Range"] == nil else {
            return .failure(.init("the request asked for a part itself"))
        }
        guard head.hasIdentityEncoding else {
            return .failure(.init("the body is encoded: \(head.headers["Content-Encoding"] ?? "")"))
        }
        let units = head.headers["Accept-Ranges"]
        if let units, !units.split(separator: ",").contains(where: { trimmed($0).equalsIgnoringASCIICase("bytes") }) {
            return .failure(.init("the server has no ranges of bytes: Accept-Ranges is \(units)"))
        }
        return validator(of: head)
    }

    private static func validator(of head: ResponseHead) -> Result<Validator, NotResumable> {
        // One that has an entity tag must not be asked for by its date (RFC 9110, 13.1.5).
        if let etag = head.headers["ETag"] {
            guard isStrong(etag: etag) else { return .failure(.init("the entity tag \(quoted(etag)) is weak")) }
            return .success(.etag(etag))
        }
        guard let modified = head.headers["Last-Modified"] else {
            return .failure(.init("the server gives neither ETag nor Last-Modified"))
        }
        guard head.hasStrongDate else {
            return .failure(.init("Last-Modified is no strong validator: not a second before Date"))
        }
        return .success(.lastModified(modified))
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" })
    }
}

extension ResponseHead {
    /// Whether Last-Modified tells one version from all others: the file may have changed twice within the second that the
    /// date names; a second later it no longer can (RFC 9110, 8.8.2.2).
    var hasStrongDate: Bool {
        guard let modified = headers["Last-Modified"].flatMap({ HTTPDate.seconds($0) }),
            let date = headers["Date"].flatMap({ HTTPDate.seconds($0) })
        else { return false }
        return date > modified
    }

    /// Whether the bytes on the wire are those of the file.
    var hasIdentityEncoding: Bool {
        headers.all("Content-Encoding").allSatisfy { $0.isEmpty || $0.equalsIgnoringASCIICase("identity") }
    }
}
