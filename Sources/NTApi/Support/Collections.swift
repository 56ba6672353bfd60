/// A binary heap whose elements can be moved and removed by a token: for timers, and for the queue of a host.
///
/// The smallest key comes first; among equal keys, the one inserted first. Every operation is O(log n), so removing the
/// timers of a thousand requests that end early is cheap.
struct IndexedHeap<Key: Comparable, Element> {
    /// Identifies an element as long as it is in the heap.
    struct Token: Hashable {
        fileprivate var slot: Int
        /// Distinguishes this element from a later one in the same slot, so that an old token finds nothing.
        fileprivate var serial: UInt64
    }

    /// Usually plain numbers: nodes move often, and moving a counted reference would cost more.
    fileprivate struct Node {
        var key: Key
        var serial: UInt64
        var slot: Int
    }

    fileprivate struct Slot {
        var serial: UInt64
        /// The index in `nodes`.
        var position: Int
        /// Nil when the slot is free.
        var element: Element?
    }

    private var nodes: [Node] = []
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    /// Never restarts, so that an old token finds nothing.
    private var lastSerial: UInt64 = 0

    init() {}

    private init(lastSerial: UInt64) { self.lastSerial = lastSerial }

    var count: Int { nodes.count }
    var isEmpty: Bool { nodes.isEmpty }
    var firstKey: Key? { nodes.first?.key }

    /// The smallest key of the elements that match. Looks at all elements.
    func firstKey(where isMeant: (Element) -> Bool) -> Key? {
        nodes.filter { slots[$0.slot].element.map(isMeant) == true }.map(\.key).min()
    }

    var first: (key: Key, element: Element)? {
        nodes.first.flatMap { node in slots[node.slot].element.map { (node.key, $0) } }
    }

    @discardableResult
    mutating func insert(_ element: Element, key: Key) -> Token {
        lastSerial &+= 1
        let entry = Slot(serial: lastSerial, position: nodes.count, element: element)
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(entry) } else { slots[slot] = entry }
        nodes.append(Node(key: key, serial: lastSerial, slot: slot))
        moveUp(nodes.count - 1)
        return Token(slot: slot, serial: lastSerial)
    }

    /// Gives an element another key. It keeps its position among equal keys. Does nothing if the token is no longer
    /// valid.
    mutating func update(_ token: Token, key: Key) {
        guard let position = position(of: token) else { return }
        nodes[position].key = key
        restore(position)
    }

    @discardableResult
    mutating func remove(_ token: Token) -> Element? {
        position(of: token).flatMap { removeNode(at: $0) }
    }

    mutating func popFirst() -> Element? { nodes.isEmpty ? nil : removeNode(at: 0) }

    private func position(of token: Token) -> Int? {
        guard slots.indices.contains(token.slot), slots[token.slot].serial == token.serial,
            slots[token.slot].element != nil
        else { return nil }
        return slots[token.slot].position
    }

    private mutating func removeNode(at position: Int) -> Element? {
        let slot = nodes[position].slot
        let last = nodes.removeLast()
        if position < nodes.count {
            place(last, at: position)
            restore(position)
        }
        freeSlots.append(slot)
        let element = slots[slot].element.take()
        if nodes.isEmpty, slots.count > Self.keptSlots { self = IndexedHeap(lastSerial: lastSerial) }
        return element
    }

    /// When the heap becomes empty, memory for more slots than this is freed.
    private static var keptSlots: Int { 256 }

    private mutating func restore(_ position: Int) {
        moveUp(position)
        moveDown(position)
    }

    private static func precedes(_ left: Node, _ right: Node) -> Bool {
        left.key == right.key ? left.serial < right.serial : left.key < right.key
    }

    private mutating func place(_ node: Node, at position: Int) {
        nodes[position] = node
        slots[node.slot].position = position
    }

    private mutating func moveUp(_ start: Int) {
        let node = nodes[start]
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard Self.precedes(node, nodes[parent]) else { break }
            place(nodes[parent], at: position)
            position = parent
        }
        if position != start { place(node, at: position) }
    }

    private mutating func moveDown(_ start: Int) {
        let node = nodes[start]
        var position = start
        while true {
            var child = 2 * position + 1
            guard child < nodes.count else { break }
            if child + 1 < nodes.count, Self.precedes(nodes[child + 1], nodes[child]) { child += 1 }
            guard Self.precedes(nodes[child], node) else { break }
            place(nodes[child], at: position)
            position = child
        }
        if position != start { place(node, at: position) }
    }
}

extension IndexedHeap: Sendable where Key: Sendable, Element: Sendable {}
extension IndexedHeap.Token: Sendable {}
extension IndexedHeap.Node: Sendable where Key: Sendable {}
extension IndexedHeap.Slot: Sendable where Element: Sendable {}

/// First in, first out, without moving elements at each removal.
struct Queue<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }
    var count: Int { elements.count - head }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head]
        elements[head] = nil
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: elements.count <= 1024)
            head = 0
        } else if head >= 1024, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Takes out the first element that matches. Looks at all elements before it.
    mutating func popFirst(where isMeant: (Element) -> Bool) -> Element? {
        guard let index = elements[head...].firstIndex(where: { $0.map(isMeant) == true }) else { return nil }
        return index == head ? popFirst() : elements.remove(at: index)
    }

    func contains(where isMeant: (Element) -> Bool) -> Bool { elements[head...].contains { $0.map(isMeant) == true } }

    mutating func removeAll() -> [Element] {
        defer {
            elements = []
            head = 0
        }
        return elements[head...].compactMap { $0 }
    }
}
