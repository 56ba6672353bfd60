import NTApi

/// One step for each feature. The steps show all four ways to make a request; your own program needs only one of them.
struct Steps {
    let weather: Weather

    private var client: APIClient { weather.client }

    func search() async throws {
        heading(1, "A search: url args, and defaults that every call gets")
        client.defaults["appid"] = "demo"
        client.defaults["units"] = "metric"
        let response = try await weather.standard("find", [.url("q", "London"), .url("cnt", 5), .url("lang", nil)])
        print("   GET \(response.url)")
        for city in response.json?["list"]?.array ?? [] {
            print("   \(row(city)), \(city["sys"]?["country"]?.string ?? "")")
        }
    }

    /// `perform` waits for the response. Not for `async` code.
    func feedback() throws {
        heading(2, "A form: becomes a POST by itself")
        let response = try client.perform(
            "feedback", args: [.form("name", "Zoë"), .form("text", "Rain & sun, 50 % each")]
        ).get()
        let fields = response.json?["fields"]
        print("   the server read: \"\(fields?["text"]?.string ?? "")\" from \(fields?["name"]?.string ?? "")")
    }

    /// A request that is made first, and started when everything is set. Waiting runs the handlers of the waiting
    /// thread.
    func uploadPhoto() {
        heading(3, "A multipart upload: bytes with the extension png, sent as photo.png")
        let photo = [UInt8](repeating: 0, count: 2_000_000)
        let request = client.request(
            "photo", args: [.url("rate", 2_000_000), .multipart("photo", data: photo, fileExtension: "png")])
        request.setUploadProgress { drawBar("photo.png", $0) }
        request.resume()
        request.wait()
        guard let response = request.response else { return }
        if let error = response.error { print("   \(text(error))") }
        for part in response.json?["parts"]?.array ?? [] {
            print("   the server got \(part["filename"]?.string ?? ""), \(part["size"]?.int ?? 0) bytes")
        }
    }

    func download() async throws {
        heading(4, "A download")
        let response = try await client.send(
            "download", args: [.url("size", 4_000_000), .url("rate", 4_000_000), .option(.rawData)],
            downloadProgress: { drawBar("download", $0) })
        print("   \(response.data.count) bytes in \(milliseconds(response.elapsed))")
    }

    func tenAtOnce() async throws {
        heading(5, "Ten at once, in the order in which they complete")
        let ids = [
            2_643_743, 2_988_507, 2_950_159, 2_657_896, 3_117_735, 3_169_070, 1_850_147, 5_128_581, 2_147_714,
            3_413_829,
        ]
        try await withThrowingTaskGroup(of: APIResponse.self) { group in
            for id in ids { group.addTask { try await weather.standard("weather", [.url("id", id)]) } }
            for try await response in group {
                print("   \(milliseconds(response.elapsed).aligned(to: 7))  \(row(response.json))")
            }
        }
    }

    /// A handler runs on the main thread by default, while that thread runs its mailbox or waits.
    func cancel() {
        heading(6, "A request cancelled at once: its handler is still called, once")
        let request = client.begin("slow", args: [.url("seconds", 30)]) { response in
            if let error = response.error { print("   \(text(error))") }
        }
        request.cancel()
        client.drain()
    }

    func serviceError() async throws {
        heading(7, "An error of the service, mapped to a registered code")
        do throws(APIError) {
            _ = try await weather.standard("find", [.url("q", "Nowhereville")])
        } catch {
            guard error.code == Weather.notFound else { throw error }
            print("   HTTP status \(error.httpStatus ?? 0), and yet: \(text(error))")
        }
    }

    func threads() {
        heading(8, "A handler on each kind of thread")
        threadName = "the main thread"
        show("main", on: .main)
        show("background", on: .background)
        let own = Mailbox.current
        startThread("the thread that began it") {
            show("current", on: .current)
            own.stop()
        }
        own.run()
        show("executor", on: .executor(NewThread()))
    }

    private func show(_ kind: String, on thread: CallbackThread) {
        client.begin("echo", args: [.responseThread(thread)]) { _ in
            print("   \(kind.padded(to: 10)) ran on \(threadName)")
        }.wait()
    }

    private func row(_ city: JSON?) -> String {
        "\(degrees(city?["main"]?["temp"]?.double))  \(city?["name"]?.string ?? "")"
    }
}

/// An executor gets each job and runs it anywhere: here on a new thread, in other programs on a queue or loop.
struct NewThread: APIExecutor {
    func execute(_ job: @escaping @Sendable () -> Void) { startThread("the executor's thread", job) }
}
