import Testing

@testable import NTApi

@Suite struct SuspectConnectionsTests {
    @Test func asksForOneNewConnectionAndNoOldOnes() {
        var suspects = SuspectConnections()
        let key = Origin(scheme: "https", host: "a", port: 443)
        let now = MonotonicTime(nanoseconds: 5_000_000_000)
        #expect(suspects.freshness(for: key, now) == nil)
        suspects.add(key, now)
        let first = suspects.freshness(for: key, now)
        #expect(first?.opensConnection == true && first?.maximumAge == 1)
        let second = suspects.freshness(for: key, now.advanced(bySeconds: 10))
        #expect(second?.opensConnection == false && second?.maximumAge == 10)
        #expect(suspects.freshness(for: key, now.advanced(bySeconds: 601)) == nil)
    }
}
