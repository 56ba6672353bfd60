import Testing

@testable import NTApi

@Suite struct QueueTests {
    @Test func isFirstInFirstOutAtAnySize() {
        var generator = SeededGenerator(SeededGenerator.ofThisRun)
        var (queue, model): (Queue<Int>, [Int]) = (Queue(), [])
        for number in 0..<9000 {
            // Grows to thousands and shrinks again, past the sizes at which the storage is compacted.
            let grows = (number / 3000).isMultiple(of: 2) ? 0.8 : 0.2
            if Double.random(in: 0..<1, using: &generator) < grows {
                queue.append(number)
                model.append(number)
            } else {
                let taken = queue.popFirst()
                #expect(taken == (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect(queue.count == model.count && queue.isEmpty == model.isEmpty)
        }
        let left = queue.removeAll()
        #expect(left == model && queue.isEmpty)
        let none = queue.popFirst()
        #expect(none == nil)
    }

    @Test func keepsNothingAliveThatWasTaken() {
        final class Element {}
        var queue = Queue<Element>()
        weak var weakElement: Element?
        do {
            let element = Element()
            weakElement = element
            queue.append(element)
            queue.append(Element())
        }
        _ = queue.popFirst()
        #expect(weakElement == nil && queue.count == 1)
    }
}
