// Notes and photos of a club, kept by a file storage with the API of Dropbox, version 1.
//
//     swift run byteclub URL[,CONTENT_URL] account | notes | photos
//     swift run byteclub URL read NOTE | write NOTE TEXT | edit NOTE | search WORDS | delete PATH
//     swift run byteclub URL upload FILE | download PHOTO FILE
//
// URL is what `python3 Tests/servers/storage.py` prints, or of a real service, which may have another for the files
// themselves. The credentials of OAuth are BYTECLUB_KEY, BYTECLUB_SECRET, BYTECLUB_TOKEN and BYTECLUB_TOKEN_SECRET in the
// environment. `edit` starts $EDITOR. Ctrl-C cancels an upload or a download; the same command goes on with a download.

import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

func list(_ entries: [Entry], _ nothing: String) {
    if entries.isEmpty { print(nothing) }
    for entry in entries { print(line(of: entry)) }
}

func line(of entry: Entry) -> String { "\(entry.name)  \(entry.size)  \(entry.modified?.description ?? "")" }

func showPhotos(_ club: ByteClub) async throws {
    let photos = try await club.photos()
    guard showsPictures else { return list(photos, "no photos yet") }
    for photo in photos {
        show(try await club.thumbnail(of: photo))
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
    let entry = try await cancellable { try await club.upload(file, progress: draw) }
    finish("uploaded \(entry.name): \(entry.size)")
}

/// What is needed to go on with this photo, if that is what was stopped.
func saved(at path: String, of photo: String) -> ResumeData? {
    let lines = contents(of: path)?.split(separator: "\n") ?? []
    guard lines.count == 2, let data = try? ResumeData(String(lines[1])) else { return nil }
    if lines[0] == photo { return data }
    data.discard()
    return nil
}

/// FILE.resume keeps the photo's name, and what is needed to go on.
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

func run(_ words: [String]) async throws -> Bool {
    guard words.count >= 2 else { return false }
    let urls = words[0].split(separator: ",").map(String.init)
    let credentials = Credentials(
        key: variable("BYTECLUB_KEY") ?? "", secret: variable("BYTECLUB_SECRET") ?? "",
        token: variable("BYTECLUB_TOKEN") ?? "", tokenSecret: variable("BYTECLUB_TOKEN_SECRET") ?? "")
    let club = ByteClub(urls.first ?? "", contentURL: urls.dropFirst().first, credentials)
    switch (words[1], words.count) {
    case ("account", 2):
        let account = try await club.account()
        print("\(account.name) <\(account.email)>: \(account.used) of \(account.quota) bytes used")
    case ("notes", 2): list(try await club.notes(), "no notes yet")
    case ("photos", 2): try await showPhotos(club)
    case ("read", 3): print(try await club.read(words[2]).text)
    case ("write", 4):
        let entry = try await club.write(words[2], words[3])
        print(entry.name == words[2] ? "saved \(words[2])" : "there is a \(words[2]): yours is \(entry.name)")
    case ("edit", 3): try await edit(club, words[2])
    case ("search", 3):
        let entries = try await club.search(words[2])
        print(entries.isEmpty ? "nothing found" : entries.map(\.path).joined(separator: "\n"))
    case ("delete", 3):
        try await club.delete(words[2])
        print("deleted \(words[2])")
    case ("upload", 3): try await upload(club, words[2])
    case ("download", 4): try await download(club, words[2], words[3])
    default: return false
    }
    return true
}

do {
    if try await !run(Array(CommandLine.arguments.dropFirst())) {
        print("usage: byteclub URL account | notes | photos | read NOTE | write NOTE TEXT | edit NOTE")
        print("       | search WORDS | delete PATH | upload FILE | download PHOTO FILE")
        exit(2)
    }
} catch let error as APIError where error.domain == .cancelled {
    finish("cancelled")
    exit(130)
} catch let error as APIError {
    print("error: \(explanation(of: error))")
    exit(1)
} catch {
    print("error: \(error)")
    exit(1)
}
