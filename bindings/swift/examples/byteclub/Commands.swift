import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The commands, and how many words follow each.
let commands: [String: (words: Int, run: @Sendable (ByteClub, [String]) async throws -> Void)] = [
    "account": (0, { club, _ in try await showAccount(club) }),
    "notes": (0, { club, _ in list(try await club.notes(), "no notes yet") }),
    "photos": (0, { club, _ in try await showPhotos(club) }),
    "read": (1, { club, words in print(try await club.read(words[0]).text) }),
    "write": (2, { club, words in try await write(club, words[0], words[1]) }),
    "edit": (1, { club, words in try await edit(club, words[0]) }),
    "search": (1, { club, words in try await search(club, words[0]) }),
    "delete": (1, { club, words in try await delete(club, words[0]) }),
    "upload": (1, { club, words in try await upload(club, words[0]) }),
    "download": (2, { club, words in try await download(club, words[0], words[1]) }),
]

func showAccount(_ club: ByteClub) async throws {
    let account = try await club.account()
    print("\(account.name) <\(account.email)>: \(account.used) of \(account.quota) bytes used")
}

func write(_ club: ByteClub, _ name: String, _ text: String) async throws {
    let entry = try await club.write(name, text)
    print(entry.name == name ? "saved \(name)" : "there is a \(name): yours is \(entry.name)")
}

func list(_ entries: [Entry], _ nothing: String) {
    if entries.isEmpty { print(nothing) }
    for entry in entries { print(line(of: entry)) }
}

func line(of entry: Entry) -> String { "\(entry.name)  \(entry.size)  \(entry.modified?.description ?? "")" }

func showPhotos(_ club: ByteClub) async throws {
    let photos = try await club.photos()
    guard let display = PictureDisplay.best, !photos.isEmpty else { return list(photos, "no photos yet") }
    for photo in photos {
        print(display.text(try await club.thumbnail(of: photo, for: display)))
        print(line(of: photo))
    }
}

func edit(_ club: ByteClub, _ name: String) async throws {
    let note = try await club.read(name)
    guard let text = edited(note.text) else { return print("the editor has failed: nothing is changed") }
    guard text != note.text else { return print("not changed") }
    let entry = try await club.write(name, text, replacing: note.entry)
    print(entry.path == note.entry.path ? "saved \(name)" : "somebody else has changed it: yours is \(entry.name)")
}

func upload(_ club: ByteClub, _ file: String) async throws {
    guard [".jpg", ".jpeg"].contains(where: file.lowercased().hasSuffix) else {
        throw Failure("a photo is a file that ends in .jpg: \(file)", status: 2)
    }
    let entry = try await cancellable { try await club.upload(file, progress: draw) }
    finish("uploaded \(entry.name): \(entry.size)")
    try await showPhotos(club)
}

func delete(_ club: ByteClub, _ path: String) async throws {
    guard path.contains(where: { $0 != "/" }) else {
        throw Failure("PATH must be the name of a note, or photos/NAME", status: 2)
    }
    try await club.delete(path)
    print("deleted \(path)")
}

func search(_ club: ByteClub, _ words: String) async throws {
    let entries = try await club.search(words)
    let root = "/\(ByteClub.folder)/"
    for entry in entries { print(entry.path.hasPrefix(root) ? "\(entry.path.dropFirst(root.count))" : entry.path) }
    if entries.isEmpty { print("nothing found") }
}

/// The resume data for this photo, if its download was stopped.
func saved(at path: String, of photo: String) -> ResumeData? {
    let lines = contents(of: path)?.split(separator: "\n") ?? []
    guard lines.count == 2, let data = try? ResumeData(String(lines[1])) else { return nil }
    if lines[0] == photo { return data }
    data.discard()
    return nil
}

/// FILE.resume contains the photo's name and the resume data.
func download(_ club: ByteClub, _ photo: String, _ file: String) async throws {
    let path = "\(file).resume"
    let resuming = saved(at: path, of: photo)
    let response = try await cancellable {
        await club.download(photo, to: file, resuming: resuming, progress: draw)
    }
    if let data = response.resumeData, write("\(photo)\n\(data.text)\n", to: path) {
        finish("stopped; the same command goes on")
    } else {
        remove(path)
    }
    try response.get()
    finish("downloaded \(file)")
}
