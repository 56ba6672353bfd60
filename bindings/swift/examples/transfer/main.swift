// Downloads into a file, or uploads a file, and shows progress, speed and the time left.
//
//     swift run transfer get URL FILE
//     swift run transfer put FILE URL
//
// Enter pauses and continues. Ctrl-C stops; the same command then resumes a download where it stopped, even after a
// crash: the program writes the resume data to FILE.resume once a second.

import NTApi
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the handlers pass to the loop. They also run on the main thread, which the compiler cannot know.
final class Outcome: Sendable {
    private let state = Mutex<(progress: TransferProgress, response: APIResponse?)>(
        (TransferProgress(bytes: 0, total: nil), nil))

    var progress: TransferProgress {
        get { state.withLock { $0.progress } }
        set { state.withLock { $0.progress = newValue } }
    }

    var response: APIResponse? {
        get { state.withLock { $0.response } }
        set { state.withLock { $0.response = newValue } }
    }
}

/// Runs the handlers, reads the keyboard and draws, until the response has arrived.
func follow(_ request: APIRequest, _ outcome: Outcome, _ display: inout Display, _ saved: Saved?) -> APIResponse {
    var descriptors = [Mailbox.main.fileDescriptor, STDIN_FILENO, Interrupts.descriptor].map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    var savedAt = now()
    while true {
        poll(&descriptors, nfds_t(descriptors.count), 100)
        if descriptors[2].revents != 0 {
            request.cancel()
            descriptors[2].fd = -1
        }
        if descriptors[1].revents != 0 {
            var line = [UInt8](repeating: 0, count: 256)
            if read(STDIN_FILENO, &line, line.count) <= 0 {
                descriptors[1].fd = -1  // there is no keyboard
            } else if display.isPaused {
                display.isPaused = false
                request.resume()
            } else if request.suspend() {
                display.isPaused = true
            }
        }
        Mailbox.main.drain()
        display.progress = outcome.progress
        if let response = outcome.response { return response }
        display.draw()
        if let saved, now() - savedAt >= 1 {
            saved.save(request.resumeData)
            savedAt = now()
        }
    }
}

/// Begins the request, shows its progress and prints how it ended.
func transfer(_ url: String, _ file: String, isDownload: Bool) -> Int32 {
    let client = APIClient(baseURL: url)
    client.logFlags = []  // an error is printed below
    let saved = isDownload ? Saved(file: file, url: url) : nil
    var args: [APIArg] = [.file(file), .method("PUT")]
    if let saved { args = saved.load().map { [.resume($0)] } ?? [.download(to: file)] }
    let outcome = Outcome()
    let request = client.request(args: args)
    request.setHandler { outcome.response = $0 }
    if isDownload {
        request.setDownloadProgress { outcome.progress = $0 }
    } else {
        request.setUploadProgress { outcome.progress = $0 }
    }
    request.resume()

    var display = Display()
    let response = follow(request, outcome, &display, saved)
    saved?.save(response.resumeData)
    guard let error = response.error else {
        display.end("\(file): \(size(display.progress.bytes)) in \(duration(response.elapsed))")
        return 0
    }
    let again = response.resumeData == nil ? "" : "; the same command goes on"
    display.end("\(file): stopped at \(size(display.progress.bytes))\(again)")
    if error.code == .cancelled { return 130 }
    complain("error: \(error.message)")
    return 1
}

func complain(_ text: String) { write(STDERR_FILENO, "\(text)\n", text.utf8.count + 1) }

Interrupts.listen()
switch Array(CommandLine.arguments.dropFirst()) {
case let words where words.count == 3 && words[0] == "get": exit(transfer(words[1], words[2], isDownload: true))
case let words where words.count == 3 && words[0] == "put": exit(transfer(words[2], words[1], isDownload: false))
default:
    complain("usage: transfer get URL FILE | put FILE URL")
    exit(2)
}
