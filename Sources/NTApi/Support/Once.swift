/// Something that is told once: the first who tells it is heard, whoever comes later is not.
struct Once<Value: Sendable>: Sendable {
    private struct Listener {
        let body: @Sendable (Value) -> Void
    }

    private let listener: Lock<Listener?>

    init(_ body: @escaping @Sendable (Value) -> Void) { listener = Lock(Listener(body: body)) }

    /// - Returns: false when it was told before.
    @discardableResult func tell(_ value: Value) -> Bool {
        guard let listener = listener.withLock({ $0.take() }) else { return false }
        listener.body(value)
        return true
    }

    var isTold: Bool { listener.withLock { $0 == nil } }
}
