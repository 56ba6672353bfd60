/// Where the body of a response goes: decided when its head is there, by who made the exchange.
enum BodyRoute: Sendable {
    /// Into the result.
    case memory
    case sink(any BodySink)
    /// Somebody is asked first: no byte moves until `ExchangeChange.route` says it.
    case undecided
    /// Nowhere: the exchange ends with this error.
    case refused(APIError)
}

/// Takes a body piece by piece, on the transport's own thread: must not wait for anybody.
protocol BodySink: AnyObject, Sendable {
    /// - Parameter deliveries: what follows from it on other threads goes in here.
    func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer
}

/// What became of a piece of a body.
enum SinkAnswer {
    case taken
    /// There is no room: the piece comes again once `.release(.sink)` was told, and nothing before.
    case full
    case failed(APIError)
}

/// Reasons why an exchange stands still.
struct Holds: OptionSet, Sendable {
    let rawValue: UInt8

    /// The caller suspended the request: nothing is sent either, and no clock runs.
    static let suspended = Holds(rawValue: 1)
    /// The body's sink is full.
    static let sink = Holds(rawValue: 2)
    /// It is not yet decided where the body goes.
    static let decision = Holds(rawValue: 4)
}

/// What is asked of an exchange that runs.
enum ExchangeChange: Sendable {
    case release(Holds)
    /// Whether the caller wants it to stand still. Two threads that suspend and resume may come here in another order than they
    /// decided: the highest number is the last word.
    case suspend(Bool, number: UInt32)
    /// Says where the body goes, and lets it.
    case route(BodyRoute)
    /// Its turn has come, and what had to be done before it starts is done.
    case start
}
