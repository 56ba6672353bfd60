import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Both pollers behave alike.
@Suite struct PollerTests {
    private func pair() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        #if canImport(Glibc)
            let stream = Int32(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        try #require(socketpair(AF_UNIX, stream, 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    private func ready(_ poller: some Poller, _ milliseconds: Int32 = 0) -> [Int32: Interest] {
        var ready: [Int32: Interest] = [:]
        _ = poller.wait(milliseconds: milliseconds) { ready[$0] = $1 }
        return ready
    }

    private func check(_ poller: some Poller, isKnown: Bool) throws {
        let (near, far) = try pair()
        if isKnown { poller.didOpen(near) }
        poller.want(.read, of: near)
        #expect(ready(poller).isEmpty)
        poller.want([.read, .write], of: near)
        #expect(ready(poller) == [near: .write])
        poller.want(.read, of: near)
        #expect(write(far, "x", 1) == 1)
        #expect(ready(poller) == [near: .read])
        // The descriptor is dropped while it is ready. It is not reported again.
        poller.want([], of: near)
        #expect(ready(poller).isEmpty && ready(poller).isEmpty)
        poller.want(.read, of: near)
        #expect(ready(poller) == [near: .read])
        // It is dropped and added again immediately.
        poller.want([], of: near)
        poller.want(.read, of: near)
        #expect(ready(poller) == [near: .read])
        // The other end is closed.
        close(far)
        #expect(ready(poller)[near]?.contains(.read) == true)
        poller.want([], of: near)
        if isKnown { poller.didClose(near) }
        close(near)
        // Another socket gets the same number.
        let (again, other) = try pair()
        if isKnown { poller.didOpen(again) }
        poller.want(.read, of: again)
        #expect(write(other, "x", 1) == 1)
        #expect(ready(poller) == [again: .read])
        poller.want([], of: again)
        if isKnown { poller.didClose(again) }
        close(again)
        close(other)
    }

    private func checkWaking(_ poller: some Poller) {
        for _ in 0..<3 {
            let waker = poller.waker
            #expect(Thread.start(name: "test-waker") { waker.wake() })
            // Without the wake-up, this would take a minute.
            let start = MonotonicTime.now()
            #expect(ready(poller, 60_000).isEmpty)
            #expect(MonotonicTime.now().seconds(since: start) < 50)
        }
    }

    @Test(arguments: [false, true]) func pollKeepsItsPromises(isKnown: Bool) throws {
        let poller = try #require(PollPoller())
        try check(poller, isKnown: isKnown)
        checkWaking(poller)
    }

    #if os(Linux)
        @Test(arguments: [false, true]) func epollKeepsItsPromises(isKnown: Bool) throws {
            let poller = try #require(EpollPoller())
            try check(poller, isKnown: isKnown)
            checkWaking(poller)
        }

        @Test func oneWaitReportsAllThatIsReady() throws {
            let poller = try #require(EpollPoller())
            let (near, far) = try pair()
            let copies = (0..<300).map { _ in dup(near) }
            for copy in copies { poller.want(.read, of: copy) }
            #expect(write(far, "x", 1) == 1)
            #expect(Set(ready(poller).keys) == Set(copies))
            for descriptor in copies + [near, far] { close(descriptor) }
        }
    #endif
}
