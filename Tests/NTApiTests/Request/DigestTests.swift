import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Digest (RFC 7616), as servers and callers see it.
@Suite struct DigestTests {
    private func args(_ user: String = "ann", _ password: String = "pw", _ more: [APIArg] = []) -> [APIArg] {
        [.url("user", user), .url("password", password), .digestAuth(user, password)] + more
    }

    @Test(arguments: ["MD5", "MD5-sess", "SHA-256", "SHA-256-sess"], ["auth", "none"])
    func algorithms(_ algorithm: String, _ qop: String) async throws {
        // A -sess algorithm needs the client's nonce, which is not sent without qop.
        guard qop == "auth" || !algorithm.hasSuffix("-sess") else { return }
        let client = try TestClient.of("fault")
        let response = try await client.send("digest/\(algorithm)", args: args("ann", "pw", [.url("qop", qop)]))
        #expect(response.status == 200 && response.json?["method"]?.string == "GET")
        #expect(response.headers["WWW-Authenticate"] == nil && response.metrics.retries == 0)
    }

    @Test(arguments: [("", ""), ("", "pw"), ("ann", ""), ("jörg", "pässwörd"), (#"a"b\c"#, #"p"w\"#), ("a:b", "c:d")])
    func namesOfAnyKind(_ user: String, _ password: String) async throws {
        let client = try TestClient.of("fault")
        #expect(try await client.send("digest/SHA-256", args: args(user, password)).status == 200)
    }

    /// The challenges of RFC 7616 and RFC 9110, 11.2, in all their forms.
    @Test(
        arguments: [
            "", "blanks", "order", "unknown", "unknown, in one line", "behind Basic", "Latin-1", "UTF-8", "opaque",
            "userhash",
        ], ["MD5", "MD5-sess", "SHA-256", "SHA-512-256", "SHA-512-256-sess"])
    func formsOfAChallenge(_ form: String, _ algorithm: String) async throws {
        let client = try TestClient.of("fault")
        for qop in ["auth", "auth-int", "AUTH-INT , Auth"] {
            let response = await client.response(
                "digest/\(algorithm)",
                args: args("jörg", "pässwörd", [.url("form", form), .url("qop", qop), .form("a", "b")]))
            #expect(response.json?["body"]?.string == "a=b", "\(qop): \(response.error as Any)")
        }
    }

    /// An answer that cannot be computed is never sent.
    @Test func whatCannotBeAnswered() async throws {
        let client = try TestClient.of("fault")
        let chunks = APIArg.stream(stream([1, 2, 3], length: nil))
        for (query, word) in [
            ([APIArg.url("form", "only unknown")], "SHA3-256"), ([.url("qop", "x")], "qop"),
            ([.url("qop", "auth-int"), chunks], "auth-int"),
        ] {
            let key = "digest-refused-\(UInt64.random(in: 0 ... .max))"
            let response = await client.response("digest", args: args("ann", "pw", query + [.url("token", key)]))
            #expect(response.error?.code == .authentication && response.status == 401)
            #expect(response.error?.message.containsSubstring(word) == true, "\(response.error as Any)")
            let seen = try await client.send("seen", args: [.url("token", key)])
            #expect(seen.json?["count"]?.int == 1)
        }
    }

    /// The request is suspended between the challenge and its answer, at random moments.
    @Test(arguments: ["fault", "fault_tls"]) func suspended(_ server: String) async throws {
        let client = try TestClient.of(server)
        var generator = SeededGenerator(SeededGenerator.ofThisRun)
        for _ in 0..<50 {
            let key = "digest-suspended-\(UInt64.random(in: 0 ... .max))"
            let request = client.request(
                "digest", args: args("ann", "pw", [.form("a", "b"), .url("token", key), .responseThread(.background)]))
            let responses = Log<APIResponse>()
            request.setHandler { responses.append($0) }
            request.resume()
            while responses.count == 0 {
                for _ in 0..<Int.random(in: 0..<200, using: &generator) { await Task.yield() }
                request.suspend()
                request.resume()
            }
            #expect(responses.all.first?.json?["body"]?.string == "a=b", "\(responses.all.first?.error as Any)")
            let seen = try await client.send("seen", args: [.url("token", key)])
            #expect(seen.json?["count"]?.int == 2)
        }
    }

    @Test func httpbinAgrees() async throws {
        let client = try TestClient.of("httpbin")
        for algorithm in ["MD5", "SHA-256"] {
            let response = try await client.send(
                "digest-auth/auth/ann/pw/\(algorithm)", args: [.digestAuth("ann", "pw")])
            #expect(response.json?["authenticated"]?.bool == true)
        }
        let refused = await client.response("digest-auth/auth/ann/pw", args: [.digestAuth("ann", "no")])
        #expect(refused.status == 401 && refused.error?.code == .httpError)
    }

    @Test func aWrongPasswordIsNotTriedAgain() async throws {
        let client = try TestClient.of("fault")
        let key = "digest-wrong-\(UInt64.random(in: 0 ... .max))"
        let response = await client.response(
            "digest", args: [.url("user", "ann"), .url("password", "pw"), .digestAuth("ann", "no"), .url("token", key)])
        #expect(response.status == 401 && response.json?["challenged"]?.bool == true)
        let seen = try await client.send("seen", args: [.url("token", key)])
        #expect(seen.json?["count"]?.int == 2)
    }

    /// The body is sent once, and its progress counts it once.
    @Test(arguments: ["copied", "source", "multipart", "stream", "chunked", "file"], [false, true])
    func bodies(_ kind: String, _ closes: Bool) async throws {
        let client = try TestClient.of("fault")
        let bytes = Array(String(repeating: "0123456789", count: kind == "copied" ? 100 : 30_000).utf8)
        let key = "digest-body-\(UInt64.random(in: 0 ... .max))"
        let path = "/tmp/ntapi-digest-\(UInt64.random(in: 0 ... .max))"
        defer { remove(path) }
        let body: APIArg
        switch kind {
        case "multipart": body = .multipart("part", data: bytes)
        case "stream", "chunked": body = .stream(stream(bytes, length: kind == "stream" ? Int64(bytes.count) : nil))
        case "file":
            let file = try #require(fopen(path, "w"))
            fwrite(bytes, 1, bytes.count, file)
            fclose(file)
            body = .file(path)
        default: body = .data(bytes)
        }
        let told = Log<TransferProgress>()
        let response = try await client.send(
            "digest", args: args("ann", "pw", [body, .url("token", key), .url("close", closes ? "1" : nil)]),
            uploadProgress: { told.append($0) })
        #expect(response.json?["method"]?.string == "POST")
        let size = try #require(response.json?["size"]?.int)
        #expect(kind == "multipart" ? size > bytes.count : size == bytes.count)
        #expect(told.all.last == TransferProgress(bytes: Int64(size), total: Int64(size)))
        let seen = try await client.send("seen", args: [.url("token", key)])
        #expect(
            seen.json?["count"]?.int == 2 && seen.json?[path: "requests[0].size"]?.int == 0,
            "\(seen.json.map { String($0.text.prefix(3000)) } ?? "")")
    }

    /// The nonce expires while the body is sent, so the body is sent again from its start.
    @Test func aStaleNonce() async throws {
        let client = try TestClient.of("fault")
        let bytes = [UInt8](repeating: 65, count: 300_000)
        let restarts = Log<Bool>()
        for (id, body) in [
            ("a", APIArg.data(bytes)), ("b", .multipart("p", data: bytes)),
            ("c", .stream(stream(bytes, length: nil, restarts: restarts))),
        ] {
            let key = "digest-stale-\(id)-\(UInt64.random(in: 0 ... .max))"
            let response = try await client.send(
                "digest", args: args("ann", "pw", [body, .url("stale", 2), .url("id", key)]))
            #expect(response.json?["size"]?.int ?? 0 >= bytes.count)
        }
        #expect(restarts.count == 2)
        let gone = await client.response(
            "digest",
            args: args("ann", "pw", [.stream(stream(bytes, length: nil, rewinds: false)), .url("stale", "always")]))
        #expect(gone.error?.message.containsSubstring("cannot be sent again") == true, "\(gone.error as Any)")
        let endless = await client.response("digest", args: args("ann", "pw", [.url("stale", "always")]))
        #expect(endless.error?.message.containsSubstring("stale") == true)
    }

    /// One request gets a challenge without an answer. The next request does not use this old challenge.
    @Test func aChallengeOfAnotherServerIsForgotten() async throws {
        let client = try TestClient.of("fault")
        for _ in 0..<5 {
            let key = "digest-forgotten-\(UInt64.random(in: 0 ... .max))"
            let asked = await client.response("digest", args: [.url("user", "ann"), .url("password", "pw")])
            #expect(asked.status == 401)
            _ = try await client.send("digest", args: args("ann", "pw", [.url("token", key)]))
            let seen = try await client.send("seen", args: [.url("token", key)])
            #expect(seen.json?["count"]?.int == 2)
        }
    }

    /// libcurl marks the connection when it holds back a body. The mark must not hold back the body of another request.
    @Test func othersKeepTheirBodies() async throws {
        let client = try TestClient.of("fault")
        for _ in 0..<10 {
            await withTaskGroup { group in
                for index in 0..<36 {
                    group.addTask {
                        // Random delays, so that they do not all begin in the same order.
                        for _ in 0..<Int.random(in: 0..<100) { await Task.yield() }
                        let response = await client.response(
                            index % 3 == 0 ? "digest" : "echo",
                            args: [.data(Array("the body".utf8))] + (index % 3 == 0 ? self.args() : []))
                        #expect(response.json?["body"]?.string == "the body")
                    }
                }
            }
        }
    }

    /// Handles are pooled and connections shared. Neither may keep state of the last request.
    @Test func credentialsStayWithTheirRequest() async throws {
        let client = try TestClient.of("fault")
        for _ in 0..<3 {
            _ = try await client.send("digest", args: args())
            let plain = try await client.send("echo")
            #expect(plain.json?[path: "header.authorization"] == nil)
            #expect(await client.response("digest", args: [.url("user", "ann"), .url("password", "pw")]).status == 401)
            _ = try await client.send("digest", args: args("bob", "other"))
        }
    }

    /// libcurl marks the connection when it holds back a body for a challenge, and may leave the mark set.
    @Test func noOtherRequestLosesItsBody() async throws {
        let bodies = await onThread { () -> [String?] in
            guard let client = try? TestClient.of("fault") else { return [] }
            return (0..<3).map { number in
                // The server refuses with a challenge that Digest cannot answer, so there is no second transfer.
                _ = client.perform("status/401", args: [.digestAuth("a", "b"), .data([1, 2, 3])])
                return client.perform("echo", args: [.form("n", number)]).json?["body"]?.string
            }
        }
        #expect(bodies == ["n=0", "n=1", "n=2"])
    }

    @Test func theBodyOfAChallengeIsNotSeen() async throws {
        let client = try TestClient.of("fault")
        let told = Log<TransferProgress>()
        let response = try await client.send(
            "digest", args: args(), downloadProgress: { told.append($0) })
        #expect(told.all.allSatisfy { $0.total == Int64(response.data.count) })
        #expect(told.all.last?.bytes == Int64(response.data.count))
        #expect(response.metrics.bytesReceived == Int64(response.data.count))
    }

    /// The response's body goes to its file, but the challenge's body does not.
    @Test(arguments: [APIArg.url("a", 1), .data([1, 2, 3])]) func aDownload(_ more: APIArg) async throws {
        let client = try TestClient.of("fault")
        let folder = "/tmp/ntapi-digest-\(UInt64.random(in: 0 ... .max))"
        mkdir(folder, 0o700)
        defer { _ = shell("rm -r \(folder)") }
        let response = try await client.send(
            "digest", args: args("ann", "pw", [more, .download(to: "\(folder)/there")]))
        #expect(response.file == "\(folder)/there")
        #expect(shell("ls -A \(folder)") == Array("there\n".utf8))
        #expect(String(decoding: shell("cat \(folder)/there"), as: UTF8.self).containsSubstring("listener"))
    }

    /// A request does not answer a challenge of another server.
    @Test func notAcrossOrigins() async throws {
        let client = try TestClient.of("fault")
        let key = "digest-cross-\(UInt64.random(in: 0 ... .max))"
        let other = "\(try TestServers.url("fault_other"))/digest?user=ann&password=pw&token=\(key)"
        let response = await client.response(
            "redirect/to", args: [.url("url", other), .url("status", 307), .digestAuth("ann", "pw"), .form("a", "b")])
        #expect(response.status == 401)
        let seen = try await client.send("seen", args: [.url("token", key)])
        #expect(seen.json?["count"]?.int == 1 && seen.json?[path: "requests[0].header.authorization"] == nil)
        let same = "\(try TestServers.url("fault"))/digest?user=ann&password=pw"
        let followed = try await client.send("redirect/to", args: [.url("url", same), .digestAuth("ann", "pw")])
        #expect(followed.status == 200 && followed.metrics.redirects == 1)
    }

    @Test func theLastOfTheHeadersRules() async throws {
        let client = try TestClient.of("fault")
        let bearer = try await client.send("echo", args: [.digestAuth("ann", "pw"), .bearer("t")])
        #expect(bearer.json?[path: "header.authorization"]?.string == "Bearer t")
        _ = try await client.send("digest", args: [.bearer("t")] + args())
        #expect(APIArg.digestAuth("ann", "pw").description == "digestAuth(<redacted>, <redacted>)")
        #expect(APIArg.digestAuth(nil, "pw").isSuppressed)
        let command = client.request("x", args: [.digestAuth("ann", "pw")]).curlCommand
        #expect(command?.containsSubstring("--digest --user '<redacted>'") == true)
        #expect(await client.response("echo", args: [.digestAuth("a\n", "b")]).error?.code == .invalidRequest)
    }

    private func stream(
        _ bytes: [UInt8], length: Int64?, rewinds: Bool = true, restarts: Log<Bool>? = nil
    ) -> BodyStream {
        let offset = Lock(0)
        let rewind: @Sendable () -> Bool = {
            restarts?.append(true)
            offset.withLock { $0 = 0 }
            return true
        }
        return BodyStream(length: length, rewind: rewinds ? rewind : nil) { buffer in
            offset.withLock { offset in
                let count = min(buffer.count, bytes.count - offset)
                bytes[offset..<(offset + count)].withUnsafeBytes { buffer.copyMemory(from: $0) }
                offset += count
                return count
            }
        }
    }
}
