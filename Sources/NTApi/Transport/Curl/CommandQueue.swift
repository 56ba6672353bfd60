/// What other threads ask the network thread to do.
enum EngineCommand: Sendable {
    case begin(Exchange)
    case cancel(Exchange)
    case change(Exchange, ExchangeChange)
    /// A streamed body has its next piece.
    case resumeUpload(Exchange)
    /// The exchange ended while the program's code was being called. The call has returned now.
    case uploadIdle(Exchange)
    case timer(EngineTimer)
    case cancelTimer(EngineTimer)
}

/// The queue of commands for the network thread, with one wake-up for many.
///
/// A wake-up is a system call, so it is made only when the loop sleeps or is about to sleep. The loop announces that
/// under the lock that protects the commands, and the next command wakes it. If a command came just before, the loop
/// sees it and does not sleep.
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
        var sleeper: Waker?
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

    /// The thread could not be started. Returns the accepted commands.
    func fail() -> [EngineCommand] {
        state.withLock { state in
            state.phase = state.phase == .stopping ? .stopped : .idle
            return Self.takeAll(&state)
        }
    }

    // MARK: For the network thread

    var isEmpty: Bool { state.withLock { $0.commands.isEmpty } }

    func take(into commands: inout [EngineCommand]) -> Phase {
        state.withLock { state in
            state.sleeper = nil
            swap(&commands, &state.commands)
            return state.phase
        }
    }

    /// Announces that the loop is about to sleep.
    ///
    /// - Returns: false when there is something to do first.
    func prepareToSleep(_ waker: Waker, isStopping: Bool) -> Bool {
        state.withLock { state in
            guard state.commands.isEmpty, isStopping || state.phase == .running else { return false }
            state.sleeper = waker
            return true
        }
    }

    /// The thread has been idle for long, and ends unless a command has come. The next command starts another thread.
    func rest() -> Bool {
        state.withLock { state in
            guard state.phase == .running, state.commands.isEmpty else { return false }
            state.phase = .idle
            state.sleeper = nil
            return true
        }
    }

    /// The thread ends. Returns the commands that are left.
    func end() -> [EngineCommand] {
        state.withLock { state in
            state.phase = .stopped
            return Self.takeAll(&state)
        }
    }

    private static func takeAll(_ state: inout State) -> [EngineCommand] {
        defer { state.commands = [] }
        return state.commands
    }
}

/// A job to run at a given time. It can be cancelled.
final class EngineTimer: Sendable {
    let moment: MonotonicTime
    let job: @Sendable () -> Void
    // Safe to share: only the loop's own thread accesses these.
    nonisolated(unsafe) var token: IndexedHeap<MonotonicTime, LoopTimer>.Token?
    /// Whether the command to cancel the timer arrived before the one to set it.
    nonisolated(unsafe) var isCancelled = false

    init(at moment: MonotonicTime, _ job: @escaping @Sendable () -> Void) {
        self.moment = moment
        self.job = job
    }
}
