import Testing

@testable import NTApi

/// In every schedule of events, a request delivers its response once, and last.
@Suite struct DeliveryGateTests {
    /// A model of `APIRequest`: it calls the gate as the request does, one step at a time, in random order.
    private struct Simulation {
        var machine = DeliveryGate()
        var generator: SeededGenerator
        /// The events so far, for the message of a failed test.
        var history: [String] = []
        var violations: [String] = []

        private var isResumed = false
        private var isOver = false
        private var hasExchange = false
        private var exchanges = 0
        private var hasEnded = false
        private var succeeds = false
        private var waitWasBounded = false
        private var cancelWon = false
        private var deliveries = 0
        private var isDelivering = false
        private var lanes = [Lane(), Lane()]
        private var data = Data()
        private var isSuspended = false
        /// Whether the end of an exchange waits until its body is read.
        private let reads: Bool
        /// Whether a reader may keep pieces after its job has ended.
        private let lends: Bool
        private var awaitsReading = false

        private struct Data {
            var sent = 0
            var told = 0
            var posted = 0
            var isRunning = false
            var isFull = false
            /// Whether the running job has something to deliver.
            var isTelling = false
            var ends = 0
            var endsTold = 0
        }

        private static let bytes = [UInt8](repeating: 0, count: 100_000)

        private struct Lane {
            var total: Int64?
            var bytes: Int64 = 0
            var posted = 0
            var isRunning = false
            var told: [TransferProgress] = []
        }

        init(seed: UInt64) {
            generator = SeededGenerator(seed)
            reads = Bool.random(using: &generator)
            lends = Bool.random(using: &generator)
            for index in lanes.indices { lanes[index].total = Bool.random(using: &generator) ? 1000 : nil }
        }

        mutating func run() {
            var steps = 0
            while machine.phase != .done, steps < 10_000 {
                steps += 1
                step()
            }
            if machine.phase != .done { violate("it never ends") }
            // Late events must have no effect.
            for direction in DeliveryGate.Direction.allCases {
                if machine.progressed(direction, TransferProgress(bytes: 7, total: 9)) { violate("posts when done") }
                while lanes[direction.rawValue].posted > 0 { runJob(direction) }
            }
            while data.posted > 0 { runDataJob() }
            if machine.suspend() != .tooLate { violate("suspends when done") }
            if machine.progressWaitIsOver() != .nothing { violate("delivers when done") }
            if machine.cancel() != .tooLate { violate("cancels when done") }
            if machine.resume() != .tooLate { violate("resumes when done") }
            check()
        }

        private mutating func step() {
            let direction = Bool.random(using: &generator) ? DeliveryGate.Direction.upload : .download
            switch Int.random(in: 0..<27, using: &generator) {
            case 20: suspend()
            case 21..<24: dataArrives()
            case 24..<27: runDataJob()
            case 0..<3: resume()
            case 3: cancel()
            case 4..<11: report(direction)
            case 11..<16: runJob(direction)
            case 16: redirect()
            case 17: end()
            case 18: patienceEnds()
            default: handlerReturns()
            }
        }

        private mutating func resume() {
            let action = machine.resume()
            guard action != .tooLate else { return }
            note("resume: \(action)")
            if (action == .start) == isResumed { violate("resumed twice") }
            if action == .start {
                isResumed = true
                begin()
            } else {
                if !isSuspended || (action == .releaseExchange) != hasExchange { violate("releases what is not held") }
                isSuspended = false
            }
        }

        private mutating func suspend() {
            let action = machine.suspend()
            guard action != .tooLate else { return }
            note("suspend: \(action)")
            if isSuspended || (action == .holdExchange) != hasExchange { violate("holds what does not run") }
            isSuspended = true
        }

        private mutating func dataArrives() {
            guard hasExchange, !isSuspended, !data.isFull else { return }
            let count = Int.random(in: 1...100_000, using: &generator)
            let arrival = Self.bytes.withUnsafeBytes {
                machine.dataArrived(UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
            note("data \(count): \(arrival)")
            switch arrival {
            case .taken: data.sent += count
            case .takenFirst:
                data.sent += count
                data.posted += 1
                if data.posted > 1 { violate("two jobs for the data handler") }
            case .full: data.isFull = true
            case .unwanted: if !machine.isCancelled { violate("nobody wants the data") }
            case .outOfMemory: violate("out of memory")
            }
        }

        private mutating func runDataJob() {
            guard data.posted > 0 else { return }
            if !data.isRunning {
                data.isRunning = true
                let taken = machine.takeData(outlivesJob: lends)
                if taken.wasFull != data.isFull, taken.bytes != nil { violate("the network waits for nothing") }
                if taken.wasFull { data.isFull = false }
                if taken.isLast { data.endsTold += 1 }
                guard let bytes = taken.bytes else { return }
                data.isTelling = true
                note("tells data \(bytes.count)\(taken.isLast ? ", the last" : "")")
                if isDelivering || deliveries > 0 { violate("data after the response") }
                if machine.isCancelled { violate("data after a cancel") }
                if bytes.count > DataLane.capacity + 100_000 { violate("\(bytes.count) bytes wait") }
                data.told += bytes.count
            } else {
                data.isRunning = false
                data.isTelling = false
                data.posted -= 1
                switch machine.dataReturned() {
                case .nothing: break
                case .postData: data.posted += 1
                case .deliverResponse: deliver()
                case .bodyIsRead: concludeRead()
                }
            }
        }

        private mutating func begin() {
            if awaitsReading { violate("an exchange begins before the body of the last one was read") }
            defer { if reads, hasExchange, machine.bodyBegins() { post() } }
            exchanges += 1
            if machine.exchangeBegins() {
                hasExchange = true
            } else {
                finish(successfully: false)
            }
        }

        private mutating func cancel() {
            let action = machine.cancel()
            note("cancel: \(action)")
            switch action {
            case .end: finish(successfully: false)
            case .cancelExchange:
                if !hasExchange { violate("cancels an exchange that is not there") }
                cancelWon = true
            case .bodyIsRead:
                if hasExchange { violate("concludes an exchange that runs") }
                concludeRead()
            case .nothing: cancelWon = true
            case .tooLate: break
            }
        }

        private mutating func report(_ direction: DeliveryGate.Direction) {
            guard hasExchange else { return }
            var lane = lanes[direction.rawValue]
            lane.bytes = min(lane.bytes + Int64.random(in: 0...400, using: &generator), 1000)
            let progress = TransferProgress(bytes: lane.bytes, total: lane.total)
            lanes[direction.rawValue] = lane
            note("\(direction) \(lane.bytes)")
            if machine.progressed(direction, progress) { post(direction) }
        }

        private mutating func post(_ direction: DeliveryGate.Direction) {
            lanes[direction.rawValue].posted += 1
            if lanes[direction.rawValue].posted > 1 { violate("two jobs for one handler") }
        }

        private mutating func runJob(_ direction: DeliveryGate.Direction) {
            var lane = lanes[direction.rawValue]
            guard lane.posted > 0 else { return }
            if !lane.isRunning {
                lane.isRunning = true
                if let progress = machine.takeProgress(direction) {
                    note("tells \(direction) \(progress.bytes)")
                    if isDelivering || deliveries > 0 { violate("progress after the response") }
                    lane.told.append(progress)
                }
                lanes[direction.rawValue] = lane
            } else {
                lane.isRunning = false
                lane.posted -= 1
                lanes[direction.rawValue] = lane
                switch machine.progressReturned(direction) {
                case .nothing: break
                case .postProgress: post(direction)
                case .deliverResponse: deliver()
                }
            }
        }

        private mutating func redirect() {
            guard hasExchange, exchanges < 5 else { return }
            note("redirect")
            machine.exchangeEnded()
            hasExchange = false
            begin()
        }

        private mutating func end() {
            guard hasExchange else { return }
            machine.exchangeEnded()
            hasExchange = false
            guard reads else { return conclude() }
            let isWhole = Bool.random(using: &generator)
            let action = machine.bodyEnded(isWhole: isWhole)
            note("the body ends: \(action)")
            switch action {
            case .bodyIsRead: conclude()
            case .postData:
                data.ends += 1
                post()
                awaitsReading = true
            case .awaitData:
                if isWhole { data.ends += 1 }
                awaitsReading = true
            }
        }

        private mutating func post() {
            data.posted += 1
            if data.posted > 1 { violate("two jobs for the data handler") }
        }

        private mutating func concludeRead() {
            if !awaitsReading { violate("concludes what nobody waits for") }
            if !machine.isCancelled, data.told != data.sent || data.ends != data.endsTold {
                violate("concludes before all was read")
            }
            awaitsReading = false
            // Another connection may follow.
            if exchanges < 5, Bool.random(using: &generator) { begin() } else { conclude() }
        }

        private mutating func conclude() {
            let isCancelled = machine.isCancelled
            if !isCancelled, Bool.random(using: &generator) {
                for direction in DeliveryGate.Direction.allCases {
                    let total = lanes[direction.rawValue].total ?? max(1, lanes[direction.rawValue].bytes)
                    if machine.progressed(direction, TransferProgress(bytes: total, total: total)) { post(direction) }
                    lanes[direction.rawValue].total = total
                }
                finish(successfully: true)
            } else {
                finish(successfully: false)
            }
        }

        private mutating func finish(successfully: Bool) {
            if hasEnded { violate("ends twice") }
            note("end, \(successfully)")
            hasEnded = true
            succeeds = successfully
            if machine.ended(successfully: successfully) == .deliverResponse { deliver() }
        }

        private mutating func patienceEnds() {
            guard hasEnded else { return }
            note("patience ends")
            waitWasBounded = waitWasBounded || !isDelivering
            if machine.progressWaitIsOver() == .deliverResponse { deliver() }
        }

        private mutating func deliver() {
            note("deliver")
            deliveries += 1
            if deliveries > 1 { violate("delivers twice") }
            if lanes.contains(where: { $0.isRunning && $0.told.last != nil && machine.phase != .delivering }) {
                violate("delivers while progress runs")
            }
            if data.isTelling, !(lends && machine.isCancelled) { violate("delivers while data is told") }
            isDelivering = true
        }

        private mutating func handlerReturns() {
            guard isDelivering else { return }
            isDelivering = false
            machine.handlerReturned()
        }

        private mutating func check() {
            if deliveries != 1 { violate("\(deliveries) deliveries") }
            if awaitsReading { violate("ended before all was read") }
            if !machine.isCancelled, data.ends != data.endsTold { violate("the end was not told") }
            if !machine.isCancelled, data.told != data.sent { violate("\(data.told) of \(data.sent) bytes told") }
            for lane in lanes {
                for (one, next) in zip(lane.told, lane.told.dropFirst()) where next.bytes < one.bytes {
                    violate("progress goes back")
                }
                if let first = lane.told.first, let total = first.total, first.bytes != 0 {
                    violate("the first is \(first.bytes) of \(total)")
                }
                guard hasEnded, succeeds, !waitWasBounded, lane.total != nil else { continue }
                if lane.told.last?.bytes != lane.total { violate("the last is \(lane.told.last?.bytes ?? -1)") }
            }
        }

        private mutating func note(_ event: String) { history.append(event) }
        private mutating func violate(_ what: String) { violations.append(what) }
    }

    @Test func keepsItsPromiseUnderEverySchedule() {
        let seed = SeededGenerator.ofThisRun
        for number in 0..<4000 as Range<UInt64> {
            var simulation = Simulation(seed: seed &+ number)
            simulation.run()
            guard simulation.violations.isEmpty else {
                Issue.record("NTAPI_SEED=\(seed &+ number): \(simulation.violations) after \(simulation.history)")
                return
            }
        }
    }

    /// A reader may keep a piece of the body forever. A closed client must still end.
    @Test(arguments: [true, false]) func aPieceThatIsHeldDelaysTheEndButNotACancel(_ lends: Bool) {
        var machine = DeliveryGate()
        _ = machine.resume()
        _ = machine.exchangeBegins()
        _ = [1, 2, 3].withUnsafeBytes { machine.dataArrived($0) }
        let taken = machine.takeData(outlivesJob: lends)
        #expect(taken.bytes != nil)
        machine.exchangeEnded()
        #expect(machine.bodyEnded(isWhole: true) == .awaitData)
        let action = machine.cancel()
        #expect(action == (lends ? .bodyIsRead : .nothing))
        #expect([4].withUnsafeBytes { machine.dataArrived($0) } == .unwanted)
        let late = machine.dataReturned()
        #expect(late == (lends ? .nothing : .bodyIsRead))
        #expect(machine.ended(successfully: false) == .deliverResponse)
    }

    @Test func aRequestThatWasNeverResumedEndsByCancel() {
        var machine = DeliveryGate()
        let cancels = [machine.cancel(), machine.cancel()]
        #expect(cancels == [.end, .tooLate])
        let resumes = machine.resume()
        #expect(resumes == .tooLate)
        let end = machine.ended(successfully: false)
        #expect(end == .deliverResponse)
        machine.handlerReturned()
        #expect(machine.phase == .done && machine.isCancelled)
    }

    @Test func aCancelBetweenTwoExchangesKeepsTheNextFromBeginning() {
        var machine = DeliveryGate()
        _ = machine.resume()
        _ = machine.exchangeBegins()
        machine.exchangeEnded()
        let cancel = machine.cancel()
        #expect(cancel == .nothing)
        let begins = machine.exchangeBegins()
        #expect(!begins)
    }

    @Test func aCancelAfterTheOutcomeIsTooLate() {
        var machine = DeliveryGate()
        _ = machine.resume()
        let end = machine.ended(successfully: true)
        #expect(end == .deliverResponse)
        let cancel = machine.cancel()
        #expect(cancel == .tooLate && !machine.isCancelled)
    }

    /// A total that becomes known late must not make a progress bar jump back.
    @Test func zeroIsNotToldAfterMore() {
        var machine = DeliveryGate()
        _ = machine.resume()
        _ = machine.progressed(.download, TransferProgress(bytes: 10, total: nil))
        var told = [machine.takeProgress(.download)]
        _ = machine.progressed(.download, TransferProgress(bytes: 20, total: 20))
        _ = machine.progressReturned(.download)
        told.append(machine.takeProgress(.download))
        #expect(told == [TransferProgress(bytes: 10, total: nil), TransferProgress(bytes: 20, total: 20)])
    }

    @Test func aSlowHandlerHearsOfTheLatest() {
        var machine = DeliveryGate()
        _ = machine.resume()
        let posts = [10, 20, 20, 30].map { machine.progressed(.upload, TransferProgress(bytes: $0, total: 100)) }
        #expect(posts == [true, false, false, false])
        var told = [machine.takeProgress(.upload)]
        let returned = machine.progressReturned(.upload)
        told.append(machine.takeProgress(.upload))
        #expect(told == [TransferProgress(bytes: 0, total: 100), TransferProgress(bytes: 30, total: 100)])
        let end = machine.ended(successfully: true)
        let last = machine.progressReturned(.upload)
        #expect(returned == .postProgress && end == .awaitProgress && last == .deliverResponse)
    }
}
