/// What is done as the last thing when the process exits.
enum ExitJobs {
    private static let jobs = Lock<[@Sendable () -> Void]>([], survivesFork: true)

    static func add(_ job: @escaping @Sendable () -> Void) { jobs.withLock { $0.append(job) } }

    static func run() { for job in jobs.withLock({ $0 }) { job() } }
}
