/// Where a response is kept.
public enum CacheStorage: String, Sendable, CaseIterable {
    /// Nowhere.
    case none
    /// In memory, until the process ends.
    case memory
    /// On disk and in memory.
    case disk
}
