/// A large value that is rarely set. It has its own allocation, so that its owner stays small.
@propertyWrapper struct Boxed<Value: Sendable>: Sendable {
    private var box: Box<Value>?

    init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    var wrappedValue: Value? {
        get { box?.value }
        set { box = newValue.map { Box($0) } }
    }
}

/// A value behind one reference: for large values that are passed on and not changed.
final class Box<Value: Sendable>: Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
