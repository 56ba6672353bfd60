import Testing

@testable import NTApi

/// The memory that libcurl receives into.
@Suite struct ReceiveBuffersTests {
    @Test func givesOutWhatCameBackLast() {
        var slots = BufferSlots(capacity: 3)
        #expect((slots.take(), slots.take()) == (0, 1))
        #expect((slots.giveBack(0), slots.giveBack(1)) == (false, false))
        #expect((slots.take(), slots.take(), slots.take()) == (1, 0, 2))
        #expect(slots.take() == nil)
        #expect(slots.giveBack(2) == false)
        #expect(slots.take() == 2)
    }

    /// The system gets back what a crowd has used, each place once, and no place that is taken.
    @Test(arguments: [UInt64.random(in: 0 ... .max), 1]) func emptiesWhatACrowdLeftBehind(seed: UInt64) {
        var random = SeededGenerator(seed)
        var slots = BufferSlots(capacity: 8 * BufferSlots.crowd)
        var taken: [Int] = []
        var full: Set<Int> = []
        for _ in 0..<4 {
            while taken.count < 8 * BufferSlots.crowd, let slot = slots.take() {
                #expect(!taken.suffix(8).contains(slot), "seed \(seed)")
                taken.append(slot)
                full.insert(slot)
            }
            #expect(Set(taken).count == taken.count, "seed \(seed)")
            taken.shuffle(using: &random)
            while let slot = taken.popLast() {
                for emptied in slots.giveBack(slot) ? slots.empty() : [] {
                    #expect(full.remove(Int(emptied)) != nil && !taken.contains(Int(emptied)), "seed \(seed)")
                }
            }
            #expect(full.count < BufferSlots.crowd + BufferSlots.kept, "seed \(seed)")
        }
    }

    @Test func aFewKeepTheirMemory() {
        var slots = BufferSlots(capacity: BufferSlots.crowd)
        for _ in 0..<1000 {
            let taken = (1..<BufferSlots.crowd).compactMap { _ in slots.take() }
            for slot in taken { #expect(slots.giveBack(slot) == false) }
        }
    }

    /// libcurl has one for each transfer, until it ends.
    @Test func libcurlReceivesIntoThem() async throws {
        let count = 20
        let (mayAnswer, areThere) = (Signal(), Signal())
        let waiting = Lock(0)
        let server = try RawServer { connection in
            guard let request = connection.readRequest() else { return }
            let isLast = waiting.withLock { waiting in
                waiting += 1
                return waiting == count
            }
            if isLast { areThere.set() }
            mayAnswer.block()
            connection.send(okResponse(request.firstLine))
        }
        let engine = TestEngine()
        var request = HTTPRequest(method: "GET", url: server.url + "/")
        request.settings.maximumConnectionsPerHost = count
        let recorders = (0..<count).map { _ in Recorder() }
        for recorder in recorders { engine.begin(request, recorder) }
        await areThere.wait()
        #expect(ReceiveBuffers.takenCount >= count || !ReceiveBuffers.areReserved)
        mayAnswer.set()
        for recorder in recorders { #expect(await recorder.result().error == nil) }
    }
}
