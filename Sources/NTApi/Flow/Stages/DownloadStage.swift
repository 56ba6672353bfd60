/// Asks for the missing part of a file, for the next part when the server sends less, and for the whole file when the
/// existing bytes cannot be used.
struct DownloadStage: Stage {
    /// The file's state. The transport writes the body.
    var download: Download
    /// Whether the program has the resume data.
    var isTaken: Bool
    private var given: HTTPRequest?

    /// - Parameter request: the request that was sent, when the stage is added for an answer.
    init(_ download: Download, sent request: HTTPRequest? = nil) {
        self.download = download
        isTaken = download.resumeData != nil
        given = request
    }

    mutating func send(_ trip: inout Trip) -> Step {
        guard trip.reason != .inspection else { return .on }
        let isFirst = given == nil
        given = trip.request
        guard !isFirst || download.resumeData != nil else { return .on }
        return .wait(.file(isFirst ? .begin(download, trip.request) : .again(download, trip.request)))
    }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        guard trip.reason != .inspection, let given, download.hasNext(after: answer.result.error) else { return .on }
        return .wait(.file(.next(download, given)))
    }

    mutating func resume(
        download changed: Download, _ request: HTTPRequest?, _ answer: inout Answer?, _ trip: inout Trip
    ) -> Step {
        download = changed
        guard let request else { return .on }
        trip.request = request
        return answer == nil ? .on : .again(Again(.range))
    }
}

/// Work on the file of a download, on a thread that may wait for the disk.
indirect enum DownloadWork: Sendable {
    /// The request is sent for the first time.
    case begin(Download, HTTPRequest)
    /// The request is sent again.
    case again(Download, HTTPRequest)
    /// The file is incomplete or cannot be used.
    case next(Download, HTTPRequest)
}
