/// Credentials on disk, for nobody but the user to read, in a file that is only ever replaced as a whole.
///
/// Processes and storages that write take turns by a lock on a file beside it.
struct CredentialFile: Sendable {
    /// Why the file cannot be used.
    struct Problem: Error, CustomStringConvertible {
        let description: String

        init(_ error: SystemError) { description = "\(error)" }

        init(_ path: String, _ damage: CredentialList.Damage) {
            description = "the file \(path) is damaged: \(damage.reason); repair or remove it"
        }
    }

    let path: String

    /// Nil when there is no file.
    var stamp: FileStamp? { FileStamp(path) }

    /// One that is not there is empty.
    func read() throws(Problem) -> CredentialList {
        let bytes: [UInt8]?
        do throws(SystemError) { bytes = try SystemFile.read(path) } catch { throw Problem(error) }
        guard let bytes else { return CredentialList() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(path, CredentialList.Damage(reason: "it is not UTF-8"))
        }
        do throws(CredentialList.Damage) {
            return try CredentialList(text: text)
        } catch {
            throw Problem(path, error)
        }
    }

    /// Changes what is there now. One that is damaged stays as it is.
    func change(_ body: (inout CredentialList) -> Void) throws(Problem) -> (list: CredentialList, stamp: FileStamp?) {
        var result: Result<CredentialList, Problem> = .success(CredentialList())
        var stamp: FileStamp?
        do throws(SystemError) {
            try SystemFile.makeFolder(folder)
            try SystemFile.withLock("\(path).lock", patience: 2) { () throws(SystemError) in
                result = Result { () throws(Problem) in try read() }
                guard case .success(let before) = result else { return }
                var list = before
                body(&list)
                if list != before { try SystemFile.replace(path, with: Array(list.text.utf8)) }
                result = .success(list)
                stamp = self.stamp
            }
        } catch {
            throw Problem(error)
        }
        return (try result.get(), stamp)
    }

    private var folder: String {
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return folder.isEmpty ? "/" : folder
    }
}
