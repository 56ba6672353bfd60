import Testing

@testable import NTApi

private class Base: APIClient, @unchecked Sendable {}
private class Middle: Base, @unchecked Sendable {}
private final class Leaf: Middle, @unchecked Sendable {}
private final class Sibling: Base, @unchecked Sendable {}

/// Each test uses its own keys, because the global defaults and those of classes belong to the whole process.
@Suite struct DefaultsTests {
    @Test func looksUpInstanceClassSuperclassesGlobal() {
        let key = "order"
        let leaf = Leaf(baseURL: "http://h")
        let places = [
            Defaults.global, APIClient.defaults, Base.defaults, Middle.defaults, Leaf.defaults, leaf.defaults,
        ]
        for (number, place) in places.enumerated() {
            place[key] = JSON(number)
            #expect(leaf.defaults[key]?.int == number)
        }
        #expect(Sibling(baseURL: nil).defaults[key]?.int == 2 && Leaf(baseURL: nil).defaults[key]?.int == 4)
        for (number, place) in places.enumerated().reversed() {
            #expect(leaf.defaults[key]?.int == number)
            place[key] = nil
        }
        #expect(leaf.defaults[key] == nil)
    }

    @Test func nullIsAValueAndNilIsNone() {
        Base.defaults["null"] = 1
        let leaf = Leaf(baseURL: nil)
        leaf.defaults["null"] = JSON.null
        #expect(leaf.defaults["null"]?.isNull == true)
        leaf.defaults["null"] = nil
        #expect(leaf.defaults["null"]?.int == 1)
        Base.defaults["null"] = nil
    }

    @Test func aProviderIsAskedAtEachLookUp() {
        let asked = Log<String>()
        Middle.defaults["fallback"] = "of the class"
        let leaf = Leaf(baseURL: nil)
        leaf.defaults.setProvider("fallback") { key in
            asked.append(key)
            return asked.count == 2 ? nil : JSON(asked.count)
        }
        // If a provider returns nil, the look-up continues with the class.
        #expect((0..<3).map { _ in leaf.defaults["fallback"]?.text } == ["1", "\"of the class\"", "3"])
        #expect(asked.all == ["fallback", "fallback", "fallback"])
        leaf.defaults.setProvider("fallback", nil)
        #expect(leaf.defaults["fallback"]?.string == "of the class")
        Middle.defaults["fallback"] = nil
    }

    @Test func aProviderMayUseTheDefaults() {
        let leaf = Leaf(baseURL: nil)
        leaf.defaults["inner"] = 1
        leaf.defaults.setProvider("outer") { [weak leaf] _ in
            leaf?.defaults["written"] = 2
            return leaf?.defaults["inner"]
        }
        #expect(leaf.defaults["outer"]?.int == 1 && leaf.defaults["written"]?.int == 2)
    }

    @Test func baseURLAndSettingsAreDefaults() throws {
        let client = Leaf(baseURL: nil)
        #expect(client.request("x").httpRequest == nil)
        Leaf.defaults["baseUrl"] = "http://class"
        #expect(client.request("x").httpRequest?.url == "http://class/x")
        client.defaults["baseUrl"] = "http://instance"
        client.defaults["requestTimeout"] = 3
        client.defaults["userAgent"] = "mine"
        let http = try #require(client.request("x").httpRequest)
        #expect(http.url == "http://instance/x" && http.settings.timeouts.idle == 3)
        #expect(http.headers["User-Agent"] == "mine")
        Leaf.defaults["baseUrl"] = nil
    }

    @Test func aDynamicBaseURLIsAskedForEachRequest() {
        let client = Leaf(baseURL: nil)
        let asked = Log<Int>()
        client.defaults.setProvider("baseUrl") { _ in
            asked.append(1)
            return JSON("http://h\(asked.count)")
        }
        let first = client.request().httpRequest?.url
        let second = client.request().httpRequest?.url
        #expect(first != second && first?.hasASCIIPrefix("http://h") == true)
        client.defaults.setProvider("baseUrl", nil)
    }

    @Test(arguments: [
        ("requestTimeout", JSON("5")), ("requestTimeout", 0), ("connectTimeout", -1), ("maximumResponseSize", -1),
        ("maximumResponseSize", 1.5), ("maximumRedirects", "x"), ("maximumConnectionsPerHost", 0), ("httpVersion", "7"),
        ("proxy", 5), ("caFile", true), ("decompression", "yes"), ("userAgent", 1),
    ]) func aDefaultThatCannotBeUsedFailsTheRequest(_ key: String, _ value: JSON) throws {
        let client = TestClient(at: "http://h")
        client.defaults[key] = value
        guard let error = client.request().built.error else {
            Issue.record("accepted")
            return
        }
        #expect(error.code == .invalidRequest)
        #expect(error.message.containsSubstring(key) || key == "httpVersion", "\(error.message)")
        client.defaults[key] = nil
        #expect(client.request().httpRequest != nil)
    }

    @Test func whatIsReplacedIsReleased() {
        final class Owner: Sendable {
            let log: Log<Int>
            init(_ log: Log<Int>) { self.log = log }
            // User code may do this in a deinit. The library must not hold a lock meanwhile.
            deinit {
                Defaults.global["released"] = 1
                log.append(1)
            }
        }
        let log = Log<Int>()
        let client = Leaf(baseURL: nil)
        for round in 1...3 {
            let owner = Owner(log)
            client.defaults.setProvider("owner") { _ in withExtendedLifetime(owner) { nil } }
            #expect(log.count == round - 1)
        }
        do {
            let short = Leaf(baseURL: nil)
            let owner = Owner(log)
            short.defaults.setProvider("owner") { _ in withExtendedLifetime(owner) { nil } }
        }
        #expect(log.count == 3)
        client.defaults["owner"] = 5
        #expect(log.count == 4)
        Defaults.global["released"] = nil
    }

    /// A value is never half-written; under the thread sanitizer, no race.
    @Test func manyThreadsAtOnce() async {
        let client = Leaf(baseURL: "http://h")
        let values: [JSON] = [JSON("a"), ["b": [1, 2, 3]], JSON(4.5)]
        await withTaskGroup { group in
            for worker in 0..<8 {
                group.addTask {
                    for round in 0..<300 {
                        switch (worker + round) % 4 {
                        case 0: client.defaults["raced"] = values[round % 3]
                        case 1: Leaf.defaults["raced"] = values[round % 3]
                        case 2: client.defaults.setProvider("raced") { _ in values[round % 3] }
                        default: client.defaults["raced"] = nil
                        }
                        let found = client.defaults["raced"]
                        #expect(found == nil || values.contains { $0 == found })
                        #expect(client.request("x").httpRequest?.url == "http://h/x")
                    }
                }
            }
        }
        client.defaults["raced"] = nil
        Leaf.defaults["raced"] = nil
    }

    @Test func builtInNamesAreSpelledAsEveryLanguageDoes() {
        let client = APIClient()
        client.defaults["request_timeout"] = 7
        #expect(client.defaults["requestTimeout"] == 7)
        client.defaults["baseURL"] = "http://a"
        #expect(client.defaults["baseUrl"] == "http://a")
        client.defaults.setProvider("user_agent") { key in JSON("asked for " + key) }
        #expect(client.defaults["userAgent"] == "asked for userAgent")
        var configuration = SessionConfiguration.ephemeral
        configuration["exit_timeout"] = 1
        #expect(configuration.exitTimeout == 1)
        client.defaults["my_own"] = 1
        #expect(client.defaults["myOwn"] == nil)
    }

    @Test(arguments: [
        ("requesttimeout", "requestTimeout"), ("requestTimout", "requestTimeout"), ("log-flags", "logFlags"),
        ("maximumConnectionPerHost", "maximumConnectionsPerHost"), ("BaseUrl", "baseUrl"), ("user_agents", "userAgent"),
        ("Proxy", "proxy"),
    ])
    func aNameThatIsNearlyBuiltInIsRefused(name: String, meant: String) {
        let client = APIClient(baseURL: "http://a")
        client.defaults[name] = 1
        #expect(client.perform().error?.message == "there is no default \"\(name)\": did you mean \"\(meant)\"?")
        client.defaults[name] = nil
        #expect(client.settings.problem == nil)
    }

    @Test(arguments: ["appid", "users", "unit", "proxies", "retries", "token", "timeout", "cacheFile", "", "é", "urls"])
    func aNameOfTheProgramsOwnIsLeftAlone(name: String) {
        #expect(DefaultName.nearest(to: name) == nil)
    }
}
