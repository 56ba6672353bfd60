import Testing

@testable import NTApi

@Suite struct IndexedHeapTests {
    /// Compares the heap with a sorted array, in a random order of operations.
    @Test(arguments: [UInt64.random(in: 0 ... .max), 1, 2]) func agreesWithASortedArray(seed: UInt64) {
        var random = SeededGenerator(seed)
        var heap = IndexedHeap<Int, Int>()
        var model: [(key: Int, serial: Int, token: IndexedHeap<Int, Int>.Token)] = []
        var old: [IndexedHeap<Int, Int>.Token] = []
        for serial in 0..<5000 {
            let key = Int.random(in: 0..<50, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1: model.append((key, serial, heap.insert(serial, key: key)))
            case 2:
                guard let index = model.indices.randomElement(using: &random) else { continue }
                heap.update(model[index].token, key: key)
                model[index].key = key
            case 3:
                guard let index = model.indices.randomElement(using: &random) else { continue }
                let gone = model.remove(at: index)
                old.append(gone.token)
                #expect(heap.remove(gone.token) == gone.serial, "seed \(seed)")
            default:
                let least = model.min { ($0.key, $0.serial) < ($1.key, $1.serial) }
                #expect(heap.first?.key == least?.key, "seed \(seed)")
                #expect(heap.popFirst() == least?.serial, "seed \(seed)")
                model.removeAll { $0.serial == least?.serial }
            }
            // An old token finds nothing, even if its slot is used again.
            if let token = old.randomElement(using: &random) {
                heap.update(token, key: -1)
                #expect(heap.remove(token) == nil, "seed \(seed)")
            }
            #expect(heap.count == model.count, "seed \(seed)")
        }
    }

    /// When the last element is removed, the memory is freed. An old token must then not find a later element.
    @Test func tokensOutliveACrowd() {
        var heap = IndexedHeap<Int, Int>()
        let old = (0..<1000).map { heap.insert($0, key: $0) }
        for number in 0..<1000 { #expect(heap.popFirst() == number) }
        let new = (0..<1000).map { heap.insert($0, key: -$0) }
        for token in old { #expect(heap.remove(token) == nil) }
        for (number, token) in new.enumerated() { #expect(heap.remove(token) == number) }
        #expect(heap.isEmpty)
    }
}
