/// A large value that is rarely set. It has its own allocation, so that its owner stays small.
@propertyWrapper struct Boxed<Value: Sendable>: Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box?

    init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    var wrappedValue: Value? {
        get { box?.value }
        set { box = newValue.map { Box($0) } }
    }
}
