// Ten requests a second, for all processes together: start it several times, in any language.
//
//   fleet http://127.0.0.1:PORT redis://127.0.0.1:6379 [REQUESTS]
#if Redis
    import NTApi
    import NTApiRedis

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Darwin)
        import Darwin
    #endif

    @main struct Fleet {
        static func main() async {
            let words = CommandLine.arguments
            guard (3...4).contains(words.count), let count = Int(words.count > 3 ? words[3] : "100"),
                (1...100_000).contains(count)
            else {
                fail("usage: fleet URL STORE [REQUESTS]", 2)
            }
            do {
                let store = try RedisStore(words[2])
                let client = APIClient(baseURL: words[1])
                client.rateLimiter = RateLimiter([RateLimit(requests: 10)], sharedBy: store, key: "fleet")
                await send(count, with: client)
            } catch {
                fail("error: \(error.message)", 1)
            }
        }

        static func fail(_ text: String, _ status: Int32) -> Never {
            let line = Array("\(text)\n".utf8)
            _ = write(2, line, line.count)
            exit(status)
        }

        static func send(_ count: Int, with client: APIClient) async {
            await withTaskGroup { group in
                for number in 1...count {
                    group.addTask {
                        let response = await client.response("echo")
                        print("request \(number): \(response.error?.message ?? "done")")
                    }
                }
            }
        }
    }
#else
    @main struct Fleet {
        static func main() { print("build the package with --traits Redis") }
    }
#endif
