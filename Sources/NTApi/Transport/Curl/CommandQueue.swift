/// What other threads ask the network thread to do.
enum EngineCommand: Sendable {
    case begin(Exchange)
    case cancel(Exchange)
    case change(Exchange, ExchangeChange)
    /// A streamed body, or a file, has its next piece.
    case resumeUpload(Exchange)
    /// The exchange ended while the program's code was being called. The call has returned now.
    case uploadIdle(Exchange)
}

/// Jobs to run on workers at given times.
typealias EngineTimers = IndexedHeap<MonotonicTime, Job>

/// The queue of commands for the network thread, with one wake-up for many, and the timers that it runs.
///
/// A wake-up is a system call, so it is made only when the loop sleeps or is about to sleep. The loop announces that
/// under the lock that protects the commands, and the next command wakes it. If a command came just before, the loop
/// sees it and does not sleep. A timer wakes the loop only if the loop would sleep for longer.
final class CommandQueue: Sendable {
    enum Phase {
        /// No thread runs.
        case idle
        case running
        /// `stop` was called: new exchanges end at once.
        case stopping
        case stopped
    }

    private struct State {
        var phase = Phase.idle
        var commands: [EngineCommand] = []
        var timers = EngineTimers()
        var sleeper: Waker?
        /// When the sleeper wakes by itself.
        var wakesAt = MonotonicTime.distantFuture
    }

    enum Acceptance {
        case accepted
        /// The command was accepted, and the caller must start the thread.
        case startThread
        case refused
    }

    private let state: Lock<State>

    /// - Parameter phase: `running` for a loop that a caller runs on its own thread.
    init(_ phase: Phase = .idle) { state = Lock(State(phase: phase)) }

    func add(_ command: EngineCommand) -> Acceptance {
        let (acceptance, sleeper) = state.withLock { state -> (Acceptance, Waker?) in
            switch state.phase {
            case .idle:
                state.commands.append(command)
                state.phase = .running
                return (.startThread, nil)
            case .running:
                state.commands.append(command)
                return (.accepted, state.sleeper.take())
            case .stopping, .stopped:
                return (.refused, nil)
            }
        }
        sleeper?.wake()
        return acceptance
    }

    /// Sets a timer.
    ///
    /// - Returns: what cancels it; nil when it was refused.
    func schedule(at moment: MonotonicTime, _ job: Job) -> (acceptance: Acceptance, timer: EngineTimers.Token?) {
        let (acceptance, timer, sleeper) = state.withLock { state -> (Acceptance, EngineTimers.Token?, Waker?) in
            switch state.phase {
            case .idle:
                state.phase = .running
                return (.startThread, state.timers.insert(job, key: moment), nil)
            case .running:
                let sleeper = moment < state.wakesAt ? state.sleeper.take() : nil
                return (.accepted, state.timers.insert(job, key: moment), sleeper)
            case .stopping, .stopped:
                return (.refused, nil, nil)
            }
        }
        sleeper?.wake()
        return (acceptance, timer)
    }

    /// Cancels a timer, unless its time has come.
    func cancel(_ timer: EngineTimers.Token) {
        // Releasing the job may run code of the program, so it must outlive the lock.
        let job = state.withLock { $0.timers.remove(timer) }
        withExtendedLifetime(job) {}
    }

    /// Adds a command also while the thread stops, because its last exchanges may wait for it. A thread that has not
    /// started yet finds it after the command that starts it.
    func report(_ command: EngineCommand) {
        let sleeper = state.withLock { state -> Waker? in
            guard state.phase != .stopped else { return nil }
            state.commands.append(command)
            return state.sleeper.take()
        }
        sleeper?.wake()
    }

    /// - Returns: whether a thread is running, which will stop.
    func requestStop() -> Bool {
        let (runs, sleeper) = state.withLock { state -> (Bool, Waker?) in
            switch state.phase {
            case .idle: state.phase = .stopped
            case .running: state.phase = .stopping
            case .stopping, .stopped: break
            }
            return (state.phase == .stopping, state.sleeper.take())
        }
        sleeper?.wake()
        return runs
    }

    /// The thread could not be started. Returns what was accepted.
    func fail() -> Rest {
        state.withLock { state in
            state.phase = state.phase == .stopping ? .stopped : .idle
            return Self.takeAll(&state)
        }
    }

    /// What will not be carried out.
    struct Rest {
        var commands: [EngineCommand]
        var timers: [Job] = []
    }

    // MARK: For the network thread

    var isEmpty: Bool { state.withLock { $0.commands.isEmpty } }

    /// Takes the commands, and adds the timers that are due to `jobs`: when the thread stops, all of them.
    func take(into commands: inout [EngineCommand], due: MonotonicTime, _ jobs: DeliveryBatch) -> Phase {
        state.withLock { state in
            state.sleeper = nil
            swap(&commands, &state.commands)
            while let moment = state.timers.firstKey, moment <= due || state.phase != .running,
                let job = state.timers.popFirst()
            {
                jobs.add(job)
            }
            return state.phase
        }
    }

    /// Announces that the loop is about to sleep.
    ///
    /// - Returns: until when; nil when there is something to do first.
    func prepareToSleep(_ waker: Waker, until limit: MonotonicTime, isStopping: Bool) -> MonotonicTime? {
        state.withLock { state in
            guard state.commands.isEmpty, isStopping || state.phase == .running else { return nil }
            state.sleeper = waker
            state.wakesAt = min(limit, state.timers.firstKey ?? limit)
            return state.wakesAt
        }
    }

    /// The thread has been idle for long, and ends unless a command has come. The next command starts another thread.
    func rest() -> Bool {
        state.withLock { state in
            guard state.phase == .running, state.commands.isEmpty, state.timers.firstKey == nil else { return false }
            state.phase = .idle
            state.sleeper = nil
            return true
        }
    }

    /// The thread ends. Returns what is left.
    func end() -> Rest {
        state.withLock { state in
            state.phase = .stopped
            return Self.takeAll(&state)
        }
    }

    private static func takeAll(_ state: inout State) -> Rest {
        var rest = Rest(commands: exchange(&state.commands, with: []))
        while let job = state.timers.popFirst() { rest.timers.append(job) }
        return rest
    }
}
