/// Takes the body of a download on the network thread, and writes it on a worker: a slow disk must not hold up other
/// transfers.
///
/// One piece is being written while the next one grows, up to the capacity of a `DataLane`. Then the network waits.
final class FileSink: BodySink {
    private let file: DownloadFile
    private let workers: WorkerPool
    private let jobs: SerialJobs
    private let release: Job.Body
    private let lane = Lock(DataLane())

    /// - Parameters:
    ///   - jobs: runs what touches the file, one after the other.
    ///   - release: lets the network go on, after `receive` has answered `full`.
    init(_ file: DownloadFile, _ workers: WorkerPool, _ jobs: SerialJobs, release: @escaping Job.Body) {
        self.file = file
        self.workers = workers
        self.jobs = jobs
        self.release = release
    }

    func receive(_ bytes: UnsafeRawBufferPointer, _ deliveries: DeliveryBatch) -> SinkAnswer {
        if let problem = file.problem { return .failed(problem) }
        let arrival = lane.withLock { $0.append(bytes) }
        switch arrival {
        case .taken, .takenFirst:
            file.announce(bytes.count)
            if arrival == .takenFirst { jobs.run(write) }
            return .taken
        case .full: return .full
        case .unwanted: return .failed(.cancelled)
        case .outOfMemory: return .failed(DownloadFile.error(file.destination, "cannot be written: out of memory"))
        }
    }

    @Sendable private func write() throws(Forked) {
        repeat {
            let taken = lane.withLock { $0.take(outlivesJob: false) }
            if taken.wasFull { try release() }
            if let bytes = taken.bytes { workers.whileBlocked { file.append(bytes.buffer) } }
        } while lane.withLock { $0.returned() }
    }
}
