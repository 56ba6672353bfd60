import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The content of FILE.resume: the URL and the resume data.
struct Saved {
    let path: String
    let url: String

    init(file: String, url: String) {
        path = "\(file).resume"
        self.url = url
    }

    /// Nil when there is no such file, or when it is for another URL.
    func load() -> ResumeData? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        guard let url = line(of: file), let text = line(of: file), let data = try? ResumeData(text) else { return nil }
        if url == self.url { return data }
        data.discard()
        return nil
    }

    /// Writes the file, or removes it when there is nothing to resume. If the program crashes meanwhile, the old file
    /// stays.
    func save(_ data: ResumeData?) {
        let new = "\(path).new"
        guard let data, let file = fopen(new, "w") else {
            remove(new)
            remove(path)
            return
        }
        fputs("\(url)\n\(data.text)\n", file)
        fclose(file)
        rename(new, path)
    }

    private func line(of file: UnsafeMutablePointer<FILE>) -> String? {
        var (line, room): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
        defer { free(line) }
        let count = getline(&line, &room, file)
        guard count > 0, let line else { return nil }
        return String(cString: line).split(separator: "\n").first.map(String.init)
    }
}
