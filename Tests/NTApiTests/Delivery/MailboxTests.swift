import Testing

@testable import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct MailboxTests {
    private func isReadable(_ mailbox: Mailbox) -> Bool {
        var entry = pollfd(fd: mailbox.fileDescriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1 && entry.revents & Int16(POLLIN) != 0
    }

    private func post(_ mailbox: Mailbox, _ callback: @escaping @Sendable () -> Void) {
        _ = mailbox.post([Job(callback)])
    }

    @Test func drainRunsWhatWaitsInOrder() {
        let (mailbox, ran) = (Mailbox(), Log<Int>())
        for number in 0..<5 { post(mailbox) { ran.append(number) } }
        #expect(mailbox.drain() == 5 && ran.all == [0, 1, 2, 3, 4])
        #expect(mailbox.drain() == 0)
    }

    /// Callbacks that begin new requests must not keep an event loop inside `drain` forever.
    @Test func drainLeavesWhatArrivesMeanwhile() {
        let (mailbox, ran) = (Mailbox(), Log<Int>())
        post(mailbox) {
            ran.append(1)
            _ = mailbox.post([Job { ran.append(2) }])
        }
        #expect(mailbox.drain() == 1 && ran.all == [1])
        #expect(isReadable(mailbox))
        #expect(mailbox.drain() == 1 && ran.all == [1, 2])
    }

    @Test func drainInsideOfACallbackRunsTheRest() {
        let (mailbox, ran) = (Mailbox(), Log<String>())
        post(mailbox) {
            ran.append("outer")
            mailbox.drain()
            ran.append("end of outer")
        }
        post(mailbox) { ran.append("inner") }
        #expect(mailbox.drain() == 1)
        #expect(ran.all == ["outer", "inner", "end of outer"] && mailbox.drain() == 0)
    }

    @Test func theDescriptorIsReadableExactlyWhileSomethingWaits() {
        let mailbox = Mailbox()
        post(mailbox) {}
        // The descriptor is created after the job, and already shows it.
        #expect(mailbox.fileDescriptor >= 0 && mailbox.fileDescriptor == mailbox.fileDescriptor)
        #expect(isReadable(mailbox))
        mailbox.drain()
        #expect(!isReadable(mailbox))
        for _ in 0..<3 { post(mailbox) {} }
        #expect(isReadable(mailbox))
        mailbox.drain()
        #expect(!isReadable(mailbox))
        _ = mailbox.post([], [DeliveryBatch.Event(take: { nil }, runOrphaned: {})])
        #expect(isReadable(mailbox))
        mailbox.drain()
        #expect(isReadable(mailbox), "events wait for takeEvent")
        #expect(mailbox.takeEvent() == nil && !isReadable(mailbox))
        mailbox.stop()
        #expect(!isReadable(mailbox))
        #expect(mailbox.run(timeout: 0) == .stopped)
    }

    @Test func runOnceRunsWhatWaits() {
        let (mailbox, ran) = (Mailbox(), Log<Int>())
        #expect(mailbox.run(timeout: 0) == .timedOut)
        post(mailbox) { ran.append(1) }
        #expect(mailbox.run(timeout: 0) == .timedOut && mailbox.run(timeout: -5) == .timedOut && ran.count == 1)
    }

    /// The run ends neither too early nor, by a confusion of seconds and milliseconds, too late.
    @Test func runForATimeEndsThen() async {
        let elapsed = await onThread {
            let start = MonotonicTime.now()
            #expect(Mailbox().run(timeout: 0.1) == .timedOut)
            return MonotonicTime.now().seconds(since: start)
        }
        #expect(elapsed >= 0.1 && elapsed < 90)
    }

    @Test func runsUntilAnotherThreadStopsIt() async {
        let (mailbox, ran, results) = (Mailbox(), Log<Int>(), Log<Mailbox.RunResult>())
        _ = Thread.start(name: "runner") { results.append(mailbox.run()) }
        for number in 0..<100 { post(mailbox) { ran.append(number) } }
        #expect(await ran.first(100) == Array(0..<100))
        mailbox.stop()
        #expect(await results.first(1) == [.stopped])
    }

    @Test func aStopBeforeRunEndsTheNext() async {
        let (mailbox, ran) = (Mailbox(), Log<Int>())
        mailbox.stop()
        post(mailbox) { ran.append(1) }
        #expect(await onThread { mailbox.run() } == .stopped)
        #expect(await onThread { mailbox.run(timeout: 0) } == .timedOut)
        #expect(ran.count == 1)
    }

    @Test func stopEndsTheInnermostRun() async {
        let (mailbox, order) = (Mailbox(), Log<String>())
        post(mailbox) {
            _ = mailbox.post([Job { mailbox.stop() }])
            #expect(mailbox.run() == .stopped)
            order.append("inner ended")
            let last = Job {
                order.append("outer goes on")
                mailbox.stop()
            }
            _ = mailbox.post([last])
        }
        #expect(await onThread { mailbox.run() } == .stopped)
        #expect(order.all == ["inner ended", "outer goes on"])
    }

    @Test func aMailboxOfAThreadIsItsOwn() async {
        let mailbox = await onThread { () -> Mailbox in
            #expect(Mailbox.current === Mailbox.current && Mailbox.current !== Mailbox.main)
            return Mailbox.current
        }
        // This thread tries it. A new thread might have the identity of the one that has ended.
        let run = { mailbox.run(timeout: 0) }
        #expect(run() == .wrongThread && mailbox.drain() == 0)
        let others = await onThread { Mailbox.main.run(timeout: 0) }
        #expect(others == .wrongThread)
    }

    @Test func whatWaitsForAThreadThatEndedRunsOnAWorker() async {
        let ranOnWorker = Log<Bool>()
        // The thread ends after its body, and then passes on its mailbox.
        let mailbox = await onThread { () -> MailboxReference in
            let job = Job { ranOnWorker.append(WorkerPool.isWorkerThread) }
            _ = Mailbox.current.post([job, job, job])
            return Mailbox.current.reference
        }
        #expect(await ranOnWorker.first(3) == [true, true, true])
        // Later jobs are refused, because nobody drains it.
        #expect(mailbox.mailbox?.post([Job {}]) != true)
    }

    @Test func aDroppedMailboxHandsOverToo() async {
        let ranOnWorker = Log<Bool>()
        do {
            let mailbox = Mailbox()
            _ = mailbox.post([Job { ranOnWorker.append(WorkerPool.isWorkerThread) }])
        }
        #expect(await ranOnWorker.first(1) == [true])
    }

    @Test func manyPostersAndDrainers() async {
        let (mailbox, ran) = (Mailbox(), Log<Int>())
        _ = mailbox.fileDescriptor
        await withTaskGroup { group in
            for poster in 0..<4 {
                group.addTask {
                    for number in 0..<500 { _ = mailbox.post([Job { ran.append(poster * 500 + number) }]) }
                }
                group.addTask { for _ in 0..<500 { mailbox.drain() } }
            }
        }
        while mailbox.drain() > 0 {}
        #expect(ran.all.sorted() == Array(0..<2000) && !isReadable(mailbox))
    }

    @Test func aMailboxThatNobodyRunsIsReportedOnce() {
        let (clock, lines) = (HeldJobs(), Log<String>())
        let mailbox = Mailbox(
            owner: .anyone, watch: MailboxWatch(clock: clock, log: { lines.append($0) }, hasRequests: { true }))
        for _ in 0..<3 {
            post(mailbox) {}
            mailbox.drain()
            post(mailbox) {}
            // The first check finds a job that is newer than the check, and plans a second check.
            clock.runAll()
            clock.runAll()
        }
        #expect(lines.all.count == 1 && lines.all[0].contains("ntapi_mailbox_run"))
    }

    /// Not reported: a check that runs early because the process exits, and a mailbox without requests.
    @Test func whatNobodyWaitsForIsNot() {
        let (clock, lines) = (HeldJobs(), Log<String>())
        let early = Mailbox(
            owner: .anyone, watch: MailboxWatch(clock: clock, log: { lines.append($0) }, hasRequests: { true }))
        post(early) {}
        #expect(clock.runAll(after: 1) == 1)
        let idle = Mailbox(
            owner: .anyone, watch: MailboxWatch(clock: clock, log: { lines.append($0) }, hasRequests: { false }))
        post(idle) {}
        #expect(clock.runAll() == 1)
        #expect(lines.all.isEmpty)
    }

    @Test func aMailboxThatSomebodyRunsIsNot() {
        let (clock, lines) = (HeldJobs(), Log<String>())
        let mailbox = Mailbox(
            owner: .anyone, watch: MailboxWatch(clock: clock, log: { lines.append($0) }, hasRequests: { true }))
        var looks = 0
        for _ in 0..<5 {
            post(mailbox) {}
            mailbox.drain()
            post(mailbox) {}
            looks += clock.runAll()
            mailbox.drain()
        }
        #expect(looks == 5 && lines.all.isEmpty)
    }
}

/// A clock that the test advances.
private final class HeldJobs: WaitingClock {
    private let jobs = Lock<(due: [@Sendable () -> Void], now: MonotonicTime)>(([], .now()))
    let calendarSeconds = 0.0

    var now: MonotonicTime { jobs.withLock { $0.now } }

    func schedule(
        _ purpose: WaitPurpose, at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void
    ) -> ScheduledJob {
        jobs.withLock { $0.due.append(job) }
        return ScheduledJob {}
    }

    /// Advances the clock by some seconds, and runs all jobs.
    @discardableResult func runAll(after seconds: Double = 5) -> Int {
        let due = jobs.withLock { jobs in
            defer { jobs.due = [] }
            jobs.now = jobs.now.advanced(bySeconds: seconds)
            return jobs.due
        }
        for job in due { job() }
        return due.count
    }
}
