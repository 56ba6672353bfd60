/// Asks for the part of a file that is missing, for the next part where the server sends less than that, and for all of it
/// where what is there is of no use.
struct Downloading: Stage {
    /// The file. Its body is written by whoever receives it.
    var download: Download
    private var given: HTTPRequest?

    /// - Parameter request: what has been sent already, where the stage is made for an answer.
    init(_ download: Download, sent request: HTTPRequest? = nil) {
        self.download = download
        given = request
    }

    mutating func send(_ trip: inout Trip) -> Step {
        guard trip.reason != .inspection else { return .on }
        let isFirst = given == nil
        given = trip.request
        guard !isFirst || download.resumeData != nil else { return .on }
        return .wait(.file(isFirst ? .begin(download, trip.request) : .again(download, trip.request)))
    }

    /// The file was worked on.
    mutating func change(_ changed: Download) {
        // The program may have asked for the resume data meanwhile.
        let isTaken = download.isTaken
        download = changed
        if isTaken { download.isTaken = true }
    }

    mutating func receive(_ answer: inout Answer, _ trip: inout Trip) -> Step {
        guard trip.reason != .inspection, let given, download.hasNext(after: answer.result.error) else { return .on }
        return .wait(.file(.next(download, given)))
    }

    mutating func resume(_ reply: Reply, _ answer: inout Answer?, _ trip: inout Trip) -> Step {
        guard case .file(let changed, let request) = reply else { return .on }
        change(changed)
        guard answer != nil else {
            if let request { trip.request = request }
            return .on
        }
        guard let request else { return .on }
        trip.request = request
        return .again(.range)
    }
}

/// What is done with the file of a download, on a thread that may wait for the disk.
indirect enum DownloadWork: Sendable {
    /// The request is sent first.
    case begin(Download, HTTPRequest)
    /// It is sent once more.
    case again(Download, HTTPRequest)
    /// The file is not whole, or of no use.
    case next(Download, HTTPRequest)
}
