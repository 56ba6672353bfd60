// Makes records of requests, and requests of records.
extension BackgroundRecord {
    private enum Name {
        static let command = "command"
        static let timeouts = "timeouts"
        static let options = "options"
        static let digest = "digest"
        static let secrets = "secrets"
        static let retry = "retry"
    }

    /// The record of a request that a background session has checked.
    init(_ identifier: Int64, _ built: BuiltRequest, command: String) {
        let http = built.http
        let work: Work
        if case .file(let path, _) = http.body {
            work = .upload(file: path)
        } else {
            let download = built.download
            work = .download(
                destination: download?.destination ?? "", temporaryFile: download?.temporaryFile ?? "",
                resume: download?.resumeData)
        }
        self.init(identifier: identifier, method: http.method, url: http.url, work: work, created: wallClockSeconds())
        headers = http.headers
        var timeouts: [(String, JSON)] = []
        for clock in TimeoutClock.allCases {
            if let seconds = http.settings.timeouts[clock] { timeouts.append((clock.rawValue, JSON(seconds))) }
        }
        var settings: [(String, JSON)] = [
            (Name.command, JSON(command)), (Name.timeouts, JSON(timeouts)), (Name.secrets, built.secrets.json),
            (Name.options, JSON(built.options.all.map { [JSON($0.name), JSON($0.value)] })),
        ]
        if let retry = built.pacing?.retry { settings.append((Name.retry, retry.json)) }
        if let digest = http.digest { settings.append((Name.digest, [JSON(digest.user), JSON(digest.password)])) }
        self.settings = JSON(settings)
    }

    /// The path below the base URL that the request was made with.
    var command: String { settings[Name.command]?.string ?? "" }

    /// The policy that the request was made with; nil when there was none, or this version cannot read it.
    var retry: RetryPolicy? { settings[Name.retry].flatMap { try? RetryPolicy($0) } }

    private var args: [APIArg] {
        var args: [APIArg] = [.baseURL(url), .method(method)]
        for option in settings[Name.options]?.array ?? [] {
            if let name = option[0]?.string { args.append(.option(APIOption(name), option[1]?.string ?? "")) }
        }
        switch work {
        case .download(let destination, _, _): args.append(.download(to: destination))
        case .upload(let file): args.append(.file(file))
        }
        return args
    }

    /// Only the options, even if other parts of the record are no longer valid.
    var options: APIOptions {
        var options = APIOptions()
        for option in settings[Name.options]?.array ?? [] {
            if let name = option[0]?.string { options.set(name, option[1]?.string ?? "") }
        }
        return options
    }

    /// Builds the request again. The session's settings now decide about connections.
    ///
    /// - Throws: what is no longer valid, such as a download folder that is gone.
    func build(with settings: ResolvedSettings, _ pacing: Pacing?) throws(APIError) -> BuiltRequest {
        let applied = try AppliedArgs(args)
        var http = try RequestBuilder(settings: settings).build("", applied)
        http.url = url
        if http.settings.hasClientCertificate { http.settings.showCertificate(at: settings.baseURL?.text ?? url) }
        http.headers = headers
        var timeouts = Timeouts(connect: nil, idle: nil, total: nil)
        for clock in TimeoutClock.allCases {
            if let seconds = self.settings[Name.timeouts]?[clock.rawValue]?.double, seconds > 0 {
                timeouts[clock] = seconds
            }
        }
        http.settings.timeouts = timeouts
        if let digest = self.settings[Name.digest], let user = digest[0]?.string, let password = digest[1]?.string {
            http.digest = Credential(user: user, password: password)
        }
        var target: DownloadTarget?
        if case .download(let destination, let temporaryFile, let resume) = work {
            guard DownloadFile.isTemporary(temporaryFile, for: destination, resume) else {
                throw .invalidRecord("\(quoted(temporaryFile)) is not the temporary file of a download")
            }
            target = DownloadTarget(
                destination: try DownloadFile.check(destination), resumeData: resume, temporaryFile: temporaryFile)
        }
        return BuiltRequest(
            http: http, options: applied.options, secrets: MarkedSecrets(self.settings[Name.secrets]), download: target,
            pacing: pacing)
    }

    /// Why it must not be sent again; nil when it may be.
    ///
    /// Nobody knows how far it came before its process ended. A request that is not idempotent is not sent twice (RFC
    /// 9110, 9.2.2).
    var ambiguity: APIError? {
        guard case .running = state, !HTTPRequest(method: method, url: url, headers: headers).mayBeRepeated else {
            return nil
        }
        return APIError(
            domain: .network, code: .network,
            message:
                "the process ended while the \(method) of background transfer \(identifier) was being sent; the "
                + "result is ambiguous: the server may have acted on it, so it was not sent again")
    }
}

extension BackgroundOutcome {
    init(_ content: ResponseContent) {
        self.init(
            status: content.status, headers: content.headers, url: content.url, error: content.error,
            body: Array(content.body.buffer), ended: content.endTime)
    }
}
