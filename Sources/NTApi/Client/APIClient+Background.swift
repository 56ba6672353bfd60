// What a client does that was made with a background configuration (SPEC 8).
extension APIClient {
    /// Why the background session cannot be used; nil when it can, and of other clients.
    ///
    /// Another process has it open, which is named; the folder cannot be written to. Every request fails with this error.
    public var backgroundError: APIError? { background?.problem }

    /// The transfers of the background session that a process before this one left, and that were not resumed yet.
    ///
    /// Those of higher priority first, and of the same the older ones. Each is suspended: set its handlers, then resume it. It has
    /// the identifier, the description and the command that it was made with. A download goes on where it was. An upload is
    /// sent again from the beginning when its method is idempotent; otherwise it ends with a network error that says
    /// that its result is ambiguous. One that ended, but whose handler had not returned, is not sent: its handler is called
    /// with what was recorded, and ``APIResponse/wasDeliveredBefore`` says whether a handler may have seen that before.
    ///
    /// - Parameter args: say, after the client's own, on which threads the handlers run; others have no effect.
    /// - Returns: none, when this is no background session, it cannot be used or it is closed.
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
                threads: threads, built: built,
                background: BackgroundTransfer(background, record.identifier, found: record))
            request.taskDescription = record.description
            request.priority = record.priority
            return request
        }
    }

    /// Resumes the transfers that a process before this one left, in order, with one handler for all.
    ///
    /// - Parameters:
    ///   - args: say on which thread the handler runs.
    ///   - handler: receives each response, whose ``APIResponse/request`` says which it is.
    /// - Returns: how many there are.
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
