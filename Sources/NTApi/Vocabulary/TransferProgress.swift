/// The progress of an upload or a download.
public struct TransferProgress: Sendable, Equatable {
    /// Body bytes so far.
    public var bytes: Int64
    /// Body bytes expected; nil while unknown.
    public var total: Int64?

    /// Makes a progress; the total is nil while it is unknown.
    public init(bytes: Int64, total: Int64?) {
        self.bytes = bytes
        self.total = total
    }

    /// Adds the bytes of an earlier transfer.
    mutating func add(_ before: Int64) {
        bytes += before
        total = total.map { $0 + before }
    }

    /// From 0 to 1; nil while the total is unknown.
    public var fraction: Double? { total.map { $0 > 0 ? min(1, Double(bytes) / Double($0)) : 1 } }
}
