final class CurlEngine: Transport {
    init(workers: WorkerPool) {}
    func begin(_ e: Exchange) {}
    func cancel(_ id: Exchange.ID) {}
    func stop(timeout: Double) {}
    func schedule(at: MonotonicTime, _ job: @escaping @Sendable () -> Void) {}
}
enum CurlGlobal { static let ready: Void = () }
