import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The storage itself: setting, finding, and the file.
@Suite struct CredentialStorageTests {
    private let folder: TemporaryFolder
    private var path: String { "\(folder.path)/deep/credentials.txt" }
    private let space = ProtectionSpace(scheme: "https", host: "h.test", port: 443, realm: "a\tb\nc=%")

    init() throws { folder = try TemporaryFolder() }

    private func user(_ name: String, _ password: String = "pw") -> Credential {
        Credential(user: name, password: password)
    }

    private func storages() throws -> [CredentialStorage] { [CredentialStorage(), try CredentialStorage(file: path)] }

    @Test func theFirstIsTheDefaultUntilAnotherIs() throws {
        for storage in try storages() {
            #expect(try storage.defaultCredential(for: space) == nil && storage.all().isEmpty)
            try storage.set(user("ann"), for: space)
            try storage.set(user("bob"), for: space)
            #expect(try storage.credentials(for: space) == [user("ann"), user("bob")])
            try storage.set(user("ann", "other"), for: space)
            #expect(try storage.defaultCredential(for: space) == user("ann", "other"))
            try storage.setDefaultCredential(user("bob"), for: space)
            try storage.setDefaultCredential(user("cid"), for: space)
            #expect(try storage.credentials(for: space).map(\.user) == ["cid", "bob", "ann"])
            try storage.remove(user: "cid", for: space)
            #expect(try storage.defaultCredential(for: space) == user("bob"))
            try storage.remove(user: "nobody", for: space)
            try storage.remove(for: space)
            #expect(try storage.all().isEmpty)
            try storage.set(user("ann"), for: space)
            try storage.removeAll()
            #expect(try storage.all().isEmpty)
        }
    }

    @Test func eachSpaceHasItsOwn() throws {
        let spaces = [
            space, ProtectionSpace(scheme: "http", host: "h.test", port: 443, realm: space.realm),
            ProtectionSpace(scheme: "https", host: "g.test", port: 443, realm: space.realm),
            ProtectionSpace(scheme: "https", host: "h.test", port: 444, realm: space.realm),
            ProtectionSpace(scheme: "https", host: "h.test", port: 443),
            ProtectionSpace(scheme: "https", host: "h.test", port: 443, realm: ""),
            ProtectionSpace(
                scheme: "https", host: "h.test", port: 443, realm: space.realm, authenticationScheme: .digest),
            ProtectionSpace(scheme: "https", host: "h.test", port: 443, isProxy: true),
        ]
        for storage in try storages() {
            for (index, space) in spaces.enumerated() { try storage.set(user("user \(index)"), for: space) }
            for (index, space) in spaces.enumerated() {
                #expect(try storage.credentials(for: space) == [user("user \(index)")])
            }
            #expect(try storage.all().map(\.space) == spaces)
        }
        // A new storage reads the file as another process would.
        #expect(try CredentialStorage(file: path).all().map(\.space) == spaces)
    }

    @Test func aSpaceIsWrittenInOneWay() {
        #expect(ProtectionSpace(scheme: "HTTPS", host: "H.Test", port: 443, realm: space.realm) == space)
        let address = ProtectionSpace(scheme: "http", host: "::1", port: 80)
        #expect(address.host == "[::1]" && address == ProtectionSpace(scheme: "http", host: "[::1]", port: 80))
        #expect(
            ProtectionSpace(scheme: "http", host: "p", port: 1, realm: "x", isProxy: true)
                == ProtectionSpace(scheme: "http", host: "p", port: 1, isProxy: true))
        for (url, scheme, host, port) in [
            ("http://p.test:3128", "http", "p.test", 3128), ("p.test:3128/", "http", "p.test", 3128),
            ("http://p.test", "http", "p.test", 1080), ("https://p.test", "https", "p.test", 443),
            ("https://a:b@P.test:8443/", "https", "p.test", 8443), ("[::1]:3128", "http", "[::1]", 3128),
            ("http://[::1]", "http", "[::1]", 1080),
        ] {
            #expect(
                ProtectionSpace(proxy: url) == ProtectionSpace(scheme: scheme, host: host, port: port, isProxy: true))
        }
    }

    @Test func whatCannotBeSentIsRefused() throws {
        for storage in try storages() {
            for credential in [user("a:b"), user("a\n"), user("a", "b\u{7F}")] {
                #expect(throws: APIError.self) { try storage.set(credential, for: space) }
            }
            let digest = ProtectionSpace(scheme: "https", host: "h", port: 443, authenticationScheme: .digest)
            try storage.set(user("a:b"), for: digest)
            for (scheme, host, port) in [
                ("ftp", "h", 80), ("http", "", 80), ("http", "h/x", 80), ("http", "h", 0), ("http", "a b", 80),
            ] {
                #expect(throws: APIError.self) {
                    try storage.set(user("a"), for: ProtectionSpace(scheme: scheme, host: host, port: port))
                }
            }
            #expect(try storage.all().count == 1)
        }
        for path in ["relative", "", "/", "/a/", "/a\u{0}b"] {
            #expect(throws: APIError.self) { try CredentialStorage(file: path) }
        }
    }

    @Test func theFileIsForItsUserAlone() throws {
        let storage = try CredentialStorage(file: path)
        #expect(folder.modes.isEmpty)
        try storage.set(
            user("ä %:", "p\u{20AC} %"),
            for: ProtectionSpace(scheme: "http", host: "h", port: 80, authenticationScheme: .digest))
        #expect(folder.modes == ["700 deep", "600 deep/credentials.txt", "600 deep/credentials.txt.lock"])
    }

    @Test func othersSeeWhatIsChanged() throws {
        let (one, other) = (try CredentialStorage(file: path), try CredentialStorage(file: path))
        try one.set(user("ann"), for: space)
        #expect(try other.defaultCredential(for: space) == user("ann"))
        try other.set(user("bob"), for: space)
        try one.set(user("cid"), for: space)
        #expect(try other.credentials(for: space).map(\.user) == ["ann", "bob", "cid"])
        _ = shell("rm '\(path)'")
        #expect(try one.all().isEmpty && other.all().isEmpty)
    }

    @Test func manyThreadsLoseNothing() async throws {
        let path = path
        let space = space
        let storages = [try CredentialStorage(file: path), try CredentialStorage(file: path), CredentialStorage()]
        await withTaskGroup(of: Void.self) { group in
            for storage in storages {
                for thread in 0..<2 {
                    group.addTask {
                        await onThread {
                            for number in 0..<10 {
                                let name = "\(thread)-\(number)-\(ObjectIdentifier(storage).hashValue)"
                                try? storage.set(Credential(user: name, password: "x"), for: space)
                                _ = try? storage.defaultCredential(for: space)
                            }
                        }
                    }
                }
            }
        }
        #expect(try storages[0].credentials(for: space).count == 40)
        #expect(try storages[1].all().count == 40 && storages[2].all().count == 20)
    }

    @Test(arguments: [
        "", "garbage", "# ntapi credentials 1", "# ntapi credentials 2\n", "# ntapi credentials 1\nhttps\th\n",
        "# ntapi credentials 1\nhttps\th\t443\tserver\tbasic\t\tann\ts3cret",
        "# ntapi credentials 1\nhttps\th\tx\tserver\tbasic\t\tann\ts3cret\n",
        "# ntapi credentials 1\nhttps\th\t443\tboth\tbasic\t\tann\ts3cret\n",
        "# ntapi credentials 1\nhttps\th\t443\tserver\tntlm\t\tann\ts3cret\n",
        "# ntapi credentials 1\nftp\th\t443\tserver\tbasic\t\tann\ts3cret\n", "\u{0}\u{1}",
    ]) func aDamagedFileIsAnErrorAndStays(_ text: String) throws {
        let content = Array(text.utf8)
        folder.write("c", content)
        let storage = try CredentialStorage(file: "\(folder.path)/c")
        for call in [
            { _ = try storage.all() }, { try storage.set(Credential(user: "ann", password: "s3cret"), for: space) },
        ] {
            let error = #expect(throws: APIError.self) { try call() }
            #expect(error?.message.containsSubstring("is damaged") == true, "\(error as Any)")
            #expect(error?.message.containsSubstring("/c") == true)
            #expect(error?.message.containsSubstring("s3cret") == false)
        }
        #expect(folder.read("c") == content)
    }

    @Test func aFileThatCannotBeReadOrWrittenIsAnError() throws {
        folder.write("c", [0xFF, 0xFE])
        #expect(throws: APIError.self) { try CredentialStorage(file: "\(folder.path)/c").all() }
        #expect(throws: APIError.self) { try CredentialStorage(file: folder.path).all() }
        folder.write("file", [])
        for path in ["\(folder.path)/file/c", "/proc/no/c"] {
            let storage = try CredentialStorage(file: path)
            let error = #expect(throws: APIError.self) { try storage.set(user("ann"), for: space) }
            #expect(error?.code == .generic && error?.message.containsSubstring("file/c") == path.hasSuffix("file/c"))
        }
    }

    @Test func nothingPrintsAPassword() throws {
        let credential = user("ann", "s3cret")
        var dumped = ""
        dump(credential, to: &dumped)
        for text in [
            "\(credential)", "\([credential])", String(reflecting: credential), dumped,
            "\(String(describing: [space: credential]))",
        ] {
            #expect(text.containsSubstring("ann") && !text.containsSubstring("s3cret"), "\(text)")
        }
        var configuration = SessionConfiguration.ephemeral
        let storage = CredentialStorage()
        try storage.set(credential, for: space)
        configuration.credentialStorage = storage
        #expect(!"\(configuration)".containsSubstring("s3cret") && !"\(storage)".containsSubstring("s3cret"))
    }

    @Test func eachConfigurationHasOne() throws {
        let first = SessionConfiguration.ephemeral
        #expect(
            first.credentialStorage != nil
                && first.credentialStorage !== SessionConfiguration.ephemeral.credentialStorage)
        #expect(SessionConfiguration.default.credentialStorage === CredentialStorage.shared)
        #expect(SessionConfiguration.background("x").credentialStorage === CredentialStorage.shared)
        #expect(APIClient(configuration: first).credentialStorage === first.credentialStorage)
        #expect(APIClient().credentialStorage == nil)
        var none = SessionConfiguration.ephemeral
        none.credentialStorage = nil
        #expect(APIClient(configuration: none).credentialStorage == nil)
    }

    /// Runs in a process with this home folder.
    @Test func theProgramsIsBesideTheCookies() async throws {
        let home = folder.path
        let (lines, status) = try await ChildProcess.run(
            "CredentialStorageChild", variables: ["XDG_DATA_HOME=\(home)", "NTAPI_CREDENTIAL_CHILD=1"])
        #expect(status == 0, "\(lines)")
        #expect(folder.modes.contains("600 ntapi/credential-child/credentials.txt"), "\(folder.modes)")
    }
}

/// Runs only in the process that the test above starts.
@Suite(.enabled(if: environment("NTAPI_CREDENTIAL_CHILD") != nil)) struct CredentialStorageChild {
    @Test func theSharedOne() throws {
        let space = ProtectionSpace(scheme: "http", host: "h", port: 80)
        var configuration = SessionConfiguration.default
        configuration.applicationName = "credential-child"
        let client = APIClient(configuration: configuration)
        let storage = try #require(client.credentialStorage)
        #expect(storage !== CredentialStorage.shared)
        try storage.set(Credential(user: "ann", password: "pw"), for: space)
        #expect(try CredentialStorage.shared.all().isEmpty)
        #expect(APIClient(configuration: configuration).credentialStorage === storage)
    }
}
