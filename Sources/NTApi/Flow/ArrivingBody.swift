/// Who wants the bodies of a request's answers. Fixed when the request is resumed.
struct BodyReaders: OptionSet, Sendable {
    let rawValue: UInt8

    /// A handler, or the events in its place, takes the pieces.
    static let handler = BodyReaders(rawValue: 1)
    /// The response holds the body, too, that the handler takes.
    static let response = BodyReaders(rawValue: 2)
    /// A hook of the client sees the pieces.
    static let hook = BodyReaders(rawValue: 4)
    /// An empty first piece announces the head.
    static let head = BodyReaders(rawValue: 8)
    /// The handler also takes the bodies of errors.
    static let errors = BodyReaders(rawValue: 16)

    /// Whether the body goes to the handler instead of the response.
    var takesBody: Bool { contains(.handler) && !contains(.response) }
}

/// The body of the answer that is arriving: who gets it, and what of it is still to be read.
///
/// A pure value, like the `RequestFlow` that owns it. The file of a download is in its stage.
struct ArrivingBody: Sendable {
    /// Who receives the body.
    enum Owner {
        case nobody
        case file(Download)
        /// The handler; lines and events go through the stream.
        case handler(RequestStream?)
        /// The response; the client's hook sees a copy.
        case observer
    }

    var readers: BodyReaders = []
    /// Statuses that another exchange may follow: handlers must not see the bodies of these answers.
    private(set) var quietStatuses: Set<Int> = []
    /// The head of the answer whose body goes to a handler or a file.
    private(set) var head: ResponseHead?
    /// Whether the body of this exchange goes to a handler or a file.
    private(set) var hasDestination = false
    /// Whether the program has already decided where the body of a stored response goes.
    private(set) var isDecided = false
    /// Bytes of a download that existed before the current exchange.
    private var bytesBefore: Int64 = 0
    /// The body so far, if the client's hook sees it as it arrives.
    private(set) var observed: Bytes?
    /// The result of an exchange whose body is still being read.
    @Boxed private var ended: ExchangeResult?
    /// The head of an answer whose body has no destination yet, and whether the program must still be asked about it.
    @Boxed private(set) var undecided: (head: ResponseHead, asks: Bool)?

    mutating func exchangeBegins(_ reason: Reason, quiet statuses: Set<Int>) {
        quietStatuses = statuses
        hasDestination = false
        if reason == .retry { head = nil }
    }

    /// A head has arrived.
    ///
    /// - Parameters:
    ///   - isFollowed: whether it is a redirect that is followed: nobody sees its body.
    ///   - file: the download that the body may belong to.
    ///   - asks: whether the program decides about heads.
    /// - Returns: false when the body goes into memory.
    mutating func arrived(_ head: ResponseHead, isFollowed: Bool, _ file: Download?, asks: Bool) -> Bool {
        // The body of an error belongs in the response.
        let isWanted = head.status < 300 || (readers.contains(.errors) && !isFollowed)
        guard !quietStatuses.contains(head.status), isWanted || file?.concerns(head.status) == true else {
            return false
        }
        // The first progress comes before the file is open.
        bytesBefore = file?.bytesContinued(by: head) ?? 0
        self.head = head
        hasDestination = true
        undecided = (head, asks && !isDecided)
        return true
    }

    /// An interceptor has passed the head on, perhaps changed.
    mutating func passes(_ head: ResponseHead) { undecided = undecided.map { (head, $0.asks) } }

    /// - Returns: the head to ask the program about, once; nil when nobody is to be asked.
    mutating func question() -> ResponseHead? {
        guard let (head, asks) = undecided, asks else { return nil }
        undecided = (head, false)
        return head
    }

    /// The destination is known, or the exchange has ended.
    ///
    /// - Returns: the head.
    mutating func isRouted() -> ResponseHead? { undecided.take()?.head }

    /// The program wants the body in a file.
    mutating func becomesFile() { isDecided = true }

    /// Nobody receives this answer's body.
    mutating func isDropped() {
        undecided = nil
        hasDestination = false
        head = nil
    }

    mutating func owner(_ file: Download?, _ stream: RequestStream?) -> Owner {
        if let file { return .file(file) }
        if readers.takesBody { return .handler(stream) }
        guard !readers.isDisjoint(with: [.handler, .hook]) else { return .nobody }
        observed = Bytes()
        return .observer
    }

    /// The file of the download is open and has this many bytes.
    mutating func opened(at offset: Int64) { bytesBefore = offset }

    /// Progress counts the bytes that were there before.
    func counted(_ bytes: Int64) -> Int64 { bytes + bytesBefore }

    /// - Returns: false when there is no memory for the hook's copy.
    func observes(_ bytes: UnsafeRawBufferPointer) -> Bool { observed?.append(bytes) ?? true }

    /// The body that the hook saw. It belongs to the response.
    mutating func takeObserved() -> Bytes? { observed.take() }

    /// The body of this ended exchange is still being read.
    mutating func waits(with result: ExchangeResult) { ended = result }

    /// The body has been read.
    mutating func isRead() -> ExchangeResult? { ended.take() }
}
