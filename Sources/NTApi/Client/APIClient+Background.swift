// Background sessions of a client.
extension APIClient {
    /// Why the background session cannot be used. Nil when it can be used, and for other kinds of client.
    ///
    /// For example another process, which the message names, has it open, or its folder is not writable. Every request
    /// fails with this error.
    public var backgroundError: APIError? { background?.problem }

    /// The transfers of the background session that an earlier process left and that are not resumed yet.
    ///
    /// Higher priorities come first, then older transfers. Each is suspended: set its handlers, then resume it. It
    /// keeps its identifier, description and command. A download continues where it stopped. An upload is sent again
    /// from the beginning if its method is idempotent. Otherwise it ends with a network error, because it is unknown
    /// whether the server acted on it. A transfer that ended before its handler returned is not sent again: its
    /// handler gets the recorded outcome, and ``APIResponse/wasDeliveredBefore`` says whether a handler may have seen
    /// it before.
    ///
    /// - Parameter args: set the threads of the handlers, after the client's own args. Other args have no effect.
    /// - Returns: an empty list when this is not a background session, or when it is unusable or closed.
    public func restoredRequests(args: [APIArg] = []) -> [APIRequest] {
        guard let background else { return [] }
        let settings = settings
        let threads = HandlerThreads(self.args + args)
        return background.foundRequests { record in
            let built = BuildOutcome { () throws(APIError) in
                try record.build(with: settings, pacing(record.retry, settings))
            }
            let request = APIRequest(
                client: self, identifier: UInt64(clamping: record.identifier), command: record.command,
                logFlags: logFlags, threads: threads, built: built,
                background: BackgroundTransfer(background, record.identifier, found: record), APIRequest.Handlers())
            request.taskDescription = record.description
            request.priority = record.priority
            return request
        }
    }

    /// Resumes the transfers that an earlier process left, in order, with one handler for all.
    ///
    /// - Parameters:
    ///   - args: set the thread of the handler.
    ///   - handler: receives each response; ``APIResponse/request`` identifies the transfer.
    /// - Returns: how many transfers were resumed.
    @discardableResult public func resumeRestoredRequests(
        args: [APIArg] = [], handler: APIRequest.ResponseHandler? = nil
    ) -> Int {
        restoredRequests(args: args).count { request in
            if let handler { request.setHandler(handler) }
            return request.resume()
        }
    }

    static func background(_ kind: SessionConfiguration.Kind?, _ defaults: Defaults) -> BackgroundSession? {
        guard case .background(let identifier) = kind else { return nil }
        return BackgroundSession(identifier, root: defaults["backgroundFolder"]?.string)
    }
}
