#if HTTPTypes
    public import HTTPTypes
    public import NTApi

    extension HTTPFields {
        /// The header fields in order, without those whose name is not valid. Secret fields must not be indexed.
        public init(_ headers: HTTPHeaders) {
            self.init()
            for header in headers {
                guard let name = HTTPField.Name(header.name) else { continue }
                var field = HTTPField(name: name, value: header.value)
                if header.isSecret { field.indexingStrategy = .disallow }
                append(field)
            }
        }
    }

    extension HTTPHeaders {
        /// The fields in order. Those that must not be indexed are secret: redacted in logs.
        public init(_ fields: HTTPFields) {
            self.init()
            for field in fields {
                add(field.name.rawName, field.value, isSecret: field.indexingStrategy == .disallow)
            }
        }
    }

    extension HTTPTypes.HTTPResponse {
        /// The status and the header fields of a response; nil when there was no answer.
        public init?(_ response: APIResponse) {
            guard response.status > 0 else { return nil }
            self.init(status: .init(code: response.status), headerFields: HTTPFields(response.headers))
        }
    }

    extension HTTPTypes.HTTPRequest {
        /// Args that send this method, to this URL, with these header fields. Add the body as another arg.
        ///
        ///     let response = try await client.send(args: request.apiArgs + [.json(body)])
        ///
        /// Without an authority the request goes to the client's base URL; then pass the path as the command.
        public var apiArgs: [APIArg] {
            var args: [APIArg] = [.method(method.rawValue)]
            if let authority {
                args.append(.baseURL("\(scheme ?? "https")://\(authority)\(path ?? "/")"))
            }
            for field in headerFields {
                let header = APIArg.addHeader(field.name.rawName, field.value)
                args.append(field.indexingStrategy == .disallow ? header.secret : header)
            }
            return args
        }
    }

    extension HTTPTypes.HTTPRequest {
        /// The method, URL and header fields of a built request; nil when the URL is not absolute.
        public init?(_ request: NTApi.HTTPRequest) {
            guard let method = Method(request.method), let colon = request.url.firstRange(of: "://") else { return nil }
            let rest = request.url[colon.upperBound...]
            let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
            let path = rest[end...].prefix { $0 != "#" }
            self.init(
                method: method, scheme: String(request.url[..<colon.lowerBound]), authority: String(rest[..<end]),
                path: path.hasPrefix("/") ? String(path) : "/\(path)", headerFields: HTTPFields(request.headers))
        }
    }
#endif
