#if Tracing
    import NTApi

    /// A URL as `url.full` has it.
    enum TracedURL {
        /// The names of values that sign a URL.
        private static let signatures: Set<String> = [
            "AWSAccessKeyId", "Signature", "sig", "X-Goog-Signature", "X-Amz-Signature", "X-Amz-Credential",
            "X-Amz-Security-Token",
        ]

        /// The URL without user, password and signatures.
        static func redacted(_ url: String, includesQuery: Bool) -> String {
            let (beforeFragment, fragment) = url[...].split(at: "#")
            let (target, query) = beforeFragment.split(at: "?")
            var text = withoutUser(target)
            if includesQuery, let query { text += "?\(redacted(query))" }
            if let fragment { text += "#\(fragment)" }
            return text
        }

        /// What follows the host, without the fragment.
        static func path(_ url: String, withQuery: Bool = false) -> Substring {
            let (beforeFragment, _) = url[...].split(at: "#")
            let (target, _) = withQuery ? (beforeFragment, nil) : beforeFragment.split(at: "?")
            let afterScheme = target.utf8.firstRange(of: "://".utf8).map { target[$0.upperBound...] } ?? target
            return afterScheme.utf8.firstIndex { "/?".utf8.contains($0) }.map { afterScheme[$0...] } ?? ""
        }

        /// A message up to its first question mark: a query may have any characters, also spaces.
        static func withoutQueries(_ text: String) -> String {
            let (before, query) = text[...].split(at: "?")
            return query == nil ? text : "\(before)…"
        }

        private static func redacted(_ query: Substring) -> String {
            let values = query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { pair in
                let (name, value) = Substring(pair).split(at: "=")
                let isSignature = value != nil && signatures.contains(PercentEncoding.decode(name))
                return isSignature ? "\(name)=REDACTED" : Substring(pair)
            }
            return values.joined(separator: "&")
        }

        private static func withoutUser(_ url: Substring) -> String {
            guard let scheme = url.utf8.firstRange(of: "://".utf8) else { return String(url) }
            let (authority, _) = url[scheme.upperBound...].split(at: "/")
            guard let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else { return String(url) }
            return "\(url[..<scheme.upperBound])REDACTED:REDACTED\(url[at...])"
        }
    }

    extension Substring {
        /// Splits at the first separator, also if the next character would join it.
        fileprivate func split(at separator: Unicode.Scalar) -> (Substring, Substring?) {
            guard let index = unicodeScalars.firstIndex(of: separator) else { return (self, nil) }
            return (self[..<index], self[unicodeScalars.index(after: index)...])
        }
    }
#endif
