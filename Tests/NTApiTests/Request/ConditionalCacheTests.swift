import Testing

@testable import NTApi

/// What requests with their own condition or range get from a memory cache, with a real server.
@Suite struct ConditionalCacheTests {
    private let time = TestTime()
    private let raw = APIArg.option(.rawData)

    @Test func aConditionIsAnsweredWithoutTheServer() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=60"), ("etag", "x"), ("h-X-More", "1")])
        let whole = await page.get(client)
        time.advance(30)
        for tags in ["\"x1\"", "W/\"x1\"", "\"a,b\", \"x1\"", "*"] {
            let same = await page.get(client, [.header("If-None-Match", tags), .option(.ignoreHTTPErrors)])
            #expect(same.status == 304 && same.error == nil && same.data.isEmpty)
            #expect(same.source == .cache && same.metrics.fromCache && same.metrics.bytesReceived == 0)
            #expect(same.headers["ETag"] == "\"x1\"" && same.headers["Cache-Control"] == "max-age=60")
            #expect(same.headers["Age"] == "30" && same.headers["Content-Type"] == nil && same.headers["X-More"] == nil)
        }
        let other = await page.get(client, [.header("If-None-Match", "\"x2\"")])
        #expect(other.status == 200 && other.source == .cache && other.data.elementsEqual(whole.data))
        let head = await page.get(client, [.method("HEAD"), .header("If-None-Match", "\"x1\"")])
        #expect(head.status == 304 && head.error?.httpStatus == 304 && head.source == .cache)
        #expect(await page.count(client) == 1)
    }

    /// A tag may have bytes that are not UTF-8 (RFC 9110, 8.8.3). The server gets the same bytes back.
    @Test func aTagKeepsItsBytes() async throws {
        let heads = Log<String>()
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                heads.append(request.head)
                let start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nCache-Control: max-age=0\r\nETag: \"caf"
                connection.send(Array(start.utf8) + [0xE9] + Array("\"\r\n\r\n".utf8))
            }
        }
        let client = try session(time.cache())
        for _ in 0..<2 { _ = await client.response("", args: [.baseURL(server.url)]) }
        // The server has received the one byte, which is shown as U+FFFD here.
        #expect(
            heads.all.count == 2 && heads.all[1].containsSubstring("If-None-Match: \"caf\u{FFFD}\""), "\(heads.all)")
    }

    @Test func aDateIsComparedWhereThereIsNoTag() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=60"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")])
        _ = await page.get(client)
        for (date, status) in [("Sun, 06 Nov 1994 08:49:37 GMT", 304), ("Sun, 06 Nov 1994 08:49:36 GMT", 200)] {
            let response = await page.get(client, [.header("If-Modified-Since", date)])
            #expect(response.status == status && response.source == .cache)
            #expect(response.headers["Last-Modified"] == "Sun, 06 Nov 1994 08:49:37 GMT")
        }
        let tagged = await page.get(
            client,
            [.header("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"), .header("If-None-Match", "\"x\"")])
        #expect(tagged.status == 200 && tagged.source == .cache)
        #expect(await page.count(client) == 1)
    }

    @Test func aRangeIsCutOutOfWhatIsStored() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=60"), ("etag", "x"), ("size", "1000")])
        let whole = await page.get(client)
        let total = whole.data.count
        for (range, part) in [("2-7", 2..<8), ("990-99999999999999999999", 990..<total), ("-5", total - 5..<total)] {
            let response = await page.get(client, [.header("Range", "bytes=\(range)"), raw])
            #expect(response.status == 206 && response.error == nil && response.source == .cache)
            #expect(response.data.elementsEqual(Array(whole.data)[part]))
            #expect(response.headers["Content-Range"] == "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(total)")
            #expect(response.headers["Content-Length"] == "\(part.count)" && response.headers["ETag"] == "\"x1\"")
            #expect(response.headers["Content-Type"] == "application/json" && response.metrics.fromCache)
        }
        let beyond = await page.get(client, [.header("Range", "bytes=\(total)-")])
        #expect(beyond.status == 416 && beyond.error?.httpStatus == 416 && beyond.source == .cache)
        #expect(beyond.headers["Content-Range"] == "bytes */\(total)" && beyond.data.isEmpty)
        let same = await page.get(client, [.header("Range", "bytes=0-1"), .header("If-Range", "\"x1\""), raw])
        #expect(same.status == 206 && same.source == .cache && same.data.count == 2)
        let other = await page.get(client, [.header("Range", "bytes=0-1"), .header("If-Range", "\"x0\"")])
        #expect(other.status == 200 && other.source == .cache && other.data.elementsEqual(whole.data))
        #expect(await page.count(client) == 1)
        // The stored response is still complete.
        #expect(await page.get(client).data.elementsEqual(whole.data))
    }

    @Test func whatTheCacheCannotJudgeGoesToTheServer() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=60"), ("etag", "x")])
        _ = await page.get(client)
        let headers = [
            [("Range", "bytes=0-1, 4-5")], [("Range", "lines=0-1")], [("Range", "bytes=5-1")],
            [("If-Match", "\"x1\"")], [("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")],
            [("If-None-Match", "\"x1\""), ("Cache-Control", "no-cache")], [("If-None-Match", "x1")],
            [("If-None-Match", "\"x1\""), ("Host", "h")],
        ]
        for (index, pairs) in headers.enumerated() {
            let response = await page.get(client, pairs.map { .header($0.0, $0.1) })
            #expect(response.source == .network, "\(pairs)")
            #expect(await page.count(client) == index + 2, "\(pairs)")
        }
        for policy in [CachePolicy.reloadIgnoringCache, .reloadRevalidating, .noStore] {
            let response = await page.get(client, [.header("If-None-Match", "\"x1\""), .cachePolicy(policy)])
            #expect(response.status == 304 && response.source == .network)
        }
        let offline: [APIArg] = [.cachePolicy(.returnCachedDontLoad)]
        #expect(await page.get(client, offline + [.header("If-None-Match", "\"x1\"")]).status == 304)
        #expect(await page.get(client, offline + [.header("If-Match", "\"x1\"")]).error?.code == .notCached)
        #expect(await page.get(client, offline + [.header("Range", "bytes=0-1, 4-5")]).error?.code == .notCached)
        #expect(await page.get(client).json?["count"]?.int == 1)
    }

    @Test func aDownloadOfARangeGoesToTheServer() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=60"), ("etag", "x")])
        _ = await page.get(client)
        let file = "\(try TestServers.url("tmp"))/cached-\(UInt64.random(in: 0 ... .max))"
        let response = await page.get(client, [.header("Range", "bytes=0-1"), .download(to: file)])
        #expect(response.source == .network && response.file == file)
        #expect(await page.count(client) == 2)
    }

    @Test func theServersAnswerToARangeIsNeverStored() async throws {
        let client = try session(time.cache())
        let args: [APIArg] = [
            .url("token", "\(UInt64.random(in: 0 ... .max))"), .url("size", "1000"), raw,
            .cachePolicy(.returnCachedElseLoad),
        ]
        let part = await client.response("range", args: args + [.header("Range", "bytes=900-")])
        #expect(part.status == 206 && part.source == .network && part.data.count == 100)
        let whole = await client.response("range", args: args)
        #expect(whole.status == 200 && whole.source == .network && whole.data.count == 1000)
        let again = await client.response("range", args: args + [.header("Range", "bytes=900-")])
        #expect(again.source == .cache && again.data.elementsEqual(part.data))
        #expect(again.headers["Content-Range"] == part.headers["Content-Range"])
    }

    @Test func aStaleResponseIsFreshenedByTheServersAnswer() async throws {
        let client = try session(time.cache())
        let page = CachedPage([("h-Cache-Control", "max-age=10"), ("etag", "x"), ("changes", "2")])
        let whole = await page.get(client)
        time.advance(11)
        let other = await page.get(client, [.header("If-None-Match", "\"x1\"")])
        #expect(other.status == 304 && other.source == .network && other.headers["Age"] == nil)
        let fresh = await page.get(client)
        #expect(fresh.source == .cache && fresh.status == 200 && fresh.data.elementsEqual(whole.data))
        // The server has a new version, so this answer does not freshen the stored response.
        time.advance(11)
        let changed = await page.get(client, [.header("If-None-Match", "\"x2\"")])
        #expect(changed.status == 304 && changed.source == .network)
        #expect(await page.get(client).json?["version"]?.int == 2)
    }
}
