/// How far an upload or a download has come.
public struct TransferProgress: Sendable, Equatable {
    /// Body bytes so far.
    public var bytes: Int64
    /// Body bytes expected; nil while unknown.
    public var total: Int64?

    public init(bytes: Int64, total: Int64?) {
        self.bytes = bytes
        self.total = total
    }

    /// From 0 to 1; nil while the total is unknown.
    public var fraction: Double? { total.map { $0 > 0 ? min(1, Double(bytes) / Double($0)) : 1 } }
}
