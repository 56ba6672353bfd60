extension APIClient {
    /// Sends a request and awaits the head of its response; the body follows piece by piece.
    ///
    /// ```swift
    /// let stream = try await client.stream("export", args: [.timeout(30)])
    /// print(stream.status, stream.headers["Content-Type"] ?? "")
    /// for try await chunk in stream { total += chunk.count }
    /// ```
    ///
    /// While nobody asks for a piece the network waits, so that memory stays bounded. When the loop is left, the stream is
    /// dropped or the task is cancelled, the request is cancelled. Of an HTTP error the body is not streamed, unless the option
    /// `ignoreHTTPErrors` is set.
    ///
    /// - Throws: the response's error, where it stands before there is a body to read.
    public func stream(_ command: String = "", args: [APIArg] = []) async throws(APIError) -> ResponseStream {
        let source = StreamSequenceSource(client: self, command: command, args: args, format: .bytes)
        let reading = source.begin()
        let response = await withTaskCancellationHandler {
            await reading.reader.head()
        } onCancel: {
            reading.request.cancel()
        }
        // Without a body the iteration is over at once.
        try response?.get()
        return ResponseStream(reading)
    }

    /// The values of a response that has one in each line (JSON Lines, NDJSON, RFC 7464), as they arrive.
    ///
    /// ```swift
    /// for try await value in client.lines("changes") { print(value["id"]?.int ?? 0) }
    /// ```
    ///
    /// Each iteration is a request of its own. While nobody asks for a value the network waits. When the loop is left or the
    /// task is cancelled, the request is cancelled. A line that is no JSON ends it with `invalid JSON`, one that is longer than
    /// `maximumResponseSize`, or 16 MiB, with `response too large`.
    public func lines(_ command: String = "", args: [APIArg] = []) -> JSONLines {
        JSONLines(source: StreamSequenceSource(client: self, command: command, args: args, format: .jsonLines))
    }

    /// The events of a stream of server-sent events (WHATWG HTML, 9.2), over as many connections as it takes.
    ///
    /// ```swift
    /// for try await event in client.events("updates") { print(event.type, event.data) }
    /// ```
    ///
    /// When a connection ends, another is made with Last-Event-ID, after the time that the server asks for, and after ever
    /// longer pauses while it fails. The iteration ends when the server answers with 204; it fails on an HTTP error other than
    /// 5xx, on something that is no stream of events, and with the option `maximumFailures` after so many failures in a row.
    /// What a POST began is not gone on with unless the option `reconnect` says so. To go on from an event of an earlier time,
    /// send the header Last-Event-ID.
    ///
    /// Each iteration is a request of its own. While nobody asks for an event the network waits. When the loop is left or the
    /// task is cancelled, the request is cancelled.
    public func events(_ command: String = "", args: [APIArg] = []) -> ServerSentEvents {
        ServerSentEvents(
            source: StreamSequenceSource(client: self, command: command, args: args, format: .serverEvents))
    }
}
