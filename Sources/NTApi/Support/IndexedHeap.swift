/// A binary heap whose elements can be moved and removed by a token: timers, and the queue of a host.
///
/// The least key comes first; among equal keys the one that was inserted first. Every operation is O(log n), so that a
/// thousand requests that end early do not leave their timers behind.
struct IndexedHeap<Key: Comparable, Element> {
    /// Names an element as long as it is in the heap.
    struct Token: Hashable {
        fileprivate var slot: Int
        /// Tells this element from a later one in the same slot: an old token finds nothing.
        fileprivate var serial: UInt64
    }

    fileprivate struct Node {
        var key: Key
        var serial: UInt64
        var slot: Int
        var element: Element
    }

    fileprivate struct Slot {
        var serial: UInt64
        /// Where the element is in `nodes`; −1 when the slot is free.
        var position: Int
    }

    private var nodes: [Node] = []
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    /// Never begins anew: an old token must find nothing.
    private var lastSerial: UInt64 = 0

    init() {}

    private init(lastSerial: UInt64) { self.lastSerial = lastSerial }

    var count: Int { nodes.count }
    var isEmpty: Bool { nodes.isEmpty }
    var firstKey: Key? { nodes.first?.key }

    /// The least key of the elements that are meant. Looks at all of them.
    func firstKey(where isMeant: (Element) -> Bool) -> Key? { nodes.filter { isMeant($0.element) }.map(\.key).min() }

    var first: (key: Key, element: Element)? { nodes.first.map { ($0.key, $0.element) } }

    @discardableResult
    mutating func insert(_ element: Element, key: Key) -> Token {
        lastSerial &+= 1
        let slot = freeSlots.popLast() ?? slots.count
        let entry = Slot(serial: lastSerial, position: nodes.count)
        if slot == slots.count { slots.append(entry) } else { slots[slot] = entry }
        nodes.append(Node(key: key, serial: lastSerial, slot: slot, element: element))
        moveUp(nodes.count - 1)
        return Token(slot: slot, serial: lastSerial)
    }

    /// Gives an element another key; it keeps its place among equals. Does nothing with a token that is no longer valid.
    mutating func update(_ token: Token, key: Key) {
        guard let position = position(of: token) else { return }
        nodes[position].key = key
        restore(position)
    }

    @discardableResult
    mutating func remove(_ token: Token) -> Element? {
        position(of: token).map { removeNode(at: $0) }
    }

    mutating func popFirst() -> Element? { nodes.isEmpty ? nil : removeNode(at: 0) }

    private func position(of token: Token) -> Int? {
        guard slots.indices.contains(token.slot), slots[token.slot].serial == token.serial else { return nil }
        let position = slots[token.slot].position
        return position >= 0 ? position : nil
    }

    private mutating func removeNode(at position: Int) -> Element {
        let last = nodes.count - 1
        if position != last { exchange(position, last) }
        let node = nodes.removeLast()
        slots[node.slot].position = -1
        freeSlots.append(node.slot)
        if position < nodes.count { restore(position) }
        if nodes.isEmpty, slots.count > Self.keptSlots { self = IndexedHeap(lastSerial: lastSerial) }
        return node.element
    }

    /// With more of them, their memory goes when the last element does.
    private static var keptSlots: Int { 256 }

    private mutating func restore(_ position: Int) {
        moveUp(position)
        moveDown(position)
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        if nodes[left].key != nodes[right].key { return nodes[left].key < nodes[right].key }
        return nodes[left].serial < nodes[right].serial
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        nodes.swapAt(left, right)
        slots[nodes[left].slot].position = left
        slots[nodes[right].slot].position = right
    }

    private mutating func moveUp(_ start: Int) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard precedes(position, parent) else { return }
            exchange(position, parent)
            position = parent
        }
    }

    private mutating func moveDown(_ start: Int) {
        var position = start
        while true {
            var least = position
            let left = 2 * position + 1
            let right = left + 1
            if left < nodes.count, precedes(left, least) { least = left }
            if right < nodes.count, precedes(right, least) { least = right }
            guard least != position else { return }
            exchange(position, least)
            position = least
        }
    }
}

extension IndexedHeap: Sendable where Key: Sendable, Element: Sendable {}
extension IndexedHeap.Token: Sendable {}
extension IndexedHeap.Node: Sendable where Key: Sendable, Element: Sendable {}
