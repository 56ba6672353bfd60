import Synchronization

/// Responses that the caches of several processes share, in a store.
///
/// Each URL has a record with the heads of its variants, as on disk, and each variant has a body: values of the store. A
/// body is there before a record names it. What is missing or damaged is loaded again. Anybody may have written to the
/// store, so everything is checked.
///
/// One process loads a response, and the others wait for it: see ``SharedTurn``.
final class SharedCache: Sendable {
    /// A URL in the store: the digest of its key.
    typealias Digest = String

    private struct State {
        /// When it may be asked again, if it has failed.
        var retryAt: MonotonicTime?
        /// How many calls it has not answered in time, and not later either.
        var unanswered = 0
        /// What the store still has to remove, with the number of its last change.
        var unremoved: [Digest: Int] = [:]
        var changes = 0
        /// When there was more than that, in seconds since 1970. What was requested before it is not used.
        var forgottenAt = -Double.infinity
        /// Whether the rest is being removed now.
        var isRemovingRest = false
        /// Whether it had a value that this process cannot decrypt. Said once.
        var hasForeignValues = false
        /// How many responses are being stored, and how many questions have no reply. A child counts its own.
        let underWay = Monitor(0)
    }

    /// The largest response that is shared, in bytes.
    static let largest = 1_000_000
    /// The largest record in bytes: a store may refuse larger values.
    private static let largestRecord = 500_000
    /// Seconds for which nobody waits for a response that was of no use to others, or that could not be loaded.
    static let (usualPass, briefPass) = (10.0, 1.0)
    /// Seconds by which a clock may differ from the store's.
    private static let clockDifference = 2.0
    /// Seconds between two questions to a store that fails.
    private static let retryPause = 1.0
    /// A store that blocks keeps a thread for each call.
    private static let mostUnanswered = 8
    private static let mostUnremoved = 1000

    let access: StoreAccess
    /// For how many seconds a response is of use after a time, in seconds since 1970.
    private let usefulSeconds: @Sendable (CachedResponse, Double) -> Double
    private let state = InheritedLock(State(), sharing: .clients) {
        Fork.leak($0.underWay)
        $0 = State(unremoved: $0.unremoved, forgottenAt: $0.forgottenAt)
    }

    /// Whether the values are encrypted: a reader of the store learns nothing of them.
    var keepsSecrets: Bool { access.keepsSecrets }

    init(_ access: StoreAccess, usefulSeconds: @escaping @Sendable (CachedResponse, Double) -> Double) {
        self.access = access
        self.usefulSeconds = usefulSeconds
    }

    // MARK: Changing

    /// Stores a response for all, unless the resource has changed since it was requested. Does not wait.
    ///
    /// - Parameters:
    ///   - lastRemoval: the last removal that was known when it was requested; nil goes by the time of the request.
    ///   - done: gets whether it is there.
    func put(
        _ response: CachedResponse, _ digest: Digest, lastRemoval: Int64?, _ clock: any WaitingClock,
        _ done: @escaping @Sendable (_ isStored: Bool) -> Void
    ) {
        // The store's clock may be behind this one.
        let requestTime = max(0, min(response.requestTime - Self.clockDifference, 9e12))
        let underWay = state.withLock { $0.underWay }
        underWay.begin()
        store(response, digest, lastRemoval ?? Int64(requestTime * 1e6), clock) { isStored in
            done(isStored)
            underWay.end()
        }
    }

    private func store(
        _ response: CachedResponse, _ digest: Digest, _ lastRemoval: Int64, _ clock: any WaitingClock,
        _ done: @escaping @Sendable (Bool) -> Void
    ) {
        record(digest, clock) { [self] variants in
            guard let variants else { return done(false) }
            var response = response
            var file = CachedResponse.BodyFile(of: response.body, CacheFileName.newBody(of: digest))
            // Only with those of the same user: another one could make a body with the same checksum.
            let ofUser = variants.filter { $0.credential == response.credential }
            if let same = ofUser.compactMap(\.file).first(where: file.hasSameContent) { file.name = same.name }
            response.file = file
            let now = clock.calendarSeconds
            var kept = variants.filter { usefulSeconds($0, now) > 0 }
            kept.put(response)
            var record = CacheRecord(digest: digest, variants: kept).json.utf8()
            while record.count > Self.largestRecord, kept.count > 1 {
                kept.removeLast()
                record = CacheRecord(digest: digest, variants: kept).json.utf8()
            }
            guard record.count <= Self.largestRecord else { return done(false) }
            let heads = record
            let newKey = part("new:\(CacheFileName.number(CacheFileName.newBody(of: digest)))", digest)
            let names = kept.compactMap(\.file?.name)
            let known = variants.compactMap(\.file)
            let gone = known.filter { !names.contains($0.name) }
            let new = known.contains { $0.name == file.name } ? [] : [file]
            let seconds = (body: usefulSeconds(response, now), record: kept.map { usefulSeconds($0, now) }.max() ?? 0)
            guard seconds.body > 0 else { return done(false) }
            let body = StoredBody.value(of: response.body)
            let (bodyKey, recordKey, requestTime) = (bodyKey(file, digest), recordKey(digest), response.requestTime)
            ask(.set(bodyKey, body, context: bodyKey, seconds: seconds.body), clock) { [self] reply in
                guard reply != nil else { return done(false) }
                let briefly = min(60, seconds.record)
                // It becomes the record without being encrypted again.
                ask(.set(newKey, heads, context: recordKey, seconds: briefly), clock) { [self] reply in
                    guard reply != nil, mayStore(digest, requestTime) else { return done(false) }
                    let milliseconds = max(1, Int64(seconds.record * 1000))
                    let store = SharedRecord.Ask.store(lastRemoval: lastRemoval, time: milliseconds)
                    ask(.record(recordKeys(digest) + [newKey], store), clock) { [self] reply in
                        let isStored = reply?.texts.first == SharedRecord.Reply.done.rawValue
                        for file in isStored ? gone : new {
                            ask(.remove(self.bodyKey(file, digest)), clock) { _ in }
                        }
                        done(isStored)
                    }
                }
            }
        }
    }

    /// Removes the responses of a URL for all. Does not wait.
    func remove(_ digest: Digest, _ clock: any WaitingClock) {
        let change = state.withLock { state in
            // Another process may have stored one since the last removal was asked for, so each counts.
            state.changes += 1
            if state.unremoved[digest] == nil, state.unremoved.count >= Self.mostUnremoved {
                state.forgottenAt = clock.calendarSeconds + Self.clockDifference
            } else {
                state.unremoved[digest] = state.changes
            }
            return state.changes
        }
        removeNow(digest, change, clock)
    }

    /// Waits until the store knows what it was told: as long as the store may take, ten seconds at most.
    func wait() {
        let patience = min(10, 4 * access.options.timeout)
        let underWay = state.withLock { $0.underWay }
        _ = underWay.wait(until: MonotonicTime.now().advanced(bySeconds: patience)) { $0 == 0 ? true : nil }
    }

    /// Whether the store may have what was changed.
    func isUnremoved(_ digest: Digest) -> Bool { state.withLock { $0.unremoved[digest] != nil } }

    private func mayStore(_ digest: Digest, _ requestTime: Double) -> Bool {
        state.withLock { $0.unremoved[digest] == nil && requestTime > $0.forgottenAt }
    }

    /// Until it is removed, this process does not use it.
    ///
    /// - Parameter done: gets whether it is removed.
    private func removeNow(
        _ digest: Digest, _ change: Int, _ clock: any WaitingClock,
        _ done: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        ask(.record(recordKeys(digest), .remove), clock) { [self] reply in
            if reply != nil {
                state.withLock { if $0.unremoved[digest] == change { $0.unremoved[digest] = nil } }
            }
            done(reply != nil)
        }
    }

    /// Removes what could not be removed, one after the other.
    private func removeRest(_ clock: any WaitingClock) {
        let next = state.withLock { state -> (Digest, Int)? in
            guard !state.isRemovingRest, let next = state.unremoved.first else { return nil }
            state.isRemovingRest = true
            return next
        }
        guard let (digest, change) = next else { return }
        removeNow(digest, change, clock) { [self] isRemoved in
            state.withLock { $0.isRemovingRest = false }
            if isRemoved { removeRest(clock) }
        }
    }

    // MARK: At exit

    private struct Known: Sendable { weak var cache: SharedCache? }

    private static let known = Lock<[Known]>([], survivesFork: true)

    /// When the process exits: others wait for what it has loaded. The network thread, which has the timers, still runs.
    static func waitForAll() { for each in known.withLock({ $0 }) { each.cache?.wait() } }

    /// Lets the process wait for it when it exits.
    func beKnown() {
        Self.known.withLock { known in
            known.removeAll { $0.cache == nil }
            known.append(Known(cache: self))
        }
    }

    // MARK: Values of the store

    private func part(_ part: String, _ digest: Digest) -> String {
        // A hash tag for each URL, so that a cluster can keep each of them on another node.
        "ntapi:1:{\(access.key):\(digest)}:\(part)\(access.suffix)"
    }

    private func recordKey(_ digest: Digest) -> String { part("responses", digest) }

    private func removalKey(_ digest: Digest) -> String { part("removed", digest) }

    private func recordKeys(_ digest: Digest) -> [String] { [recordKey(digest), removalKey(digest)] }

    private func bodyKey(_ file: CachedResponse.BodyFile, _ digest: Digest) -> String {
        part("body:\(CacheFileName.number(file.name))", digest)
    }

    /// - Parameter done: gets nil when the store fails.
    func record(
        _ digest: Digest, _ clock: any WaitingClock, _ done: @escaping @Sendable ([CachedResponse]?) -> Void
    ) {
        if let change = state.withLock({ $0.unremoved[digest] }) {
            removeNow(digest, change, clock)
            return done(nil)
        }
        let key = recordKey(digest)
        ask(.get(key, context: key), clock) { [self] reply in
            var variants = reply.map { $0.value.flatMap { CacheRecord(parsing: $0, digest: digest)?.variants } ?? [] }
            let forgottenAt = state.withLock { $0.forgottenAt }
            variants?.removeAll { $0.requestTime <= forgottenAt }
            done(variants)
        }
    }

    func body(
        _ file: CachedResponse.BodyFile, _ digest: Digest, _ clock: any WaitingClock,
        _ done: @escaping @Sendable (Bytes?) -> Void
    ) {
        let key = bodyKey(file, digest)
        ask(.get(key, context: key), clock) { reply in
            done(reply?.value.flatMap { StoredBody.read($0, length: file.length) }.flatMap { file.isOf($0) ? $0 : nil })
        }
    }

    /// Asks for the turn to load a response.
    ///
    /// - Parameter done: gets the turn, which is over if it was not granted; `pass` and nil when the store fails. Called
    ///   again for a late reply.
    func take(
        _ digest: Digest, _ clock: any WaitingClock,
        _ done: @escaping @Sendable (SharedTurn.Reply, CacheTurn?, _ isLate: Bool) -> Void
    ) {
        let number = Int64.random(in: 1...Int64.max)
        let keys = [part("turn", digest), removalKey(digest)]
        let read = { @Sendable [self] (reply: StoreReply?, isLate: Bool) in
            guard let reply, let answer = reply.texts.first.flatMap(SharedTurn.Reply.init) else {
                return done(.pass, nil, isLate)
            }
            let lastRemoval = reply.texts.dropFirst().first.flatMap { Int64($0) } ?? 0
            let turn = CacheTurn(lastRemoval: lastRemoval) { [self] end in
                ask(.turn(keys, end.arguments(number)), clock) { _ in }
            }
            if answer != .done { turn.isOver() }
            done(answer, turn, isLate)
        }
        let late = { @Sendable (reply: StoreReply) in read(reply, true) }
        let lease = Int64(access.options.lease * 1000)
        ask(.turn(keys, SharedTurn.Ask.take(lease).arguments(number)), clock, late: late) { read($0, false) }
    }

    // MARK: A store that fails

    private enum Question: Sendable {
        /// - context: what the value is encrypted with.
        case get(String, context: String)
        case set(String, [UInt8], context: String, seconds: Double)
        case remove(String)
        case turn([String], [String])
        case record([String], SharedRecord.Ask)
    }

    /// - Parameters:
    ///   - late: gets a reply for which nobody has waited.
    ///   - done: gets nil when the store fails.
    private func ask(
        _ question: Question, _ clock: any WaitingClock, late: (@Sendable (StoreReply) -> Void)? = nil,
        _ done: @escaping @Sendable (StoreReply?) -> Void
    ) {
        let (permission, underWay) = permission(for: question, clock.now)
        if permission != .granted { done(nil) }
        guard permission != .refused else { return }
        underWay.begin()
        access.ask(clock) { [self] store, _, call in
            switch question {
            case .get(let key, let context): store.get(key, decrypting(call, context))
            case .set(let key, let value, let context, let seconds):
                do throws(StoreProblem) {
                    store.set(key, try access.encrypted(value, context: context), seconds: seconds, call)
                } catch {
                    call.fail(error.text)
                }
            case .remove(let key): store.remove(key, call)
            case .turn(let keys, let arguments): store.run(.turn, keys: keys, arguments: arguments, call)
            case .record(let keys, let ask): store.run(.record, keys: keys, arguments: ask.arguments, call)
            }
        } _: { [self] result, moment in
            note(result, moment, clock)
            let reply = try? result.get()
            if permission == .granted, moment != .late { done(reply) } else if let reply { late?(reply) }
            if moment != .late { underWay.end() }
        }
    }

    /// A value that cannot be decrypted is as none: it is loaded again.
    private func decrypting(_ call: StoreCall, _ context: String) -> StoreCall {
        access.decrypting(call) { [self] (reply) throws(StoreProblem) in
            guard let value = reply.value else { return reply }
            do throws(StoreProblem) {
                return StoreReply(value: try access.decrypted(value, context: context))
            } catch {
                if !state.withLock({ exchange(&$0.hasForeignValues, with: true) }) { warn(error.text) }
                return StoreReply()
            }
        }
    }

    private enum Permission {
        case granted, refused
        /// To find out whether the store answers. Nobody waits for that.
        case trial
    }

    private func permission(for question: Question, _ now: MonotonicTime) -> (Permission, Monitor<Int>) {
        state.withLock { state in
            guard let retryAt = state.retryAt else { return (.granted, state.underWay) }
            guard state.unanswered < Self.mostUnanswered else { return (.refused, state.underWay) }
            // A turn is given back in any case, or others wait for it.
            if case .turn(_, let arguments) = question, arguments.first != "take" { return (.granted, state.underWay) }
            guard retryAt <= now else { return (.refused, state.underWay) }
            state.retryAt = now.advanced(bySeconds: Self.retryPause)
            return (.trial, state.underWay)
        }
    }

    private func note(
        _ result: Result<StoreReply, StoreProblem>, _ moment: StoreAccess.Moment, _ clock: any WaitingClock
    ) {
        let (line, answersAgain) = state.withLock { state -> (String?, Bool) in
            switch moment {
            case .inTime: break
            case .timeout: state.unanswered += 1
            case .late: state.unanswered -= 1
            }
            switch result {
            case .success:
                guard moment == .inTime, state.retryAt.take() != nil else { return (nil, false) }
                return ("the store answers again", true)
            case .failure where moment == .late: return (nil, false)
            case .failure(let problem):
                let retryAt = clock.now.advanced(bySeconds: Self.retryPause)
                guard exchange(&state.retryAt, with: retryAt) == nil else { return (nil, false) }
                return ("the store has failed, so each process uses its own cache: \(problem.text)", false)
            }
        }
        if answersAgain { removeRest(clock) }
        if let line { warn(line) }
    }

    private func warn(_ line: String) {
        let key = access.key
        DeliveryRuntime.current.workers.run { () throws(Forked) in APILog.warn("the cache \(quoted(key)): \(line)") }
    }
}

extension Monitor<Int> {
    fileprivate func begin() { withLock(inChild: ()) { $0 += 1 } }

    fileprivate func end() {
        guard isOfThisProcess else { return }
        withLock(inChild: ()) { $0 -= 1 }
        broadcast()
    }
}

/// The turn of a request to load a response for all processes. It ends with the object, if not before.
final class CacheTurn: Sendable {
    private let isEnded = Atomic<Bool>(false)
    private let end: @Sendable (SharedTurn.Ask) -> Void
    private let generation = Fork.generation
    /// The URL's last removal when the turn began.
    let lastRemoval: Int64

    init(lastRemoval: Int64, _ end: @escaping @Sendable (SharedTurn.Ask) -> Void) {
        self.lastRemoval = lastRemoval
        self.end = end
    }

    // A child does not have its parent's turn.
    deinit { if generation == Fork.generation { leave() } }

    /// The next process may have it.
    func leave() { if isOver() { end(.leave) } }

    /// The response is of no use to the others, who load it themselves.
    func pass(_ seconds: Double) { if isOver() { end(.pass(Int64(seconds * 1000))) } }

    var isHeld: Bool { !isEnded.load(ordering: .relaxed) }

    /// - Returns: whether it has ended only now.
    @discardableResult func isOver() -> Bool { !isEnded.exchange(true, ordering: .relaxed) }
}
